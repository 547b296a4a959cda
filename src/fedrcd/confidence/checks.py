"""Whether the assumptions behind an order hold as far as sums can tell, each with what it means and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedrcd.graphs.metrics import order_agreement
from fedrcd.methods.auto import scale_free_default
from fedrcd.methods.card import Card
from fedrcd.methods.skeleton import Estimate
from fedrcd.statistics import residual_tests
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.statistics.residual_sums import ResidualSums
from fedrcd.statistics.residual_tests import NonGaussianity, Tests, at_least_one
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

Verdict = Literal["fine", "doubtful", "cannot tell"]

LIKE_BEFORE = 0.95
"""Agreement of the orders of raw and of standardised data from which scale is said to play no part."""


@dataclass(frozen=True, slots=True)
class Check:
    """One assumption: what was found, what it means, what to do."""

    name: str
    verdict: Verdict
    finding: str
    meaning: str
    advice: str
    p_value: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """All tests of one model, numbers first."""

    residuals: NonGaussianity
    independence: Tests
    linearity: Tests
    means_alike: Vector
    variances_alike: Vector
    checks: tuple[Check, ...]


def assess(
    sums: ResidualSums, names: Sequence[str], order: IntVector, edges: BoolMatrix, scale: Check, level: float
) -> Findings:
    """All tests and their verdicts at a level, from the sums of one round."""
    residuals = residual_tests.non_gaussianity(sums)
    independent = residual_tests.independence(sums, order)
    linear = residual_tests.linearity(sums, order, edges)
    means, variances = residual_tests.sites_alike(sums.site.site_moments())
    checks = (
        gaussian_check(residuals, names, level),
        independence_check(independent, names, level),
        linearity_check(linear, edges, names, level),
        sites_check(means, variances, int(sums.site.sums[0].max()), names, level),
        scale,
    )
    return Findings(residuals, independent, linear, means, variances, checks)


def gaussian_check(residuals: NonGaussianity, names: Sequence[str], level: float) -> Check:
    """At most one residual may be Gaussian."""
    gaussian = [name for name, p in zip(names, residuals.p_values, strict=True) if p > level]
    meaning = "LiNGAM finds directions from departures from the Gaussian distribution; at most one error may have none."
    if len(gaussian) < 2:
        which = f"all but that of {gaussian[0]!r} depart" if gaussian else "all depart"
        return Check("non-gaussian", "fine", f"residuals: {which} from Gaussian beyond sampling error", meaning, "")
    return Check(
        "non-gaussian",
        "doubtful",
        f"the residuals of {_listed(gaussian)} cannot be told from Gaussian ones",
        meaning,
        "treat the order among these variables as unknown, or state it as prior knowledge; more rows may tell",
    )


def gaussian_from_cumulants(
    cumulants: TensorCumulants, order: IntVector, rows: float, names: Sequence[str], level: float
) -> Check:
    """The same from the cumulants of the variables: those of residuals along an order follow from them."""
    from scipy.stats import chi2

    W = np.empty_like(cumulants.cov)
    W[order] = residual_rows(cumulants.cov, order.tolist())
    skew, kurt = (each[: len(names)] for each in cumulants.of_combinations(W))  # those of steps before come after
    p_values = chi2.sf(rows * (skew**2 / 6 + kurt**2 / 24), 2)
    unknown = np.full(len(p_values), np.nan)
    return gaussian_check(NonGaussianity(skew, unknown, kurt, unknown, p_values), names, level)


def independence_check(tests: Tests, names: Sequence[str], level: float) -> Check:
    """Errors are independent of each other."""
    meaning = "Dependent errors point to a common cause that was not measured, a wrong order, or effects that are bent."
    upper = np.triu(np.ones(tests.p_values.shape, dtype=bool), 1)
    told, p_value = _overall(tests, upper)
    if told == 0:
        return _untold("independence", "residuals", meaning)
    if p_value >= level:
        finding = f"no dependence between residuals beyond sampling error, over {told} of {int(upper.sum())} pairs"
        return Check("independence", "fine", finding, meaning, "", p_value)
    worst = [f"{names[i]!r} and {names[j]!r}" for i, j in _smallest(tests, upper, level)]
    return Check(
        "independence",
        "doubtful",
        f"the residuals of {_listed(worst, quote=False)} depend on each other",
        meaning,
        "look for a common cause of these variables that could be measured, and do not read the edge between them as "
        "an effect",
        p_value,
    )


def linearity_check(tests: Tests, edges: BoolMatrix, names: Sequence[str], level: float) -> Check:
    """Effects are linear."""
    meaning = "A bent effect leaves something of the cause in the residual, which linear methods take for dependence."
    if not edges.any():
        return Check("linearity", "cannot tell", "there is no edge to test", meaning, "")
    told, p_value = _overall(tests, edges)
    if told == 0:
        return _untold("linearity", "variables", meaning)
    if p_value >= level:
        finding = f"no quadratic part in any effect beyond sampling error, over {told} of {int(edges.sum())} edges"
        return Check("linearity", "fine", finding, meaning, "", p_value)
    worst = [f"{names[j]} -> {names[i]}" for i, j in _smallest(tests, edges, level)]
    return Check(
        "linearity",
        "doubtful",
        f"a quadratic part shows in {_listed(worst, quote=False)}",
        meaning,
        "transform the cause or the effect (a logarithm, a square root) and run again",
        p_value,
    )


def sites_check(means: Vector, variances: Vector, sites: int, names: Sequence[str], level: float) -> Check:
    """Sites share levels and spreads, given what precedes in the order."""
    meaning = "Differences between sites are mixed into the pooled moments and can pass for causes."
    if sites < 2:
        return Check("sites alike", "cannot tell", "there is one site", meaning, "")
    p_value = at_least_one(np.concatenate([means, variances]))
    if p_value >= level:
        finding = f"levels and spreads of {sites} sites differ by no more than chance"
        return Check("sites alike", "fine", finding, meaning, "", p_value)
    bound = level / (2 * len(names))
    levels = [name for name, p in zip(names, means, strict=True) if p < bound]
    spreads = [name for name, p in zip(names, variances, strict=True) if p < bound]
    parts = [f"levels of {_listed(levels)}"] * bool(levels) + [f"spreads of {_listed(spreads)}"] * bool(spreads)
    return Check(
        "sites alike",
        "doubtful",
        f"sites differ in {' and in '.join(parts) or 'some level or spread'}, given what precedes in the order",
        meaning,
        f"run again with within={'standardise' if spreads else 'centre'!r}",
        p_value,
    )


def scale_check(card: Card, estimate: Estimate, standardised: IntVector | None) -> Check:
    """Whether the order depends on the units of the variables, from the order of standardised ones if it is known."""
    meaning = "Units are a choice; an order that changes with them says more about the choice than about causes."
    if card.scale_free:
        return Check("scale", "fine", f"{card.name} gives the same order in any units", meaning, "")
    instead = scale_free_default()
    if standardised is None:
        finding = f"{card.name} depends on units, and whether it does here would take as many rounds again"
        return Check("scale", "cannot tell", finding, meaning, f"compare with {instead}, which ignores scale")
    agreement = order_agreement(standardised, np.argsort(estimate.order).astype(float))
    finding = f"on standardised variables {card.name} places {agreement:.0%} of pairs as it does on these"
    if agreement >= LIKE_BEFORE:
        return Check("scale", "fine", finding, meaning, "")
    return Check("scale", "doubtful", finding, meaning, f"take {instead}, which ignores scale")


def no_residuals(problem: str, names: Sequence[str]) -> tuple[Check, ...]:
    """Checks of residuals, where there are no sums of them."""
    reason = f"there are no sums of the residuals of {len(names)} variables: {problem}"
    return tuple(
        Check(name, "cannot tell", reason, "Sites hold, or release, less than this check needs.", "")
        for name in ("non-gaussian", "independence", "linearity", "sites alike")
    )


def _overall(tests: Tests, where: BoolMatrix) -> tuple[int, float]:
    """How many tests can be relied on, and the p-value of the smallest of them."""
    told = where & tests.tells
    return int(told.sum()), at_least_one(tests.p_values[told])


def _smallest(tests: Tests, where: BoolMatrix, level: float) -> list[tuple[int, int]]:
    """Where tests fail on their own, corrected for their number; at least the smallest."""
    told = where & tests.tells
    p_values: Matrix = np.where(told, tests.p_values, 1.0)
    order = np.argsort(p_values, axis=None)
    bound = 1 - (1 - level) ** (1 / int(told.sum()))
    places = [(int(k) // len(where), int(k) % len(where)) for k in order[:10]]
    return [at for number, at in enumerate(places) if number == 0 or p_values[at] < bound]


def _untold(name: str, what: str, meaning: str) -> Check:
    finding = f"too few rows for the tails of these {what}: a handful of rows would decide"
    return Check(name, "cannot tell", finding, meaning, "more rows, or trim=8 where the tails are errors")


def _listed(names: Sequence[str], *, quote: bool = True) -> str:
    shown = [repr(name) if quote else name for name in names[:5]]
    return ", ".join(shown) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
