"""Rows over time: orders and lagged effects against VAR-LiNGAM, intervals by subject and row by row, and speed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import fedrcd
from benchmarks.measure import BenchmarkRow
from fedrcd.data.simulate.noise import REGIMES
from fedrcd.data.simulate.over_time import ModelOverTime, random_model_over_time
from fedrcd.graphs.dag import ancestry
from fedrcd.typing import Matrix

P, SEEDS = 10, 10
DESIGNS = {"one series of 2,000": (1, 2000), "500 subjects, 6 visits": (500, 6)}
FAMILIES = tuple(family for families in REGIMES.values() for family in families)
LARGE = (20, 10_000)
PANELS, SUBJECTS, VISITS, PERSISTENCE = 200, 200, 6, 0.7


class Recovered(NamedTuple):
    """Of one estimate: the share of causal pairs in order, and F1 of lagged edges."""

    order: float
    lagged: float


def run(jobs: int = 1) -> Iterator[BenchmarkRow]:
    """Ten variables with one lag, 11 families, 10 seeds, ± one standard error of the paired difference."""
    with ProcessPoolExecutor(jobs) as pool:
        for design in DESIGNS:
            cases = list(product([design], FAMILIES, range(SEEDS)))
            yield from _accuracy(design, np.array(list(pool.map(_compared, cases))))
        covered = np.array(list(pool.map(_covered, range(PANELS))))
        yield from _coverage(covered)
    yield from _speed()


def _accuracy(design: str, scores: Matrix) -> Iterator[BenchmarkRow]:
    ours, theirs = scores[:, 0], scores[:, 1]
    for column, what in enumerate(("causal pairs in order", "F1 of lagged edges")):
        difference = ours[:, column] - theirs[:, column]
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        means = f"{ours[:, column].mean():.4f} / {theirs[:, column].mean():.4f}"
        yield BenchmarkRow(f"{design}: {what}", means, "the default / VARLiNGAM")
        yield BenchmarkRow(f"{design}: {what}, ahead by", f"{difference.mean():+.4f} ± {error:.4f}", "not behind")


def _compared(case: tuple[str, str, int]) -> tuple[Recovered, Recovered]:
    """The default with one lag, and VARLiNGAM on the rows of all series one after the other."""
    from fedrcd.lingam import VARLiNGAM

    design, family, seed = case
    subjects, visits = DESIGNS[design]
    rng = np.random.default_rng([30, seed, FAMILIES.index(family)])
    model = random_model_over_time(P, noise=family, rng=rng)
    rows = model.sample(subjects, visits, rng).reshape(-1, P)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fedrcd.discover(_panel(model, rows, subjects, visits), lags=1, time="visit", subject="who")
        other = VARLiNGAM(lags=1, criterion=None).fit(rows)
    order = [model.names.index(name) for name in found.order]
    ours = _score(model, order, found.lagged_effects[1])
    return ours, _score(model, other.causal_order_, other.adjacency_matrices_[1])


def _panel(model: ModelOverTime, rows: Matrix, subjects: int, visits: int) -> pd.DataFrame:
    who, visit = np.repeat(np.arange(subjects), visits), np.tile(np.arange(visits), subjects)
    return pd.DataFrame(rows, columns=list(model.names)).assign(who=who.astype(str), visit=visit)


def _score(model: ModelOverTime, order: list[int], lagged: Matrix) -> Recovered:
    related, place = ancestry(model.now.B), np.argsort(order)
    right = (related & (place[:, None] > place[None, :])).sum() / max(int(related.sum()), 1)
    found, true = lagged != 0, model.lagged[0] != 0
    return Recovered(
        float(right) if related.any() else 1.0, float(2 * (found & true).sum() / (found.sum() + true.sum()))
    )


def _coverage(covered: Matrix) -> Iterator[BenchmarkRow]:
    names = ("by subject", "row by row, bootstrap", "row by row, delta method")
    for name, share in zip(names, covered.mean(axis=0), strict=True):
        error = np.sqrt(share * (1 - share) / len(covered))
        limit = "92 to 98 %" if name == names[0] else ""
        yield BenchmarkRow(f"95 % intervals of an effect, {name}", f"{100 * share:.1f} ± {100 * error:.1f} %", limit)


def _covered(seed: int) -> tuple[bool, bool, bool]:
    """Whether intervals hold the effect of a on b, 0.5, where both outlast a visit for reasons of their own."""
    rng = np.random.default_rng([31, seed])
    noise = rng.laplace(size=(SUBJECTS, VISITS, 2))
    for t in range(1, VISITS):
        noise[:, t] = PERSISTENCE * noise[:, t - 1] + np.sqrt(1 - PERSISTENCE**2) * noise[:, t]
    rows = noise.reshape(-1, 2)
    rows[:, 1] += 0.5 * rows[:, 0]
    table = pd.DataFrame(rows, columns=["a", "b"]).assign(who=np.repeat(np.arange(SUBJECTS), VISITS).astype(str))
    known = fedrcd.Knowledge(required=[("a", "b")])
    how: dict[str, Any] = {"knowledge": known, "n_sampling": 100, "random_state": seed, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subjects = fedrcd.bootstrap(table, "fedrcd-s", subject="who", groups=20, **how)
        single = fedrcd.bootstrap(table[["a", "b"]], "fedrcd-s", resample="rows", **how)
    return _holds(subjects.intervals()), _holds(single.intervals()), _holds(single.discovery.intervals())


def _holds(intervals: pd.DataFrame) -> bool:
    return bool(intervals["low"].iloc[0] <= 0.5 <= intervals["high"].iloc[0])


def _speed() -> Iterator[BenchmarkRow]:
    """One series, in CPU seconds of this process, as other work disturbs the clock."""
    p, rows = LARGE
    rng = np.random.default_rng(30)
    X = random_model_over_time(p, rng=rng).sample(1, rows, rng)[0]
    ours = _cpu(lambda: fedrcd.discover(X, lags=1))
    once = _cpu(lambda: fedrcd.discover(X, "fedrcd-s", lags=1))
    yield BenchmarkRow(f"{p} variables, {rows:,} rows: the default, fedrcd-s", f"{ours:.2f}, {once:.2f} s")
    try:
        import lingam
    except ImportError:
        yield BenchmarkRow("lingam.VARLiNGAM", "not measured", "pip install lingam")
        return
    for prune, what in ((False, "without selecting edges"), (True, "as it comes")):
        model = lingam.VARLiNGAM(lags=1, prune=prune)
        theirs = _cpu(lambda model=model: model.fit(X))  # type: ignore[misc]
        yield BenchmarkRow(f"lingam.VARLiNGAM, {what}", f"{theirs:.2f} s")
        yield BenchmarkRow("times as fast: the default, fedrcd-s", f"{theirs / ours:.1f}, {theirs / once:.1f}", "50")


def _cpu(task: Callable[[], Any]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        task()
        return time.process_time() - start
