"""Bundled example data: three hospitals that share a causal model and no rows.

``python -m fedrcd.data.examples`` writes the files anew, byte for byte.
"""

from __future__ import annotations

from fedrcd.data.examples.three_hospitals import (
    Truth,
    example_paths,
    example_truth,
    hospital_model,
    hospitals,
    write_examples,
)

__all__ = ["Truth", "example_paths", "example_truth", "hospital_model", "hospitals", "write_examples"]
