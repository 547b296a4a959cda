"""Hidden common causes: what is told of them from the sums of one round, beside methods for one table."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments.harness.cells import Cell, Scale, Value
from experiments.harness.experiment import Experiment
from experiments.pages.summary import SeedSpread, markdown, select, spread
from experiments.tasks.hidden import HSIC_ROWS, find_hidden
from fedrcd.data.simulate.noise import NOISE_FAMILIES

ROWS = (500, 2000, 20_000)
OURS = ("alarm", "screen")
CENTRAL = ("lingam.RCD", "lingam.BottomUpParceLiNGAM")
PLAIN = "nothing hidden"
KINDS = {"ancestors": "F1 of ancestors", "confounded": "F1 of confounded pairs", "edges": "F1 of edges"}
PAIRS = 45
"""Of ten variables."""


def cells(scale: Scale) -> Iterator[Cell]:
    """Models with one to three hidden causes, then without any, then without any and with weak effects."""
    for rows in ROWS:
        for seed in range(scale.seeds):
            for noise in NOISE_FAMILIES:
                data: dict[str, Value] = {"noise": noise, "p": 10, "rows": rows, "seed": seed}
                central = CENTRAL if rows == min(ROWS) or (scale.full and seed == 0) else ()
                for method in (*OURS, *central):
                    package = "lingam" if method in CENTRAL else ""
                    yield Cell(find_hidden, {**data, "most": 3, "weak": False, "method": method}, package)
                for method in OURS:
                    yield Cell(find_hidden, {**data, "most": 0, "weak": False, "method": method})
                for method in (OURS[0], PLAIN):
                    yield Cell(find_hidden, {**data, "most": 0, "weak": True, "method": method})


def text(frame: pd.DataFrame) -> Iterator[str]:
    """A table of what is found, one of false alarms, one of weak effects."""
    yield (
        "Ten variables, of which one to three groups of two or three share a hidden cause; eleven noise families; mean "
        f"± standard error over data sets. The packages get at most {HSIC_ROWS:,} rows, which is what their tests can "
        "hold. Precision is that of all claimed edges together.\n"
    )
    hidden = select(frame, most=3)
    lines = []
    for rows in ROWS:
        for method in (*OURS, *CENTRAL):
            own = select(hidden, rows=rows, method=method)
            if own.empty:
                continue
            measured = [spread(_f1(own, kind)) for kind in KINDS]
            precision = own["edges_hits"].sum() / max(1, own["edges_claimed"].sum())
            seconds = own["processor_seconds"].median()
            lines.append(
                [
                    f"{rows:,}",
                    method,
                    *(one.short() for one in measured),
                    f"{precision:.2f}",
                    f"{seconds:.2g}",
                    len(own),
                ]
            )
    yield from markdown(["rows", "", *KINDS.values(), "precision of edges", "processor seconds", "data sets"], lines)
    yield from _paired(hidden)
    yield from _alarms(frame)
    yield from _weak(frame)


def _f1(frame: pd.DataFrame, kind: str) -> pd.Series:
    """Of each data set; where nothing is true and nothing claimed, there is none."""
    both = frame[f"{kind}_claimed"] + frame[f"{kind}_true"]
    return 2 * frame[f"{kind}_hits"] / both.where(both > 0)


def _paired(hidden: pd.DataFrame) -> Iterator[str]:
    """Ours less each of the packages, over the data sets that both met."""
    yield "Differences of F1 on the same data sets, ours less the package's:\n"
    lines = []
    for rows in ROWS:
        for method in OURS:
            for other in CENTRAL:
                differences = [_difference(select(hidden, rows=rows), method, other, kind) for kind in KINDS]
                if differences[0].n:
                    lines.append([f"{rows:,}", f"{method} - {other}", *(one.short() for one in differences)])
    yield from markdown(["rows", "", *KINDS.values()], lines)


def _difference(frame: pd.DataFrame, method: str, other: str, kind: str) -> SeedSpread:
    scored = frame.assign(f1=_f1(frame, kind))
    wide = scored.pivot_table("f1", ["noise", "seed"], "method")
    if other not in wide:
        return spread([])
    return spread(wide[method] - wide[other])


def _alarms(frame: pd.DataFrame) -> Iterator[str]:
    """What is flagged where nothing is hidden."""
    yield "Where nothing is hidden:\n"
    strong = select(frame, most=0, weak=False)
    lines = []
    for rows in ROWS:
        flagged = {method: select(strong, rows=rows, method=method)["confounded_claimed"] for method in OURS}
        lines.append(
            [
                f"{rows:,}",
                f"{(flagged['alarm'] > 0).mean():.1%}",
                f"{flagged['screen'].mean() / PAIRS:.1%}",
                len(flagged["alarm"]),
            ]
        )
    yield from markdown(["rows", "data sets flagged by `alarm`", "pairs flagged by `screen`", "data sets"], lines)


def _weak(frame: pd.DataFrame) -> Iterator[str]:
    """What looking for hidden causes costs where there are none and effects are weak."""
    yield "Weights of ±U[0.1, 0.5] and nothing hidden: wrong edges (missed, or claimed and not there) of a graph:\n"
    weak = select(frame, most=0, weak=True)
    lines = []
    for rows in ROWS:
        own = select(weak, rows=rows)
        wrong = own.assign(wrong=own["edges_claimed"] + own["edges_true"] - 2 * own["edges_hits"])
        wide = wrong.pivot_table("wrong", ["noise", "seed"], "method")
        rise = spread(wide[OURS[0]] - wide[PLAIN])
        lines.append([f"{rows:,}", *(spread(wide[method]).short(1) for method in (OURS[0], PLAIN)), rise.short(2)])
    yield from markdown(["rows", "`hidden=True`", "without", "difference"], lines)


HIDDEN = Experiment(name="hidden", title="Hidden common causes", cells=cells, text=text)
