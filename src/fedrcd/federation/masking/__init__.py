"""Masked sums: sites agree on masks that cancel, so that only the total over all sites can be read."""
