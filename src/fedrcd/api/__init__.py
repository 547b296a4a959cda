"""What Python users hold: `discover`, `FedLiNGAM` and the `Discovery` they give."""
