"""Simulation studies: cells of settings, what measures them, a runner and a store; `studies` holds the experiments."""
