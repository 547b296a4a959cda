"""Noise: an auditor who knows the table, and rows that try to exceed the bound."""

from __future__ import annotations

from collections.abc import Iterator

from tests.statistics.test_noise import changes
from tests.statistics.test_noise_audit import audit
from tests.verification.claims import Claim, claims, counted

TRIES, ROWS = 100, 5000


@claims(seed=0)
def right_noise_passes(seed: int) -> Iterator[Claim]:
    """Fresh noise every time."""
    rejected = sum(bool(audit()) for _ in counted(range(TRIES), "audits"))
    yield Claim(
        "an auditor who knows the table finds nothing wrong with noise of the right size",
        TRIES,
        f"{rejected} rejected",
        rejected == 0,
    )


@claims(seed=18)
def rows_keep_to_the_bound(seed: int) -> Iterator[Claim]:
    """Rows near and far, under whitenings of any stretch."""
    largest = max(one for k in counted(range(ROWS), "rows") for one in changes([seed, k]))
    yield Claim(
        "no row changes a released degree by more than noise is calibrated for",
        ROWS,
        f"{largest:.4f} of the bound at most",
        largest <= 1,
    )
