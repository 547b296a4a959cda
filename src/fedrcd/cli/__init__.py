"""The command line: parse, call the API, show the result. One module per command."""
