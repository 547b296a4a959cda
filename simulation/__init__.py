"""A federation in one process, drawn from one seed: coordinator, sites, stores, ledger, clocks, disks, network."""
