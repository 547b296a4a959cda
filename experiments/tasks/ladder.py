"""What the row sums of the paper's scores line up with, and how far algebraic deflation drifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.harness.cells import Row
from fedrcd.evaluation.evaluate import DataSetting
from fedrcd.graphs.dag import topological_order
from fedrcd.methods.deflations.algebraic import deflate
from fedrcd.methods.scores.tau import tau3, tau4
from fedrcd.protocol.changed_units import scaled_by_sd
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.pair_cumulants import PairCumulants, pair_cumulants
from fedrcd.statistics.tensor_cumulants import TensorCumulants, tensor_cumulants
from fedrcd.typing import Matrix, Vector


def ladder(*, scaling: float, **data: Any) -> list[Row]:
    """Spearman correlations of row sums with depth and variance, and slopes of log|cumulant| on log sd.

    Variances are those of raw data whatever the scaling: on standardised data they are the ladder that was there.
    """
    model, tables = DataSetting(**data).draw()
    raw = embed(tables, model.names)
    transport = scaled_by_sd(raw, scaling)
    question = PairQuestion(transport.setting.variables, transport.setting.frame, 4)
    cumulants = pair_cumulants(transport.pool(question), transport.setting.frame)
    variance = np.concatenate(tables).var(axis=0)
    row: Row = {}
    for name, score in (("tau3", tau3), ("tau4", tau4)):
        sums = -score(cumulants)
        row[f"{name}_depth"] = _spearman(sums, depths(model.B))
        row[f"{name}_variance"] = _spearman(sums, variance)
    if scaling == 0:
        for name, values in (("k3", cumulants.k3), ("k4", cumulants.k4)):
            row[f"{name}_slope"] = float(np.polyfit(np.log(variance) / 2, np.log(np.abs(values[:, 0])), 1)[0])
    return [row]


def depths(B: Matrix) -> Vector:
    """Edges of the longest path that ends in each variable, shape (p,)."""
    depth = np.zeros(len(B))
    for variable in topological_order(B):
        causes = np.flatnonzero(B[variable])
        if len(causes):
            depth[variable] = 1 + depth[causes].max()
    return depth


def _spearman(one: Vector, other: Vector) -> float:
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    from scipy.stats import spearmanr  # a second of imports, for one experiment

    return float(spearmanr(one, other).statistic)


def drift(**data: Any) -> list[Row]:
    """Relative error of Def's cumulants against those of actual residuals, step by step along a true order.

    `compounded` follows Def: every update starts from the one before. `single` starts every update from the cumulants
    of actual residuals. `decision` says whether both would take the same source.
    """
    model, tables = DataSetting(**data).draw()
    transport = embed(tables, model.names)
    question = TensorQuestion(transport.setting.variables, transport.setting.frame)
    exact = tensor_cumulants(transport.pool(question), transport.setting.frame)
    variables = list(range(exact.p))
    algebraic = exact.pairs()
    rows: list[Row] = []
    for step, source in enumerate(topological_order(model.B)[:-2].tolist(), 1):
        at = variables.index(source)
        variables.remove(source)
        single = _without(exact.pairs(), at)
        algebraic = _without(algebraic, at)
        exact = exact.remove(at)
        rows.append(
            {
                "step": step,
                "compounded": _error(algebraic, exact),
                "single": _error(single, exact),
                "decision": bool(np.argmax(tau4(algebraic)) == np.argmax(tau4(exact.pairs()))),
            }
        )
    return rows


def _without(k: PairCumulants, at: int) -> PairCumulants:
    """Cumulants after one algebraic step, as FedRCD-Def makes it."""
    rest: Sequence[int] = [j for j in range(k.p) if j != at]
    return deflate(k, at, "printed").keep(rest)


def _error(k: PairCumulants, exact: TensorCumulants) -> float:
    """Distance of the arrays that the fourth-order score reads, as a share of their size, in units of each residual."""
    true = exact.pairs()
    unit = 1 / np.sqrt(np.diagonal(true.cov))
    ours, theirs = k.scaled(unit), true.scaled(unit)
    gap = sum(float(np.sum((a - b) ** 2)) for a, b in ((ours.k13, theirs.k13), (ours.k22, theirs.k22)))
    size = sum(float(np.sum(b**2)) for b in (theirs.k13, theirs.k22))
    return float(np.sqrt(gap / size))
