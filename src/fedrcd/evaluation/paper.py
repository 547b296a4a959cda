"""Figures the paper prints, to stand beside ours [P, Table 2 and Section 4.4]."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """Mean AncAcc at p = 20, K = 10, n = 2000 per site; None where the paper prints nothing.

    `spread` is what stands after the ± of the first four.
    """

    symmetric: float
    skewed: float
    symmetric_standardised: float
    skewed_standardised: float
    all_families: float | None = None
    spread: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    def at(self, regime: str, *, standardised: bool) -> tuple[float, float]:
        """The mean of a regime, `symmetric` or `skewed`, and what stands after its ±."""
        place = 2 * standardised + (regime == "skewed")
        return self[:4][place], self.spread[place]


PAPER = {
    "direct-lingam": Printed(0.996, 0.998, 0.996, 0.998, spread=(0.002, 0.001, 0.002, 0.001)),
    "fedhc": Printed(0.937, 0.933, 0.410, 0.573, spread=(0.003, 0.004, 0.014, 0.016)),
    "fedishc": Printed(0.769, 0.839, 0.470, 0.436, 0.802, spread=(0.009, 0.008, 0.013, 0.016)),
    "fedishc-tau4": Printed(0.940, 0.942, 0.387, 0.521, 0.959, spread=(0.003, 0.004, 0.013, 0.020)),
    "fedrcd-def": Printed(0.924, 0.917, 0.308, 0.358, spread=(0.005, 0.007, 0.010, 0.017)),
    "hc-lingam": Printed(0.940, 0.942, 0.303, 0.441, spread=(0.003, 0.004, 0.013, 0.022)),
    "fedrcd-ni": Printed(0.940, 0.942, 0.303, 0.441, 0.960, spread=(0.003, 0.004, 0.013, 0.022)),
    "hc": Printed(0.978, 0.976, 0.368, 0.470, spread=(0.003, 0.004, 0.014, 0.019)),
    "fedrcd-x": Printed(0.978, 0.976, 0.368, 0.470, spread=(0.003, 0.004, 0.014, 0.019)),
}

VARSORTABILITY = 0.953
"""Of raw data [P, Section 4.5]."""


class Complexity(NamedTuple):
    """Exponents of p in what the paper prints of a method's costs, and its rounds [P, Table 1]."""

    site: int
    payload: int
    coordinator: int
    rounds: str


COMPLEXITY = {
    "fedhc": Complexity(2, 2, 2, "1"),
    "fedishc": Complexity(2, 2, 3, "1"),
    "fedrcd-ni": Complexity(2, 2, 2, "1"),
    "fedrcd-def": Complexity(2, 2, 3, "1"),
    "fedrcd-x": Complexity(3, 2, 2, "p - 1"),
}
