"""The large counts behind the tests: `python -m tests.verification` writes docs/verification.md.

A claim is a function under `@claims` that takes its seed and yields what is claimed, over how many cases, what came
out and whether that is what was claimed. To add one, write one. Needs `lingam` and `CausalDisco` beside the package.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedrcd import __version__
from fedrcd.data import NOISE_FAMILIES, LinearModel, random_model, split_rows
from fedrcd.data.names import default_names
from fedrcd.data.partition import Part, column_parts, row_parts
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.graphs import ancestral_accuracy, is_valid_order, r2_sortability, varsortability
from fedrcd.methods.registry import METHODS, build
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.protocol.embedded import embed, embed_blocks
from fedrcd.statistics.entropy_sums import entropy_sums
from fedrcd.typing import IntVector, Matrix
from tests.contracts.federations import blocks_of, some_split
from tests.federation.crashes import crashed, problems_after, secrets_of
from tests.federation.histories import live
from tests.knowledge import consistent_knowledge
from tests.strategies import estimate, population, sums_of

TARGET = Path(__file__).parents[1] / "docs" / "verification.md"
COMMAND = "python -m tests.verification"
PACKAGES = ("numpy", "scipy", "scikit-learn", "lingam", "CausalDisco")


class Claim(NamedTuple):
    """What is claimed, over how many cases, what came out, and whether the claim holds."""

    claim: str
    count: int
    result: str
    holds: bool


Verify = Callable[[int], Iterator[Claim]]
CLAIMS: list[tuple[Verify, int]] = []


def claims(seed: int) -> Callable[[Verify], Verify]:
    """Enter a function that yields claims, with the seed it is given."""

    def enter(verify: Verify) -> Verify:
        CLAIMS.append((verify, seed))
        return verify

    return enter


class Data(NamedTuple):
    """Rows of a random model, with what is needed to tell which they are."""

    model: LinearModel
    X: Matrix
    label: str
    rng: np.random.Generator


def random_data(seed: int, k: int) -> Data:
    """Data set k: families and sizes take turns, p from 4 to 12, n from 300 to 1000."""
    rng = np.random.default_rng([seed, k])
    noise, p, n = NOISE_FAMILIES[k % len(NOISE_FAMILIES)], 4 + k % 9, int(rng.integers(300, 1001))
    model = random_model(p, noise=noise, density=0.5, rng=rng)
    return Data(model, model.sample(n, rng), f"data set {k} ({noise}, p = {p}, n = {n})", rng)


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


def difference(data: Data, ours: Estimate, theirs: list[int]) -> str:
    """Where two orders part, and by what margin we decided there."""
    step = next(k for k, (i, j) in enumerate(zip(ours.order, theirs, strict=True)) if i != j)
    names = default_names(len(theirs))
    margin = ours.steps[step].margin if step < len(ours.steps) else 0.0
    kind = "a tie" if margin == 0 else f"margin {margin:.1e}"
    return f"{data.label}, step {step + 1}: {names[ours.order[step]]} instead of {names[theirs[step]]}, {kind}"


def told(differences: list[str], count: int) -> str:
    """A result that lists every case that differs."""
    return f"{count - len(differences)} identical" + "".join(f"; differs: {each}" for each in differences)


@claims(seed=1)
def direct_lingam_is_lingam(seed: int) -> Iterator[Claim]:
    """Orders of direct-lingam and of fed-direct against lingam's, and effects by BIC."""
    for method, sites, count in (("direct-lingam", 1, 60), ("fed-direct", 3, 200)):
        differences, largest = [], 0.0
        for k in counted(range(count), method):
            data = random_data(seed, k)
            parts = [data.X[part] for part in split_rows(len(data.X), sites, rng=data.rng)]
            ours, theirs = estimate(method, parts, weights="bic"), lingam_fit(seed, k)
            if ours.order.tolist() != theirs.order:
                differences.append(difference(data, ours, theirs.order))
            else:
                largest = max(largest, float(np.abs(ours.B - theirs.B).max()))
        over = f" over {sites} sites" if sites > 1 else ""
        yield Claim(
            f"{method}{over} gives the order of lingam.DirectLiNGAM", count, told(differences, count), not differences
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


@claims(seed=3)
def pooled_is_stacked(seed: int) -> Iterator[Claim]:
    """Federated methods on random splits against the same rows in one table."""
    pairs = {"fedrcd-ni": "hc-lingam", "fedrcd-x": "hc", "fed-direct": "direct-lingam"}
    for federated, central in pairs.items():
        differences, largest = [], 0.0
        for k in counted(range(100), federated):
            data = random_data(seed, k)
            sites = int(data.rng.integers(2, 11))
            parts = [data.X[part] for part in random_split(data, sites, k)]
            split, whole = estimate(federated, parts), estimate(central, [data.X])
            if split.order.tolist() != whole.order.tolist():
                differences.append(difference(data, split, whole.order.tolist()))
            else:
                largest = max(largest, float(np.abs(split.B - whole.B).max()))
        result = f"{told(differences, 100)}; largest difference of effects {largest:.1e}"
        holds = not differences and largest < 1e-8
        yield Claim(f"{federated} over 2 to 10 sites is {central} on the stacked rows", 100, result, holds)


def random_split(data: Data, sites: int, k: int) -> list[IntVector]:
    """Rows of every site, by the three schemes in turn."""
    scheme = ("iid", "unequal", "sorted")[k % 3]
    by = data.X[:, 0] if scheme == "sorted" else None
    return split_rows(len(data.X), sites, scheme=scheme, by=by, rng=data.rng)


@claims(seed=4)
def one_round_is_many(seed: int) -> Iterator[Claim]:
    """Exact deflation at the coordinator against fresh residuals at the sites."""
    for one, options, many in (("fedrcd-t", {}, "fedrcd-x"), ("fedrcd-s", {"refine": "none"}, "fedrcd-sx")):
        differences = []
        for k in counted(range(100), one):
            data = random_data(seed, k)
            ours, theirs = estimate(one, [data.X], **options), estimate(many, [data.X])
            if ours.order.tolist() != theirs.order.tolist():
                differences.append(difference(data, ours, theirs.order.tolist()))
        yield Claim(
            f"{one}{' without refinement' * bool(options)} gives the order of {many} in one round",
            100,
            told(differences, 100),
            not differences,
        )


def in_population(method: str, model: LinearModel, *, standardised: bool) -> IntVector:
    """Order of a method that is answered by the population itself."""
    oracle = population(model, standardised=standardised)
    return run(build(method, weights="none").rounds(oracle.setting), oracle).order


@claims(seed=5)
def deflating_methods_are_right_in_population(seed: int) -> Iterator[Claim]:
    """Methods with exact deflation on the population of random models of all families, raw and standardised."""
    for method in ("fedrcd-x", "fedrcd-t", "fedrcd-s", "fedrcd-sx"):
        for standardised in (False, True):
            wrong = []
            for k in counted(range(200), f"population of {method}"):
                data = random_data(seed, k)
                if not is_valid_order(in_population(method, data.model, standardised=standardised), data.model.B):
                    wrong.append(data.label)
            scale = "standardised" if standardised else "raw"
            result = f"{200 - len(wrong)} valid" + "".join(f"; wrong: {each}" for each in wrong)
            yield Claim(f"{method} finds a valid order of the population, {scale}", 200, result, not wrong)


def covering_split(coverage: str, k: int, rng: np.random.Generator, names: tuple[str, ...]) -> list[Part]:
    """A random split of 400 rows that covers what is needed: pairs, or else all columns at one site of every row."""
    if coverage == "pairs":
        return some_split(rng, 400, names)
    if k % 2 == 0:
        return row_parts(split_rows(400, 1 + k % 7, rng=rng), names)
    columns = [part.columns for part in some_split(rng, 400, names)]
    return column_parts(400, [*columns, names])  # one site with everything, after others with parts of it


@claims(seed=9)
def splits_of_columns_are_exact(seed: int) -> Iterator[Claim]:
    """Orders over random horizontal, vertical, hybrid and overlapping splits, against the whole table."""
    for method, card in METHODS.items():
        if card.one_table:
            continue
        different, ran = [], 0
        for k in counted(range(240), f"splits of {method}"):
            rng = np.random.default_rng([seed, k])
            model = random_model(5, noise="gamma", density=0.4, rng=rng)
            X = model.sample(400, rng)
            parts = covering_split(card.coverage, k, rng, model.names)
            transport = embed_blocks(blocks_of(X, model.names, parts), model.names)
            split = run(build(method).rounds(transport.setting), transport)
            if int(split.marginals.rows) < 400:
                continue  # some pair was together for part of the rows only: nothing to compare with
            ran += 1
            whole = embed([X], model.names)
            if run(build(method).rounds(whole.setting), whole).order.tolist() != split.order.tolist():
                different.append(f"split {k}")
        result = f"{ran - len(different)} of {ran} that cover all rows identical" + "".join(f"; {d}" for d in different)
        yield Claim(f"{method} over split columns and rows is {method} on the whole table", ran, result, not different)


@claims(seed=6)
def sorting_once_is_not_enough_in_population(seed: int) -> Iterator[Claim]:
    """Ancestral accuracy that methods without deflation reach with infinitely many rows."""
    models = [random_model(20, noise="exponential", rng=np.random.default_rng([seed, k])) for k in range(80)]
    for method in ("fedrcd-ni", "fedhc"):
        for standardised in (False, True):
            accuracy = [
                ancestral_accuracy(in_population(method, model, standardised=standardised), model.B)
                for model in counted(models, f"population of {method}")
            ]
            scale = "standardised" if standardised else "raw"
            result = f"mean {np.mean(accuracy):.3f}, exactly 1 in {sum(a == 1 for a in accuracy)}"
            yield Claim(
                f"{method} does not reach AncAcc 1 in the population (p = 20, density 0.2, exponential), {scale}",
                len(models),
                result,
                bool(np.mean(accuracy) < 1),
            )


@claims(seed=7)
def sums_add_and_subtract(seed: int) -> Iterator[Claim]:
    """`+` pools rows and `-` undoes it, relative to the largest sum of each power."""
    no_pairs = np.empty((0, 2), dtype=np.int64)
    kinds: dict[str, tuple[Callable[[Matrix], Any], Callable[[Any], Iterable[Matrix]]]] = {
        "pair sums": (sums_of, lambda sums: sums.sums.values()),
        "entropy sums": (
            lambda X: entropy_sums([X], X.shape[1], no_pairs, np.empty(0)),
            lambda sums: (sums.log_cosh, sums.gauss),
        ),
    }
    for name, (summed, arrays) in kinds.items():
        worst = {"stacked": 0.0, "back": 0.0}
        for k in counted(range(500), name):
            rng = np.random.default_rng([seed, k])
            X = rng.standard_t(3, size=(int(rng.integers(2, 200)), int(rng.integers(1, 7))))
            a, b = (summed(part) for part in np.split(X, [int(rng.integers(1, len(X)))]))
            whole = summed(X)
            for key, left, right in (("stacked", a + b, whole), ("back", (a + b) - b, a)):
                worst[key] = max(worst[key], relative(arrays(left), arrays(right), arrays(whole)))
        for key, what in (("stacked", "`+` gives the sums of stacked rows"), ("back", "`-` undoes `+`")):
            yield Claim(f"{what} ({name})", 500, f"largest relative difference {worst[key]:.1e}", worst[key] < 1e-12)


def relative(left: Iterable[Matrix], right: Iterable[Matrix], whole: Iterable[Matrix]) -> float:
    """Largest difference of arrays, each relative to the largest entry of the whole."""
    differences = [np.abs(x - y).max() / np.abs(w).max() for x, y, w in zip(left, right, whole, strict=True)]
    return float(max(differences))


@claims(seed=61)
def lives_leave_no_trace(seed: int) -> Iterator[Claim]:
    """Random histories of a federation against fresh ones of what remains, to the bit."""
    differences: dict[str, list[int]] = {"states": [], "orders": [], "weights": [], "runs": [], "records": []}
    entries, count = 0, 1000
    for k in counted(range(count), "histories"):
        with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
            ending = live(Path(folder), seed * count + k)
        entries += ending.entries
        outcomes = (ending.lived == ending.fresh, ending.orders, ending.weights, ending.embedded, ending.sound)
        for differs, same in zip(differences.values(), outcomes, strict=True):
            if not same:
                differs.append(k)
    words = {
        "states": "the state digest after a random life (join, grow, replace, erase, leave; 5 sites, p = 8; float64, "
        "float32, int and Parquet tables; 1 and 2 threads; rows and sites in another order) is that of a fresh start",
        "orders": "so are the orders of fedrcd-s and fedrcd-ni",
        "weights": "so are their effects, to the bit",
        "runs": "and those of a run over the sites without any ledger",
        "records": "every record of the ledger verifies afterwards",
    }
    for name, claim in words.items():
        differs = differences[name]
        result = f"{count - len(differs)} of {count} identical" + "".join(f"; differs: history {k}" for k in differs)
        yield Claim(claim, count, result, not differs)
    yield Claim("entries written in these histories", entries, "all verified", not differences["records"])


@claims(seed=62)
def crashes_lose_nothing(seed: int) -> Iterator[Claim]:
    """Kill -9, torn writes and a full disk at every write point of ledger and site logs."""
    with tempfile.TemporaryDirectory(dir=fast_folder()) as name:
        folder = Path(name)
        whole, *reports = crashed(folder, "--all")
        old = secrets_of(folder / "start")
        with Ledger.open(Path(whole["folder"]) / "ledger.db") as ledger:
            final = ledger.state_id
        for mode, words in (("kill", "killed before"), ("tear", "killed in the middle of"), ("full", "disk full from")):
            tried = [report for report in reports if report["mode"] == mode]
            problems = [problem for report in tried for problem in problems_after(report, final, old)]
            result = f"{len(problems)} problems" + "".join(f"; {problem}" for problem in problems)
            claim = f"{words} any write: nothing acknowledged is lost, old bytes are gone, the work goes on"
            yield Claim(claim, len(tried), result, not problems and len(tried) == whole["writes"])


def fast_folder() -> str | None:
    """Where many small files are written quickly, if there is such a place."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@claims(seed=91)
def prior_knowledge_is_kept(seed: int) -> Iterator[Claim]:
    """Random statements, true or not, over all methods and selections."""
    broken, count, names = [], 2000, list(METHODS)
    for k in counted(range(count), "prior knowledge"):
        rng = np.random.default_rng([seed, k])
        model = random_model(4 + k % 6, noise="gamma", density=0.5, rng=rng)
        known, constraints = consistent_knowledge(model.names, rng)
        method = names[k % len(names)]
        transport = embed(np.array_split(model.sample(300, rng), 2), model.names, stack=METHODS[method].one_table)
        parts = build(method, weights=("adaptive-lasso", "bic", "none")[k // len(names) % 3])
        found = run(parts.rounds(replace(transport.setting, constraints=constraints)), transport)
        told = known.violations(found.B, [model.names[i] for i in found.order], model.names)
        if told or not is_valid_order(found.order, found.B):
            broken.append(f"run {k} ({method}): {told}")
    result = f"{len(broken)} violated" + "".join(f"; {each}" for each in broken)
    yield Claim("prior knowledge is kept in order and weights, over all methods", count, result, not broken)


def counted(items: Iterable[Any], label: str) -> Iterator[Any]:
    """The items, with a line that counts them."""
    listed = list(items)
    for k, item in enumerate(listed, start=1):
        print(f"\r{label}: {k} of {len(listed)} ", end="", flush=True)
        yield item
    print(end="\r\x1b[K")


def written(rows: list[tuple[Claim, int]]) -> str:
    """The report as Markdown."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    held = sum(claim.holds for claim, _ in rows)
    head = [
        "# Verification",
        "",
        f"Written by `{COMMAND}` (`make verify`); do not edit. fedrcd {__version__}, Python "
        f"{platform.python_version()}, {versions}.",
        "",
        f"{held} of {len(rows)} claims hold. A seed and the number of a data set determine its rows.",
        "",
        "| claim | cases | result | holds | seed |",
        "|---|---:|---|---|---:|",
    ]
    table = [f"| {c.claim} | {c.count} | {c.result} | {'yes' if c.holds else 'NO'} | {seed} |" for c, seed in rows]
    return "\n".join([*head, *table, ""])


def main() -> int:
    """Verify all claims, write the report; 1 if one does not hold."""
    warnings.simplefilter("ignore")  # of lingam's dependencies
    rows = []
    for verify, seed in CLAIMS:
        for claim in verify(seed):
            print(f"{'holds' if claim.holds else 'FAILS'}: {claim.claim} ({claim.count}): {claim.result}", flush=True)
            rows.append((claim, seed))
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(written(rows), encoding="utf-8")
    print(f"wrote docs/{TARGET.name}")
    return int(not all(claim.holds for claim, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
