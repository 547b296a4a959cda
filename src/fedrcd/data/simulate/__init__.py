"""Simulated tables: models, noise, published topologies, and how tables are dealt out to sites."""
