"""Scores: how much each remaining variable looks like a source. One file each; higher is better."""
