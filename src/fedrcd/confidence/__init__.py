"""How far a result can be trusted: replicates, standard errors, checks of assumptions."""
