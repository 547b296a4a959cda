"""Pages in a browser for the people of a federation: one for a site, one for the coordinator."""
