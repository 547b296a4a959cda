"""What people see of a result: pages, pictures, progress. No statistics are computed here."""
