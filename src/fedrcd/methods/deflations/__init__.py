"""Deflations: where the evidence about the remaining variables comes from. One file each."""
