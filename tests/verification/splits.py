"""The same rows, split over sites in any way, or asked in another number of rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from fedrcd.data import random_model, split_rows
from fedrcd.data.simulate.partition import Part, column_parts, row_parts
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed, in_process
from fedrcd.statistics.entropy_sums import entropy_sums
from fedrcd.typing import IntVector, Matrix
from tests.contracts.federations import blocks_of, some_split
from tests.strategies import estimate, sums_of
from tests.verification.claims import Claim, claims, counted
from tests.verification.data import Data, difference, random_data, told


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
            transport = in_process(blocks_of(X, model.names, parts), model.names)
            split = run(build(method).rounds(transport.setting), transport)
            if int(split.marginals.rows) < 400:
                continue  # some pair was together for part of the rows only: nothing to compare with
            ran += 1
            whole = embed([X], model.names)
            if run(build(method).rounds(whole.setting), whole).order.tolist() != split.order.tolist():
                different.append(f"split {k}")
        result = f"{ran - len(different)} of {ran} that cover all rows identical" + "".join(f"; {d}" for d in different)
        yield Claim(f"{method} over split columns and rows is {method} on the whole table", ran, result, not different)


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
