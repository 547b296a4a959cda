"""Accuracy of every method on raw and on standardised data, beside the `lingam` package; writes docs/accuracy.md.

`make bench-accuracy` runs it in an environment that has `lingam`. Orders of standardised data are compared with those
of raw data, of `fedrcd-t` with `fedrcd-x`, and of `fed-direct` with `lingam.DirectLiNGAM`, data set by data set.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness.parallel import in_order
from experiments.pages import doubts, edges, networks, real, stress
from experiments.tasks.regimes import BROKEN, REGIMES, Regime
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.data.simulate.noise import REGIMES as NOISE_REGIMES
from fedrcd.evaluation.evaluate import DataSetting, estimate_model
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import METHODS
from fedrcd.typing import Matrix

LINGAM = "lingam.DirectLiNGAM"
HEAD = "# Accuracy\n\nWritten by `make bench-accuracy`; do not edit.\n"
SHOWN = [stress.REFERENCE, "se", "s"]
WEAK_EVIDENCE = ("weak edges, laplace", "200 rows, laplace")


class Counts(NamedTuple):
    """How many data sets each part takes."""

    seeds: int = 10
    regime_seeds: int = 20
    named_seeds: int = 400
    network_seeds: int = networks.SEEDS
    resamples: int = real.RESAMPLES
    edge_seeds: int = 60
    doubt_seeds: int = doubts.SEEDS
    sure_seeds: int = 20


class Measurement(NamedTuple):
    """One method on one data set."""

    method: str
    setting: DataSetting
    standardised: bool
    order: tuple[int, ...]
    accuracy: float
    rounds: int
    kilobytes: float
    seconds: float


class AccuracyJob(NamedTuple):
    """Methods to run on one data set."""

    setting: DataSetting
    methods: Sequence[str]
    standardised: bool = False


def measure(job: AccuracyJob) -> list[Measurement]:
    """Run methods on one data set; `lingam.DirectLiNGAM` gets the rows of all sites in one table."""
    setting, methods, standardised = job
    model, tables = setting.draw()
    results = []
    for method in methods:
        start = time.perf_counter()
        if method == LINGAM:
            order, rounds, sent = _lingam_order(np.concatenate(tables)), 0, 0
        else:
            estimate, traffic = estimate_model(method, tables, model.names, scaling=float(standardised))
            order, rounds, sent = tuple(estimate.order.tolist()), traffic.rounds, traffic.bytes_sent
        seconds = time.perf_counter() - start
        accuracy = ancestral_accuracy(order, model.B)
        kilobytes = sent / len(tables) / 1e3
        results.append(Measurement(method, setting, standardised, order, accuracy, rounds, kilobytes, seconds))
    return results


def _lingam_order(X: Matrix) -> tuple[int, ...]:
    import lingam

    return tuple(int(i) for i in lingam.DirectLiNGAM().fit(X).causal_order_)


def run_all(jobs: Sequence[AccuracyJob], what: str) -> list[Measurement]:
    """Results of all jobs, on all processors, with progress on stderr."""

    def say(done: int, total: int) -> None:
        print(f"{what}: {done} of {total} data sets", file=sys.stderr, end="\r", flush=True)

    results = [result for some in in_order(measure, jobs, progress=say) for result in some]
    print(file=sys.stderr)
    return results


def main_table(results: Sequence[Measurement]) -> Iterator[str]:
    """Accuracy by regime on raw data, over all on standardised data, and costs."""
    yield "| method | symmetric | skewed | mixed | all | all, standardised | rounds | kB a site | s |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for method in dict.fromkeys(result.method for result in results):
        own = [result for result in results if result.method == method]
        raw = [result for result in own if not result.standardised]
        regimes = [
            [r for r in raw if r.setting.noise in NOISE_REGIMES[name]] for name in ("symmetric", "skewed", "mixed")
        ]
        standardised = [result for result in own if result.standardised]
        cells = [_mean(group) for group in (*regimes, raw)] + [_mean(standardised)]
        one_table = method == LINGAM or METHODS[method].one_table
        costs = ["-", "-"] if one_table else [f"{own[0].rounds}", f"{own[0].kilobytes:.1f}"]
        seconds = f"{np.mean([r.seconds for r in own]):.2f}"
        yield "| " + " | ".join([method, *cells, *costs, seconds]) + " |"


def _mean(results: Sequence[Measurement]) -> str:
    if not results:
        return "-"
    values = np.array([result.accuracy for result in results])
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():.4f} ± {error:.4f}"


def identities(results: Sequence[Measurement]) -> Iterator[str]:
    """How often orders that should be identical are."""
    orders = {(r.method, r.setting, r.standardised): r.order for r in results}
    raw = [setting for method, setting, standardised in orders if method == "fedrcd-x" and not standardised]
    for name, card in METHODS.items():
        if card.scale_free and (name, raw[0], False) in orders:
            same = sum(orders[name, s, False] == orders[name, s, True] for s in raw)
            yield f"- `{name}`: same order on raw and on standardised data in {same} of {len(raw)} data sets"
    for one, other in (("fedrcd-t", "fedrcd-x"), ("fed-direct", LINGAM)):
        both = [(s, std) for method, s, std in orders if method == other and (one, s, std) in orders]
        same = sum(orders[one, s, std] == orders[other, s, std] for s, std in both)
        yield f"- `{one}`: same order as `{other}` in {same} of {len(both)} data sets"


def special_table(results: Sequence[Measurement]) -> Iterator[str]:
    """Accuracy and time of single settings."""
    yield "| method | p | rows in all | data sets | AncAcc, standardised | mean s | most s |"
    yield "|---|---|---|---|---|---|---|"
    groups: dict[tuple[Any, ...], list[Measurement]] = {}
    for result in results:
        key = (result.method, result.setting.p, result.setting.sites * result.setting.rows)
        groups.setdefault(key, []).append(result)
    for (method, p, rows), own in groups.items():
        seconds = [result.seconds for result in own]
        yield f"| {method} | {p} | {rows} | {len(own)} | {_mean(own)} | {np.mean(seconds):.2f} | {max(seconds):.2f} |"


def paper(counts: Counts) -> Iterator[str]:
    """The paper's setting, and orders that must be identical."""
    methods, seeds = [*METHODS, LINGAM], counts.seeds
    settings = [DataSetting(noise=noise, seed=seed) for noise in NOISE_FAMILIES for seed in range(seeds)]
    jobs = [AccuracyJob(setting, methods) for setting in settings]
    jobs += [AccuracyJob(setting, list(METHODS), standardised=True) for setting in settings]
    results = run_all(jobs, "main table")
    yield (
        f"## The paper's setting\n\np = 20, 10 sites of 2000 rows, 11 noise families x {seeds} seeds; AncAcc, mean ± "
        f"standard error. Methods for one table get the pooled rows. `{LINGAM}` was run on raw data only: it "
        "standardises every variable itself, so that its order does not depend on scale.\n"
    )
    yield from main_table(results)
    yield "\n## Orders that must be identical\n"
    yield from identities(results)


