"""Figures the paper prints, to stand beside ours [P, Table 2 and Section 4.4]."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """Mean AncAcc at p = 20, K = 10, n = 2000 per site; None where the paper prints nothing."""

    symmetric: float
    skewed: float
    symmetric_standardised: float
    skewed_standardised: float
    all_families: float | None = None


PAPER = {
    "direct-lingam": Printed(0.996, 0.998, 0.996, 0.998),
    "fedhc": Printed(0.937, 0.933, 0.410, 0.573),
    "fedishc": Printed(0.769, 0.839, 0.470, 0.436, 0.802),
    "fedishc-tau4": Printed(0.940, 0.942, 0.387, 0.521, 0.959),
    "fedrcd-def": Printed(0.924, 0.917, 0.308, 0.358),
    "hc-lingam": Printed(0.940, 0.942, 0.303, 0.441),
    "fedrcd-ni": Printed(0.940, 0.942, 0.303, 0.441, 0.960),
    "hc": Printed(0.978, 0.976, 0.368, 0.470),
    "fedrcd-x": Printed(0.978, 0.976, 0.368, 0.470),
}
