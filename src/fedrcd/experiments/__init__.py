"""Simulation studies: grids of data settings and methods, and what they measure."""
