"""A site: its store, its rules, and the one door by which sums leave it."""
