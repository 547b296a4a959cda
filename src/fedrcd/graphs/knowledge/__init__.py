"""What is known of a graph before the data are seen: statements, and the orders and edges they allow."""
