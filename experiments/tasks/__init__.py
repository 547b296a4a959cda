"""What one cell of an experiment does: data sets, methods, baselines, measurements."""
