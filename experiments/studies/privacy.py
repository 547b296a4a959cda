"""Differential privacy: what is found at which epsilon, and what attackers still find. One axis at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments.harness.cells import Cell, Scale, Value
from experiments.harness.experiment import Experiment, Figure, Panel, Plotted
from experiments.pages.summary import markdown, select, spread
from experiments.tasks.privacy import (
    discover_under_noise,
    infer_membership,
    private_baseline,
    rebuild_outlier,
    yearly,
)
from fedrcd.data.simulate.noise import NOISE_FAMILIES

P, ROWS, EPSILON = 20, 20_000, 1.0
EPSILONS: tuple[float | None, ...] = (0.1, 0.3, 0.5, 1.0, 3.0, 10.0, None)
SIZES = (2_000, 5_000, 20_000, 200_000)
DIMENSIONS = (5, 10, 20, 40)
SITES = (1, 3, 10, 50)
YEARS = (1, 3, 5, 10)
TOTAL = 3.0
"""Epsilon of all years together."""
BASELINES = ("variance sort", "Gaussian score search")
ATTACKED = ((20, 500), (20, 20_000))
"""Variables and rows of the tables whose members are sought."""
OUTLIER = 1_000
"""Rows of the table that an outlier is in."""
BY = ("fedrcd-dp", "fedrcd-r")
"""The method, and the same without noise."""
FEW = 3
"""Data sets of each family where they are large, at most."""


def cells(scale: Scale) -> Iterator[Cell]:
    """All axes; large tables of few seeds."""
    for seed in range(scale.seeds):
        for noise in NOISE_FAMILIES:
            common: dict[str, Value] = {"noise": noise, "seed": seed, "p": P, "rows": ROWS}
            for epsilon in EPSILONS:
                for standardised in (False, True) if epsilon in (0.5, 1.0, 3.0) else (False,):
                    given = {**common, "epsilon": epsilon, "standardised": standardised}
                    yield Cell(discover_under_noise, given, uses=BY)
            yield Cell(discover_under_noise, {**common, "rows": 5_000, "epsilon": EPSILON}, uses=BY)
            if seed < FEW:
                yield from _axes(common)


def _axes(common: dict[str, Value]) -> Iterator[Cell]:
    """Everything else around the middle."""
    for rows in (2_000, 200_000) if common["seed"] == 0 else (2_000,):
        yield Cell(discover_under_noise, {**common, "rows": rows, "epsilon": EPSILON}, uses=BY)
    yield Cell(discover_under_noise, {**common, "rows": 200_000, "epsilon": 0.1}, uses=BY)
    for p in (5, 10, 40):
        yield Cell(discover_under_noise, {**common, "p": p, "epsilon": EPSILON}, uses=BY)
    for sites in SITES[1:]:
        excess = {"shared": sites / (sites - 1), "of its own": float(sites)}
        for kind in excess:
            yield Cell(discover_under_noise, {**common, "epsilon": EPSILON, "excess": excess[kind]}, uses=BY)
    for baseline in BASELINES:
        for epsilon in (1.0, 10.0):
            for standardised in (False, True):
                given = {**common, "baseline": baseline, "epsilon": epsilon, "standardised": standardised}
                yield Cell(private_baseline, given)
    for years in YEARS[1:]:
        yield Cell(yearly, {**common, "epsilon": TOTAL, "years": years}, uses=BY)
    for p, rows in ATTACKED:
        for attacked in (1.0, 3.0, None):
            yield Cell(infer_membership, {**common, "p": p, "rows": rows, "epsilon": attacked}, uses=BY)
    for attacked in (1.0, 3.0, None):
        yield Cell(rebuild_outlier, {**common, "rows": OUTLIER, "epsilon": attacked}, uses=BY)


def text(frame: pd.DataFrame) -> Iterator[str]:
    """The paper's third open question in a paragraph, then a table for each axis."""
    found = _plain(frame)
    at = {epsilon: spread(_middle(found, epsilon)["accuracy"]) for epsilon in EPSILONS}
    yield (
        '*The paper asks what "applying differential privacy to transmitted tensors" would cost.* '
        f"At p = {P} and N = {ROWS:,} the order has AncAcc {at[3.0].short()} at epsilon 3, {at[1.0].short()} at 1 and "
        f"{at[0.5].short()} at 0.5 (delta 1e-6, one row more or less), where the same method without noise has "
        f"{at[None].short()}: rows are whitened under noise and projected to a sphere before their tensors leave, so "
        "that no row, however far out, needs more noise than any other. A covariance under the same noise, sorted by "
        f"variance or searched by a Gaussian score, has {_baseline(frame, BASELINES[0])} and "
        f"{_baseline(frame, BASELINES[1])} at epsilon 1 on standardised rows. Few rows are what noise "
        "drowns: see the axis of N.\n"
    )
    yield (
        "Eleven families of noise; frames are off by up to a factor 2 in scale and half a standard deviation in "
        "centre. Error: of effects along the true order, mean over edges. Covered: 95 % intervals that hold the true "
        "effect, noise included. Worth: rows that without noise leave effects as uncertain.\n"
    )
    yield from _epsilons(found)
    yield from _families(found)
    yield from _axis(found, "rows", SIZES, "N")
    yield from _axis(found, "p", DIMENSIONS, "p")
    yield from _baselines(frame)
    yield from _sites(frame)
    yield from _attacks(frame)
    yield from _years(frame, found)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Discoveries with as much noise as is due."""
    own = select(frame, task="discover_under_noise")
    return own[own["excess"].isna() | (own["excess"] == 1.0)] if "excess" in own else own


def _middle(found: pd.DataFrame, epsilon: float | None) -> pd.DataFrame:
    """Those at one epsilon, of the middle of all axes."""
    own = select(found, p=P, rows=ROWS)
    return own[own["epsilon"].isna()] if epsilon is None else select(own, epsilon=epsilon)


def _raw(found: pd.DataFrame) -> pd.DataFrame:
    """Those of rows in their own units."""
    return found[found["standardised"] != True]  # noqa: E712 - missing is not standardised


def _words(epsilon: float | None) -> str:
    return "none" if epsilon is None else f"{epsilon:g}"


def _baseline(frame: pd.DataFrame, baseline: str) -> str:
    own = select(frame, task="private_baseline", baseline=baseline, epsilon=1.0, standardised=True)
    return spread(own["accuracy"]).short()


def _epsilons(found: pd.DataFrame) -> Iterator[str]:
    rows = []
    for epsilon in EPSILONS:
        own = _middle(found, epsilon)
        raw = _raw(own)
        both = spread(own["accuracy"])
        columns = [spread(raw[name]).short(digits) for name, digits in (("shd", 1), ("error", 3), ("covered", 3))]
        worth = f"{raw['worth'].mean():,.0f}"
        rows.append([_words(epsilon), both.short(4), f"{own['accuracy'].min():.3f}", *columns, worth, both.n])
    yield from markdown(["epsilon", "AncAcc", "lowest", "SHD", "error", "covered", "worth", "data sets"], rows)


def _families(found: pd.DataFrame) -> Iterator[str]:
    yield "By family, at p = 20 and N = 20,000 (N = 5,000 in the last column, at epsilon 1).\n"
    few = select(found, p=P, rows=5_000, epsilon=EPSILON)
    rows = []
    for noise in NOISE_FAMILIES:
        cells = [spread(select(_middle(found, one), noise=noise)["accuracy"]).short() for one in (0.5, 1.0, 3.0)]
        rows.append([noise, *cells, spread(select(few, noise=noise)["accuracy"]).short()])
    yield from markdown(["noise", "0.5", "1", "3", "N = 5,000"], rows)


def _axis(found: pd.DataFrame, name: str, values: tuple[int, ...], words: str) -> Iterator[str]:
    middle = {"p": P, "rows": ROWS}
    rows = []
    for value in values:
        own = _raw(select(found, **{**middle, name: value}, epsilon=EPSILON))
        accuracy = spread(own["accuracy"])
        rows.append(
            [f"{value:,}", accuracy.short(), spread(own["error"]).short(), spread(own["covered"]).short(), accuracy.n]
        )
    yield f"At epsilon {EPSILON:g}, by {words}.\n"
    yield from markdown([words, "AncAcc", "error", "covered", "data sets"], rows)
    if name == "rows":
        small = spread(select(found, p=P, rows=200_000, epsilon=0.1)["accuracy"])
        yield f"N = 200,000 at epsilon 0.1: {small.short()} ({small.n} data sets).\n"


def _baselines(frame: pd.DataFrame) -> Iterator[str]:
    yield (
        "Private baselines, from one covariance under noise: sorted by variance, and ordered by the Gaussian score. "
        "Raw rows of these models are sorted by variance as they are drawn, which real ones need not be.\n"
    )
    own, rows = select(frame, task="private_baseline"), []
    for baseline in BASELINES:
        for epsilon in (1.0, 10.0):
            kinds = (select(own, baseline=baseline, epsilon=epsilon, standardised=one) for one in (False, True))
            rows.append([baseline, f"{epsilon:g}", *(spread(one["accuracy"]).short() for one in kinds)])
    yield from markdown(["baseline", "epsilon", "raw", "standardised"], rows)


def _sites(frame: pd.DataFrame) -> Iterator[str]:
    yield ("Noise of K sites at epsilon 1: shared under masks, where one of them may collude, or all of it at each.\n")
    own, rows = select(frame, task="discover_under_noise", epsilon=EPSILON, p=P, rows=ROWS), []
    for sites in SITES:
        parts = (1.0, 1.0) if sites == 1 else (sites / (sites - 1), float(sites))
        cells = [spread(_raw(own[_near(own, part)])["accuracy"]).short() for part in parts]
        rows.append([sites, *cells])
    yield from markdown(["K", "shared", "of its own"], rows)


def _near(own: pd.DataFrame, part: float) -> pd.Series[bool]:
    excess = own["excess"].fillna(1.0)
    near: pd.Series[bool] = (excess - part).abs() < 1e-9
    return near


def _attacks(frame: pd.DataFrame) -> Iterator[str]:
    yield (
        "Attacks on what leaves. Membership: AUC of somebody who knows the population and sees the tensors of the last "
        "round. Outlier: error, in standard deviations, of the other values of a row of which one lies "
        "20 out, for somebody who knows that; without noise from moments, as methods without noise release them.\n"
    )
    rows = []
    for epsilon in (None, 3.0, 1.0):
        cells = []
        for p, count in ATTACKED:
            own = select(frame, task="infer_membership", p=p, rows=count)
            own = own[own["epsilon"].isna()] if epsilon is None else select(own, epsilon=epsilon)
            cells.append(spread(own["auc"]).short())
        off = select(frame, task="rebuild_outlier")
        off = off[off["epsilon"].isna()] if epsilon is None else select(off, epsilon=epsilon)
        rows.append([_words(epsilon), *cells, spread(off["off"]).short(2)])
    header = [f"membership, p = {p}, N = {count:,}" for p, count in ATTACKED]
    yield from markdown(["epsilon", *header, "outlier"], rows)


def _years(frame: pd.DataFrame, found: pd.DataFrame) -> Iterator[str]:
    yield f"Yearly releases that add up to epsilon {TOTAL:g} for somebody who is in all of them.\n"
    rows = [["1", f"{TOTAL:g}", spread(_raw(_middle(found, TOTAL))["accuracy"]).short()]]
    for years in YEARS[1:]:
        own = select(frame, task="yearly", years=years)
        rows.append([str(years), f"{own['each'].mean():.2f}", spread(own["accuracy"]).short()])
    yield from markdown(["years", "epsilon a year", "AncAcc of each"], rows)


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Accuracy against epsilon, and against the number of rows."""
    found = _plain(frame)
    at, few = f"p = {P}, N = {ROWS:,}", f"p = {P}, epsilon {EPSILON:g}"
    known = [epsilon for epsilon in EPSILONS if epsilon is not None]
    by_epsilon = [spread(_middle(found, epsilon)["accuracy"]) for epsilon in known]
    by_rows = [spread(_raw(select(found, p=P, rows=rows, epsilon=EPSILON))["accuracy"]) for rows in SIZES]

    def drawn(x: list[float], y: list[object]) -> list[Plotted]:
        points = [one for one in y if hasattr(one, "mean")]
        return [Plotted("fedrcd-dp", x, [one.mean for one in points], [one.se for one in points])]  # type: ignore[attr-defined]

    yield Figure(
        "privacy",
        [
            Panel(
                title=at,
                x="epsilon",
                y="AncAcc",
                series=drawn(known, list(by_epsilon)),
                log_x=True,
            ),
            Panel(
                title=few,
                x="N",
                y="AncAcc",
                series=drawn([float(n) for n in SIZES], list(by_rows)),
                log_x=True,
            ),
        ],
    )


PRIVACY = Experiment(
    name="privacy",
    title="Differential privacy: the third open question",
    cells=cells,
    text=text,
    figures=figures,
)
