"""Every table and figure of the paper, and what else is measured: `python -m experiments --help`."""
