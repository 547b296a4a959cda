"""Which contrast of errors orders best, and what to do in doubt; `python -m experiments.pages.contrasts` prints it.

With ten variables every set of predecessors can be tried, so the best of all orders is known for any sum of terms of
single residuals: what is compared are contrasts, not searches for their maximum. The evidence of a residual is the root
of a negentropy: of DirectLiNGAM's entropy, of cumulants, or of the directions of whitened rows, where no row dominates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from experiments.harness.parallel import in_order
from experiments.tasks.regimes import BROKEN, REGIMES, Regime
from fedrcd.data.names import default_names
from fedrcd.errors import StatisticError
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.deflations.directions import Directions
from fedrcd.methods.deflations.tensors import TensorEvidence, Tensors, judged
from fedrcd.methods.examination import ask_residuals
from fedrcd.methods.refinements.entropies import evidence_of
from fedrcd.methods.registry import build
from fedrcd.methods.scores.negentropy import negentropy_of
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.statistics.entropy_sums import entropy_sums
from fedrcd.statistics.residual_maps import residual_map
from fedrcd.statistics.residual_tests import at_least_one, independence, linearity
from fedrcd.typing import Matrix, Vector

SEEDS, FIRST_SEED = 60, 1_000
MOST_VARIABLES = 10
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ("direct-lingam", "fedrcd-s", "fedrcd-se", "fedrcd-r")},
    "fedrcd-s, not refined": ("fedrcd-s", {"refine": "none"}),
}
POWERS = {"entropies, cubic roots": 2 / 3, "entropies, roots": 1.0, "entropies, no roots": 2.0}
NO_PAIRS = np.empty((0, 2), dtype=np.int64)
STRICT = 0.01
DOUBTS = ("doubt of the round", "bent", "uneven", "doubt of checks")


class AllResiduals(NamedTuple):
    """Every variable given every set of others, as maps to unit variance."""

    variables: Vector
    sets: Vector
    maps: Matrix


def all_residuals(S: Matrix) -> AllResiduals:
    """Of variables with a covariance."""
    p = len(S)
    variables: list[int] = []
    sets: list[int] = []
    maps: list[Matrix] = []
    for bits in range((1 << p) - 1):
        R, rest = residual_map(S, tuple(k for k in range(p) if bits >> k & 1))
        variables += rest
        sets += [bits] * len(rest)
        maps.append(R / np.sqrt(np.einsum("ij,jk,ik->i", R, S, R))[:, None])
    return AllResiduals(np.array(variables), np.array(sets), np.concatenate(maps))


def best_order(residuals: AllResiduals, evidence: Vector, p: int) -> list[int]:
    """The order whose residuals have most evidence together, over all orders."""
    terms = np.full((1 << p, p), -np.inf)
    terms[residuals.sets, residuals.variables] = evidence
    best, last = np.full(1 << p, -np.inf), np.zeros(1 << p, dtype=np.int64)
    best[0] = 0.0
    for bits in range(1, 1 << p):
        ends = [v for v in range(p) if bits >> v & 1]
        values = [best[bits ^ (1 << v)] + terms[bits ^ (1 << v), v] for v in ends]
        k = int(np.argmax(values))
        best[bits], last[bits] = values[k], ends[k]
    order, left = [], (1 << p) - 1
    while left:
        order.append(int(last[left]))
        left ^= 1 << order[-1]
    return order[::-1]


class ContrastJob(NamedTuple):
    """One data set."""

    regime: Regime
    seed: int


def accuracies(job: ContrastJob) -> dict[str, float] | None:
    """AncAcc of all orders on one data set, and which doubts are raised; none where columns are collinear."""
    B, X = job.regime.draw(job.seed)
    try:
        orders, doubts = _orders(X)
    except StatisticError:
        return None
    return {name: ancestral_accuracy(order, B) for name, order in orders.items()} | doubts


def _orders(X: Matrix) -> tuple[dict[str, Any], dict[str, float]]:
    p = X.shape[1]
    found = {name: _fitted(X, method, **options) for name, (method, options) in METHODS.items()}
    orders: dict[str, Any] = {method: one.order for method, one in found.items()}
    residuals = all_residuals(X.T @ X / len(X))
    entropies = np.concatenate(
        [
            evidence_of(entropy_sums([X @ maps.T], len(maps), NO_PAIRS, np.empty(0)))
            for maps in np.array_split(residuals.maps, 20)
        ]
    )
    (tensors, cumulants), (_, directions) = (
        _evidence(X, deflation, name) for deflation, name in ((Tensors(), "boundary"), (Directions(), "edgeworth"))
    )
    terms = {name: entropies**power for name, power in POWERS.items()}
    terms |= {
        "cumulants": cumulants,
        "directions": directions,
        "entropies + cumulants": entropies + cumulants,
        "entropies + directions": entropies + directions,
    }
    orders |= {name: best_order(residuals, evidence, p) for name, evidence in terms.items()}
    for name, base in (("climbed", "fedrcd-se"), ("cubic roots", "entropies, cubic roots"), ("s", "fedrcd-s")):
        order = np.array(orders[base])
        doubt = judged(tensors, order)
        orders[f"{name}; in doubt direct-lingam"] = orders["direct-lingam"] if doubt.doubtful else order
        orders[f"{name}; bent fedrcd-r"] = orders["fedrcd-r"] if doubt.of_bent_effects else order
        uneven = "fedrcd-s, not refined" if name == "s" else "direct-lingam"
        orders[f"{name}; uneven {uneven}"] = orders[uneven] if doubt.of_uneven_errors else order
        both = "fedrcd-r" if doubt.of_bent_effects else uneven if doubt.of_uneven_errors else base
        orders[f"{name}; both"] = orders[both]
    climbed = found["fedrcd-se"]
    doubt = judged(tensors, climbed.order)
    doubts = {"doubt of the round": doubt.doubtful, "bent": doubt.of_bent_effects, "uneven": doubt.of_uneven_errors}
    doubts["doubt of checks"] = _checks_doubt(X, climbed)
    return orders, {name: float(raised) for name, raised in doubts.items()}


def _fitted(X: Matrix, method: str, **options: Any) -> Estimate:
    transport = embed([X], default_names(X.shape[1]))
    return run(build(method, **options).rounds(transport.setting), transport)


def _evidence(X: Matrix, deflation: Tensors | Directions, negentropy: Any) -> tuple[TensorEvidence, Vector]:
    """Tensors, and the roots of negentropies of all residuals."""
    transport = embed([X], default_names(X.shape[1]))
    everything, marginals = run(deflation.start(transport.setting), transport)
    tensors = everything.statistic.tensors
    parts = np.array_split(all_residuals(tensors.cov).maps, 20)
    roots = [np.sqrt(negentropy_of(negentropy, *tensors.of_combinations(part), marginals.rows)) for part in parts]
    return everything.statistic, np.concatenate(roots)


def _checks_doubt(X: Matrix, found: Estimate) -> bool:
    """Whether the tests of `check` speak against the errors, or against straight effects, at a strict level."""
    transport = embed([X], default_names(X.shape[1]))
    sums = run(ask_residuals(transport.setting, found.marginals, found.order), transport)
    independent, linear = independence(sums, found.order), linearity(sums, found.order, found.B != 0)
    upper = np.triu(independent.tells, 1)
    edges = (found.B != 0) & linear.tells
    return min(at_least_one(independent.p_values[upper]), at_least_one(linear.p_values[edges])) < STRICT


def section(regimes: Sequence[Regime], seeds: range, processes: int | None = None) -> Iterator[str]:
    """A list by regime: accuracy of DirectLiNGAM, and paired differences to it."""
    jobs = [ContrastJob(regime, seed) for regime in regimes for seed in seeds]

    def say(done: int, total: int) -> None:
        print(f"contrasts: {done} of {total} data sets", file=sys.stderr, end="\r", flush=True)

    results = in_order(accuracies, jobs, processes=processes, progress=say)
    for regime in regimes:
        found = [one for one in islice(results, len(seeds)) if one is not None]
        reference = np.array([one["direct-lingam"] for one in found])
        yield f"\n{regime.name}, {len(found)} data sets: direct-lingam {reference.mean():.3f}\n"
        for name in found[0]:
            values = np.array([one[name] for one in found])
            if name in DOUBTS:
                yield f"- {name}: {values.mean():.2f}"
            elif name != "direct-lingam":
                values = values - reference
                yield f"- {name}: {values.mean():+.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--regimes", default="", help="only those whose names contain one of these, split by ;")
    given = parser.parse_args(arguments)
    more = [replace(one, rows=5_000, name=f"{one.name}, 5000 rows") for one in BROKEN]
    regimes = [one for one in (*BROKEN, *more, *REGIMES) if one.p <= MOST_VARIABLES]
    chosen = dict.fromkeys(one for one in regimes if any(part in one.name for part in given.regimes.split(";")))
    seeds = range(FIRST_SEED, FIRST_SEED + given.seeds)
    for line in section(list(chosen), seeds, given.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
