"""Methods scored on simulated tables: `fedrcd evaluate`."""
