"""Editions of a site's rows: which rows it answers about, and that no answers together tell few of them."""
