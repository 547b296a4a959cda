"""The score of evidence that already is a charge per candidate (DirectLiNGAM)."""

from __future__ import annotations

from fedrcd.typing import Vector


def least_charge(charges: Vector) -> Vector:
    """Minus the charge: the candidate that speaks least against being a source wins."""
    return -charges
