"""What the paper says in words, held against the results: the first table of the results page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import pandas as pd

from experiments.pages.summary import Difference, in_regime, markdown, paired, select, spread
from experiments.studies import ablation, coefficient, invariance, noise, stratification
from experiments.tasks.recovery import FAMILY
from fedrcd.evaluation.paper import PAPER, VARSORTABILITY

HOLDS, TIE, FAILS = "holds", "a tie", "does not hold"
COLLAPSED = 0.75
"""AncAcc of standardised data up to which a method counts as collapsed."""


TOLERANCE = 0.2
"""Within which a fitted exponent is taken for the one predicted."""


class JudgedClaim(NamedTuple):
    """A claim of the paper (or of ours, beside it), what was measured, and whether it holds."""

    claim: str
    measured: str
    verdict: str


class Claims(NamedTuple):
    """Claims that the results of one experiment decide."""

    experiment: str
    find: Callable[[pd.DataFrame], Iterator[JudgedClaim]]


def _ahead(difference: Difference) -> str:
    """Verdict on a difference that is said to be positive."""
    return TIE if difference.is_tie else HOLDS if difference.mean > 0 else FAILS


def _equal(difference: Difference) -> str:
    """Verdict on a difference that is said to be nothing."""
    return HOLDS if difference.is_tie else FAILS


def hierarchy(frame: pd.DataFrame) -> Iterator[JudgedClaim]:
    """The order of the methods by regime [P, Section 4.3]."""
    for regime in ("symmetric", "skewed"):
        own = in_regime(frame, regime)
        for better, worse in pairwise(noise.HIERARCHY):
            difference = paired(own, {"method": better}, {"method": worse})
            yield JudgedClaim(f"{better} ahead of {worse}, {regime} noise", difference.words(), _ahead(difference))
    difference = paired(in_regime(frame, "mixed"), {"method": "fedrcd-ni"}, {"method": "fedrcd-x"})
    yield JudgedClaim("fedrcd-ni ahead of fedrcd-x, mixed noise", difference.words(), _ahead(difference))


def same_as_single_pass(frame: pd.DataFrame) -> Iterator[JudgedClaim]:
    """FedISHC with the fourth-order score is NI; Def's error compounds [P, Section 4.4]."""
    recovered = select(frame, task="recover")
    difference = paired(recovered, {"method": "fedishc-tau4"}, {"method": "fedrcd-ni"})
    yield JudgedClaim("fedishc-tau4 equals fedrcd-ni", difference.words(), _equal(difference))
    for method in ("fedishc", "fedishc-tau4", "fedrcd-ni"):
        ours, printed = spread(select(recovered, method=method)["accuracy"]), PAPER[method].all_families or 0.0
        close = abs(ours.mean - printed) <= 2 * ours.se
        yield JudgedClaim(f"{method} has {printed:.3f} over all noises", ours.short(), HOLDS if close else FAILS)
    first, last, single = ablation.drifts(frame)
    words = f"{first:.2f} at the first step, {last:.2f} at the last ({single:.2f} if only that step were algebraic)"
    yield JudgedClaim("the error of fedrcd-def compounds", words, HOLDS if ablation.compounds(frame) else FAILS)


def flat(frame: pd.DataFrame) -> Iterator[JudgedClaim]:
    """Accuracy does not depend on K [P, Section 4.4]."""
    changes = invariance.changes(frame)
    moved = [method for method, change in changes.items() if change]
    words = f"largest change on any data set {max(changes.values()):.3f}"
    yield JudgedClaim(
        "flat in K, one table cut into K", words, f"{HOLDS} but for {', '.join(moved)}" if moved else HOLDS
    )
    ends = {method: invariance.end_to_end(frame, method) for method in invariance.METHODS}
    ties = [method for method, difference in ends.items() if difference.is_tie]
    words = f"K = 50 and K = 1 tie for {len(ties)} of {len(ends)} methods"
    yield JudgedClaim("flat in K, 2000 rows per site", words, HOLDS if len(ties) == len(ends) else FAILS)


def collapse(frame: pd.DataFrame) -> Iterator[JudgedClaim]:
    """Standardising takes the family down and leaves scale-free methods alone [P, Section 4.5]."""
    stated = stratification.as_stated(frame)
    v = spread(select(stated, scaling=0.0, method="fedrcd-x")["varsortability"])
    close = abs(v.mean - VARSORTABILITY) <= 2 * v.se
    yield JudgedClaim(f"varsortability of raw data is {VARSORTABILITY}", v.short(), HOLDS if close else FAILS)
    for method in FAMILY:
        ours = spread(select(stated, method=method, scaling=1.0)["accuracy"])
        verdict = HOLDS if ours.mean <= COLLAPSED else FAILS
        yield JudgedClaim(f"{method} collapses on standardised data (at most {COLLAPSED})", ours.short(), verdict)
    for method in ("direct-lingam", "fed-direct", "fedrcd-s"):
        difference = paired(stated, {"method": method, "scaling": 1.0}, {"method": method, "scaling": 0.0})
        yield JudgedClaim(f"{method} does not: standardised - raw", difference.words(), _equal(difference))
    raw = select(frame, task="ladder", scaling=0.0)
    for order in (3, 4):
        slope = spread(raw[f"k{order}_slope"])
        verdict = HOLDS if abs(slope.mean - order) <= 2 * slope.se else FAILS
        yield JudgedClaim(f"κ_{order} grows as sd^{order}", f"exponent {slope.short(2)}", verdict)


def propositions(frame: pd.DataFrame) -> Iterator[JudgedClaim]:
    """FedISHC's figure under plain arithmetic, and the variances of the coefficients [P, Propositions 1 and 2]."""
    plain, printed = spread(select(frame, task="unguarded", scaling=0.0)["accuracy"]), PAPER["fedishc"].all_families
    close = abs(plain.mean - (printed or 0.0)) <= 2 * plain.se
    yield JudgedClaim(
        f"fedishc has {printed:.3f} over all noises, if arrays may overflow", plain.short(), HOLDS if close else FAILS
    )
    for name, exponent in (("published", -2), ("least squares", 0)):
        slope = coefficient.slope(select(frame, task="ratios", coefficient=name), "skewness")
        verdict = HOLDS if abs(slope - exponent) <= TOLERANCE else FAILS
        words = (
            f"variance of the {name} coefficient grows as κ_3^{exponent}"
            if exponent
            else (f"variance of the {name} coefficient does not depend on κ_3")
        )
        yield JudgedClaim(words, f"exponent {slope:+.2f}", verdict)


CLAIMS = (
    Claims("noise", hierarchy),
    Claims("ablation", same_as_single_pass),
    Claims("invariance", flat),
    Claims("stratification", collapse),
    Claims("coefficient", propositions),
)


def claims_table(frames: dict[str, pd.DataFrame]) -> Iterator[str]:
    """A line per claim whose experiment has results."""
    rows = [
        [*judged, claims.experiment]
        for claims in CLAIMS
        if claims.experiment in frames
        for judged in claims.find(frames[claims.experiment])
    ]
    yield from markdown(["the paper says", "measured", "verdict", "experiment"], rows)
