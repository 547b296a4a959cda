"""Sites that differ and values that are missing: what it costs and what mends it."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments.harness.cells import Cell, Scale, Value
from experiments.harness.experiment import Experiment
from experiments.pages.summary import markdown, select, spread
from experiments.tasks.baselines import BASELINES
from experiments.tasks.federations import ROWS, federate
from fedrcd.data.simulate.noise import NOISE_FAMILIES

EFFECTS = ("alike", "shifted", "rescaled")
GAPS = ("5 % missing", "20 % missing", "40 % missing", "each site lacks 2 columns")
MULTI_GROUP = "lingam.MultiGroupDirectLiNGAM"
SITES = 10


def cells(scale: Scale) -> Iterator[Cell]:
    """Methods and what mends, on the same spoiled rows."""
    for seed in range(scale.fewer):
        for noise in NOISE_FAMILIES:
            data: dict[str, Value] = {"noise": noise, "seed": seed, "sites": SITES}
            for spoiled in EFFECTS:
                for method, values in (
                    ("fedrcd-s", ("none", "centre", "standardise", "auto")),
                    ("fed-direct", ("none", "centre", "standardise", "auto")),
                    ("fedrcd-x", ("none", "centre", "standardise")),
                    ("direct-lingam", ("none",)),
                    (MULTI_GROUP, ("none",)),
                ):
                    package = BASELINES[method].package if method in BASELINES else ""
                    if package and seed:
                        continue  # ten tables take it ten times as long
                    for value in values:
                        settings = {**data, "spoiled": spoiled, "method": method, "option": "within", "value": value}
                        yield Cell(federate, {**settings, "p": 15}, package)
            for spoiled in GAPS:
                for value in ("complete", "expected", "available"):
                    settings = {**data, "spoiled": spoiled, "method": "fedrcd-s", "option": "missing", "value": value}
                    yield Cell(federate, {**settings, "p": 20})


def text(frame: pd.DataFrame) -> Iterator[str]:
    """A table for sites that differ, one for values that are missing."""
    sets = len(frame[["noise", "seed"]].drop_duplicates())
    yield (
        f"AncAcc on standardised data, mean ± standard error over {sets} data sets; {ROWS:,} rows at {SITES} sites, "
        "weights, density and noise of the paper.\n"
    )
    yield (
        "Sites that differ, p = 15. Shifted: each site's level of each variable is off by N(0, 1) standard deviations. "
        "Rescaled: its unit by a factor U[0.5, 2]. `within` is what sites do before they sum.\n"
    )
    yield from _table(select(frame, option="within"), EFFECTS)
    yield "Values missing completely at random, or two columns missing at every site; p = 20.\n"
    yield from _table(select(frame, option="missing"), GAPS)
    yield (
        "DirectLiNGAM for several groups keeps each table apart, and needs the rows of all sites in one place. "
        "Standardising within sites takes the scale from the paper's methods, X here, that they order by.\n"
    )


def _table(frame: pd.DataFrame, columns: tuple[str, ...]) -> Iterator[str]:
    kinds = list(dict.fromkeys(zip(frame["method"], frame["option"], frame["value"], strict=True)))
    rows = []
    for method, option, value in kinds:
        own = select(frame, method=method, value=value)
        rows.append([f"{method}, {option} {value}", *(_cell(select(own, spoiled=column)) for column in columns)])
    yield from markdown(["method", *columns], rows)


def _cell(frame: pd.DataFrame) -> str:
    """Mean and standard error of what could run, and how many could not."""
    lost = int(frame["accuracy"].isna().sum())
    if lost == len(frame):
        return "cannot run"
    return spread(frame["accuracy"]).short() + (f" ({lost} of {len(frame)} cannot run)" if lost else "")


SITE_EFFECTS = Experiment(
    name="site-effects",
    title="Sites that differ and values that are missing, and what mends them",
    cells=cells,
    text=text,
)