def special(counts: Counts) -> Iterator[str]:
    """Fewer rows, more variables, pairs only."""
    yield "## Fewer rows, more variables, pairs only\n"
    special: list[AccuracyJob] = []
    for p, sites, rows, chosen, count in (
        (20, 1, 500, ("fedrcd-s", "fedrcd-se", "direct-lingam"), counts.seeds),
        (20, 1, 2000, ("fedrcd-s", "fedrcd-se", "direct-lingam"), counts.seeds),
        (50, 10, 2000, ("fedrcd-s",), max(1, counts.seeds // 5)),
        (30, 10, 2000, ("fedrcd-sp",), max(1, counts.seeds // 5)),
        (20, 10, 2000, ("fedrcd-sp",), counts.seeds),
    ):
        special += [
            AccuracyJob(
                DataSetting(noise=noise, seed=100 + seed, p=p, sites=sites, rows=rows), chosen, standardised=True
            )
            for noise in NOISE_FAMILIES
            for seed in range(count)
        ]
    yield from special_table(run_all(special, "special settings"))


def regimes(counts: Counts) -> Iterator[str]:
    """Harder regimes."""
    yield (
        f"## Harder regimes\n\n{counts.regime_seeds} data sets each, standardised; see `experiments/tasks/regimes.py`; "
        f"where columns came out collinear, fewer. `{stress.REFERENCE}` stands in for `{LINGAM}`, which was not run "
        "here: their orders are identical ([verification.md](verification.md) counts them, and above those of "
        "`fed-direct`). `se` is what `auto` takes in one process, `s` what it takes between machines.\n"
    )
    seeds = range(3_000, 3_000 + counts.regime_seeds)
    yield from stress.markdown(list(_told(REGIMES, seeds, "harder regimes", SHOWN)), SHOWN)


def named(counts: Counts) -> Iterator[str]:
    """Regimes that break the rules, and two of weak evidence, with many data sets."""
    chosen = [*BROKEN, *(one for one in REGIMES if one.name in WEAK_EVIDENCE)]
    variants = [stress.REFERENCE, "se", "s+, 2 rounds more"]
    yield (
        f"## Data that break the rules\n\n{counts.named_seeds} other data sets each, and two regimes of weak evidence; "
        "AncAcc, and paired differences ± standard error; `s+` climbs for at most two rounds more, without tests.\n"
    )
    lines = list(_told(chosen, range(3_000, 3_000 + counts.named_seeds), "broken rules", variants))
    yield from stress.markdown(lines, variants)


def _told(chosen: Sequence[Regime], seeds: range, what: str, variants: list[str]) -> Iterator[stress.RegimeAccuracy]:
    for number, line in enumerate(stress.stress(chosen, seeds, variants=variants), 1):
        print(f"{what}: {number} of {len(chosen)}", file=sys.stderr, end="\r", flush=True)
        yield line


def published(counts: Counts) -> Iterator[str]:
    """Networks with published coefficients."""
    yield (
        f"## Networks with published linear coefficients\n\n{networks.ROWS} rows, {counts.network_seeds} data sets "
        "each, noise of other families in the place of Gaussian noise. Where the coefficients are from: "
        "`experiments/tasks/published.py`. AncAcc, and paired differences ± standard error.\n"
    )
    yield from networks.section(counts.network_seeds)


def real_rows(counts: Counts) -> Iterator[str]:
    """Real rows."""
    yield (
        f"## Real rows\n\nAncAcc against two published graphs, which contradict each other; in parentheses the middle "
        f"95 % of {counts.resamples} resamples of the cells of each condition. Sets that may not be shipped, such as "
        "the discharges of the Danube (in the R package graphicalExtremes), you can give to "
        "`python -m experiments.pages.real --table ... --known ...`."
    )
    yield from real.section(counts.resamples)


def edge_distances(counts: Counts) -> Iterator[str]:
    """The edges themselves."""
    yield (
        f"## Edges\n\nMean structural Hamming distance to the true graph, {counts.edge_seeds} data sets each. "
        f"`{edges.STAND_IN}` stands in for `{LINGAM}`, whose effects it gives ([verification.md](verification.md)). "
        "The default in one process is `fedrcd-se, guarded`; last its paired differences ± standard error.\n"
    )
    yield from edges.section(counts.edge_seeds)


def doubt(counts: Counts) -> Iterator[str]:
    """What discover says of its own results."""
    yield "## When discover doubts\n"
    yield from doubts.section(counts.doubt_seeds)


def sureness(counts: Counts) -> Iterator[str]:
    """How sure neighbours are, and how often rightly."""
    yield (
        f"## How sure neighbours are\n\n`Discovery.neighbours` of `fedrcd-s` on the valid models above, "
        f"{counts.sure_seeds} of each kind.\n"
    )
    yield from doubts.calibration(counts.sure_seeds)


PARTS: dict[str, Callable[[Counts], Iterator[str]]] = {
    "paper": paper,
    "special": special,
    "regimes": regimes,
    "broken": named,
    "networks": published,
    "real": real_rows,
    "edges": edge_distances,
    "doubts": doubt,
    "neighbours": sureness,
}
MARK = "<!-- part: {} -->"


def merged(before: str, made: Mapping[str, str]) -> str:
    """The page with some parts made anew; those that were not stay as they are."""
    old = dict(re.findall(r"<!-- part: (\w+) -->\n(.*?)(?=\n<!-- part: |\Z)", before, re.DOTALL))
    kept = {name: made.get(name, old.get(name)) for name in PARTS}
    parts = [f"{MARK.format(name)}\n{text.strip()}\n" for name, text in kept.items() if text]
    return "\n".join([HEAD, *parts])


def main() -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, count in Counts._field_defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=count)
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), help="make only these anew")
    parser.add_argument("--out", type=Path, default=Path("docs/accuracy.md"))
    given = parser.parse_args()
    counts = Counts(*(getattr(given, name) for name in Counts._fields))
    text = given.out.read_text(encoding="utf-8") if given.out.exists() else ""
    for name in given.parts or PARTS:
        text = merged(text, {name: "\n".join(PARTS[name](counts))})
        given.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
