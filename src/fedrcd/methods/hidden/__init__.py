"""Hidden common causes: which pairs of variables have one, and what stands of the graph nevertheless."""
