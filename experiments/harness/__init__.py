"""Cells, the runner and the store of results: what every experiment runs on."""
