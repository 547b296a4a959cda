"""Methods: scores, deflations and weights, one loop over them, and one module per method; `registry` knows them all."""
