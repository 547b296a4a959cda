"""Federations that live on: contributions of sites, the ledger that remembers them, erasure."""
