"""Against other packages: lingam and CausalDisco."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import fedrcd
from fedrcd.data import split_rows
from fedrcd.graphs import r2_sortability, varsortability
from fedrcd.methods.registry import build
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.typing import Matrix
from tests.strategies import estimate
from tests.verification.claims import Claim, claims, counted
from tests.verification.data import difference, parting, random_data, told

TIED = 1e-9
"""Margin below which rounding to a grid may decide otherwise."""


class Fit(NamedTuple):
    """What lingam says."""

    order: list[int]
    B: Matrix


@cache
def lingam_fit(seed: int, k: int) -> Fit:
    """lingam.DirectLiNGAM on data set k."""
    import lingam

    fitted = lingam.DirectLiNGAM().fit(random_data(seed, k).X)
    return Fit(list(fitted.causal_order_), fitted.adjacency_matrix_)


def by_exact_sums(method: str, parts: Sequence[Matrix], **options: Any) -> Estimate:
    """As `estimate`, in a frame that is proposed, by sums that can be masked."""
    sites = [fedrcd.Table(part, f"s{k}", f"s{k}") for k, part in enumerate(parts)]
    transport = fedrcd.in_process(sites, arithmetic="exact")
    return run(build(method, **options).rounds(transport.setting), transport)


@claims(seed=1)
def direct_lingam_is_lingam(seed: int) -> Iterator[Claim]:
    """Orders of direct-lingam and of fed-direct against lingam's, and effects by BIC."""
    for method, sites, count, exact in (
        ("direct-lingam", 1, 60, False),
        ("fed-direct", 3, 200, False),
        ("fed-direct", 3, 200, True),
    ):
        differences, largest, decided = [], 0.0, 0.0
        for k in counted(range(count), method):
            data = random_data(seed, k)
            parts = [data.X[part] for part in split_rows(len(data.X), sites, rng=data.rng)]
            found = by_exact_sums if exact else estimate
            ours, theirs = found(method, parts, weights="bic"), lingam_fit(seed, k)
            if ours.order.tolist() != theirs.order:
                differences.append(difference(data, ours, theirs.order))
                decided = max(decided, parting(ours, theirs.order)[1])
            else:
                largest = max(largest, float(np.abs(ours.B - theirs.B).max()))
        over = f" over {sites} sites" if sites > 1 else ""
        over += ", by sums of whole numbers," if exact else ""
        but = f", but where charges are within {TIED:.0e} of each other" if exact else ""
        yield Claim(
            f"{method}{over} gives the order of lingam.DirectLiNGAM{but}",
            count,
            told(differences, count),
            decided < TIED if exact else not differences,
        )
        yield Claim(
            f"{method}{over} with BIC weights gives the effects of lingam.DirectLiNGAM",
            count - len(differences),
            f"largest difference {largest:.1e}",
            largest < 1e-6,
        )


@claims(seed=2)
def sortabilities_are_causaldiscos(seed: int) -> Iterator[Claim]:
    """Varsortability and R2-sortability against CausalDisco, whose graphs are indexed [from, to]."""
    from CausalDisco import analytics

    largest = {"varsortability": 0.0, "R2-sortability": 0.0}
    for k in counted(range(100), "sortability"):
        data = random_data(seed, k)
        cov, B = np.cov(data.X.T, ddof=0), data.model.B
        pairs = {
            "varsortability": (varsortability(np.diagonal(cov), B), analytics.var_sortability(data.X, B.T)),
            "R2-sortability": (r2_sortability(cov, B), analytics.r2_sortability(data.X, B.T)),
        }
        for name, (ours, theirs) in pairs.items():
            largest[name] = max(largest[name], abs(ours - theirs))
    for name, value in largest.items():
        yield Claim(f"{name} is that of CausalDisco", 100, f"largest difference {value:.1e}", value < 1e-9)
