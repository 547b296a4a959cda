"""Federations that live on: what sites let out, faults, the ledger of what they sent, erasure.

Flower is in `flower` alone.
"""
