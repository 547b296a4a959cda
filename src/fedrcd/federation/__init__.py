"""Federations that live on: sites that keep their rows, what they let out, the ledger of what they sent, erasure, faults.

Flower is in `flower` alone.
"""
