"""Example federations: three hospitals, proteins under nine conditions, columns at three places.

``python -m fedrcd.data.examples`` writes the bundled files of the hospitals anew, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fedrcd.data.examples.sachs import sachs_tables, sachs_truths, write_sachs
from fedrcd.data.examples.three_hospitals import (
    Truth,
    example_paths,
    example_truth,
    hospital_federation,
    hospital_model,
    hospitals,
    write_examples,
)
from fedrcd.data.examples.vertical import vertical_federation, write_vertical
from fedrcd.data.examples.visits import visits_federation, visits_model, write_visits

__all__ = [
    "EXAMPLES",
    "Example",
    "Truth",
    "example_paths",
    "example_truth",
    "hospital_federation",
    "hospital_model",
    "hospitals",
    "sachs_tables",
    "sachs_truths",
    "vertical_federation",
    "visits_federation",
    "visits_model",
    "write_examples",
    "write_sachs",
    "write_vertical",
    "write_visits",
]


class Example(NamedTuple):
    """An example federation: one line about it, what writes it, and what to give `fedrcd discover` for it."""

    summary: str
    write: Callable[[Path], tuple[Path, ...]]
    options: str = ""


EXAMPLES = {
    "hospitals": Example("three hospitals that share a causal model and no rows", write_examples),
    "hospitals-local-units": Example(
        "the same, but the third hospital measures in units of its own",
        lambda folder: write_examples(folder, local_units=True),
        "--within standardise",
    ),
    "sachs": Example("proteins in human cells under nine conditions, a site each", write_sachs, "--within standardise"),
    "vertical": Example(
        "a clinic, a laboratory and an insurer with different columns of the same patients", write_vertical
    ),
    "visits": Example("patients of two clinics, each seen at six visits", write_visits),
}
