"""Refinements: better orders near the one that the sources give. One file each."""
