"""Tests of fedrcd; `python -m tests.verification` runs the large counts behind them."""
