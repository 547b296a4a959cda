"""The console of a site: what waits, what left, what is spent, who is erased."""
