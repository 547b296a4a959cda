"""What is written from results: documents, tables and figures."""
