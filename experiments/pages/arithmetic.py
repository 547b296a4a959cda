"""Whether rounding to a grid, which makes sums exact, changes what is found.

`python -m experiments.pages.arithmetic` prints the tables and writes docs/arithmetic.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.harness.parallel import in_order
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.data.table import Table
from fedrcd.evaluation.evaluate import DataSetting, standardised
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.deflations.tensors import Tensors
from fedrcd.methods.refinements.contrast import ContrastRefinement
from fedrcd.methods.registry import build
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import in_process
from fedrcd.protocol.transport import InProcess
from fedrcd.statistics.grid import ARITHMETIC

METHODS = ("fedrcd-s", "fedrcd-t", "fedrcd-ni")
SEED = 1000
"""First seed of the data sets; no other experiment draws from them."""


class BesideFloat(NamedTuple):
    """One method on one data set, in one arithmetic, beside float64."""

    method: str
    arithmetic: str
    data: str
    accuracy: float
    clipped: str
    difference: str
    """What decided otherwise than in float64; empty if the order is the same."""


def beside_float(k: int) -> list[BesideFloat]:
    """All methods in all arithmetics on data set k, in one frame; families take turns, half are standardised."""
    setting = DataSetting(noise=NOISE_FAMILIES[k % len(NOISE_FAMILIES)], seed=SEED + k)
    model, tables = setting.draw()
    unit = k // len(NOISE_FAMILIES) % 2 == 1
    if unit:
        tables = standardised(tables)
    blocks = [Table(rows, f"site {k}", f"site {k}", columns=model.names) for k, rows in enumerate(tables)]
    exact = in_process(blocks, model.names, grid=ARITHMETIC["exact"])
    found = []
    for method in METHODS:
        plain = _estimate(method, exact, "float")[0]
        for arithmetic in ARITHMETIC:
            estimate, clipped = _estimate(method, exact, arithmetic)
            label = f"{setting.noise}, seed {setting.seed}{', standardised' if unit else ''}"
            accuracy = ancestral_accuracy(estimate.order, model.B)
            difference = _difference(plain, estimate, exact)
            found.append(BesideFloat(method, arithmetic, label, accuracy, clipped, difference))
    return found


def _estimate(method: str, transport: InProcess, arithmetic: str) -> tuple[Estimate, str]:
    in_arithmetic = replace(
        transport, setting=replace(transport.setting, grid=ARITHMETIC[arithmetic]), traffic=type(transport.traffic)()
    )
    estimate = run(build(method).rounds(in_arithmetic.setting), in_arithmetic)
    return estimate, str(in_arithmetic.traffic.clipped or 0)


def _difference(plain: Estimate, other: Estimate, transport: InProcess) -> str:
    """The first decision that differs, and by what margin float64 took it."""
    if np.array_equal(plain.order, other.order):
        return ""
    for k, (one, two) in enumerate(zip(plain.steps, other.steps, strict=True), 1):
        if one.chosen != two.chosen:
            return f"step {k}: margin {one.margin / float(np.abs(one.scores).max()):.1e} of the largest score"
    refinement = ContrastRefinement()
    setting = replace(transport.setting, grid=None)
    evidence, _ = run(Tensors().start(setting), replace(transport, setting=setting))
    best, reached = (refinement.contrast(evidence.statistic, order) for order in (plain.order, other.order))
    return f"refinement: contrast {abs(best - reached) / best:.1e} apart"


def report(found: Sequence[BesideFloat], count: int) -> Iterator[str]:
    """The tables."""
    yield "# Exact sums against float64"
    yield ""
    yield (
        "Written by `python -m experiments.pages.arithmetic`; do not edit. "
        f"{count} data sets over {len(NOISE_FAMILIES)} noise families at the paper's setting "
        "(p = 20, 10 sites of 2000 rows), half of them standardised; one frame for all arithmetics."
    )
    yield ""
    yield "| method | arithmetic | same order as float64 | AncAcc | minus float64 | data sets with clipped values |"
    yield "|---|---|---|---|---|---|"
    for method in METHODS:
        plain = np.array([one.accuracy for one in found if (one.method, one.arithmetic) == (method, "float")])
        for arithmetic in ARITHMETIC:
            here = [one for one in found if (one.method, one.arithmetic) == (method, arithmetic)]
            accuracy = np.array([one.accuracy for one in here])
            same = sum(not one.difference for one in here)
            gap = accuracy - plain
            error = gap.std(ddof=1) / np.sqrt(len(gap))
            clipped = sum(one.clipped != "0" for one in here)
            yield (
                f"| {method} | {arithmetic} | {same} of {len(here)} ({same / len(here):.1%}) | {accuracy.mean():.4f} "
                f"| {gap.mean():+.4f} ± {error:.4f} | {clipped} |"
            )
    for arithmetic, grid in (("exact", "fine"), ("compact", "coarse")):
        yield from ("", f"## Every order that the {grid} grid changed", "")
        changed = [one for one in found if one.arithmetic == arithmetic and one.difference]
        if changed:
            yield "| method | data | clipped values | what decided otherwise, and its margin in float64 |"
            yield "|---|---|---|---|"
        for one in changed:
            yield f"| {one.method} | {one.data} | {one.clipped} | {one.difference} |"
        if not changed:
            yield "None."


def main() -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("docs/arithmetic.md"))
    arguments = parser.parse_args()

    def say(done: int, total: int) -> None:
        print(f"{done} of {total} data sets", file=sys.stderr, end="\r", flush=True)

    found = [one for some in in_order(beside_float, range(arguments.data_sets), progress=say) for one in some]
    text = "\n".join(report(found, arguments.data_sets)) + "\n"
    arguments.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
