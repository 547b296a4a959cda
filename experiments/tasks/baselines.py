"""What people would take instead, through its own packages where there are any.

They come with the `reference` extra. Each gets the tables of all sites stacked, except the one that is made for several
tables. A method that returns a graph without an order is given one that the graph allows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedrcd.graphs.dag import topological_order
from fedrcd.typing import IntVector, Matrix


class Fitted(NamedTuple):
    """The order, roots first, and the effects B[i, j] of j on i."""

    order: IntVector
    B: Matrix


class Baseline(NamedTuple):
    """How to fit it, the package it needs, and whether it is too slow for every data set."""

    fit: Callable[[Sequence[Matrix]], Fitted]
    package: str = ""
    slow: bool = False


def _lingam(name: str, **options: Any) -> Callable[[Sequence[Matrix]], Fitted]:
    """A model of the `lingam` package on the stacked rows."""

    def fit(tables: Sequence[Matrix]) -> Fitted:
        import lingam

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the package's own dependencies
            model = getattr(lingam, name)(**options).fit(np.concatenate(tables))
        return Fitted(np.array(model.causal_order_), np.nan_to_num(model.adjacency_matrix_))

    return fit


def _multi_group(tables: Sequence[Matrix]) -> Fitted:
    """One order for several tables; effects are those of the mean over tables."""
    import lingam

    model = lingam.MultiGroupDirectLiNGAM().fit(list(tables))
    return Fitted(np.array(model.causal_order_), np.mean(model.adjacency_matrices_, axis=0))


def _sort_regress(name: str) -> Callable[[Sequence[Matrix]], Fitted]:
    """A sort-and-regress baseline of CausalDisco."""

    def fit(tables: Sequence[Matrix]) -> Fitted:
        from CausalDisco import analytics, baselines

        X = np.concatenate(tables)
        scores = np.var(X, axis=0) if name == "var_sort_regress" else analytics.r2coeff(X.T)
        return Fitted(np.argsort(scores), getattr(baselines, name)(X).T)

    return fit


def _notears(tables: Sequence[Matrix]) -> Fitted:
    from experiments.tasks.notears import notears

    B = notears(np.cov(np.concatenate(tables), rowvar=False, ddof=0))
    return Fitted(topological_order(B), B)


BASELINES: dict[str, Baseline] = {
    "lingam.DirectLiNGAM": Baseline(_lingam("DirectLiNGAM"), "lingam", slow=True),
    "lingam.DirectLiNGAM, kernel": Baseline(_lingam("DirectLiNGAM", measure="kernel"), "lingam", slow=True),
    "lingam.ICALiNGAM": Baseline(_lingam("ICALiNGAM", random_state=0), "lingam"),
    "lingam.MultiGroupDirectLiNGAM": Baseline(_multi_group, "lingam", slow=True),
    "variance sort": Baseline(_sort_regress("var_sort_regress"), "CausalDisco"),
    "R2 sort": Baseline(_sort_regress("r2_sort_regress"), "CausalDisco"),
    "NOTEARS": Baseline(_notears, slow=True),
}

NOT_HAD = (
    "NOTEARS has no light package: the original is not on PyPI, gCastle 1.0 and DAGMA 1.1 import PyTorch. Its rows "
    "come from `experiments/notears.py`, which reads the pooled covariance and is thereby federated exactly. No "
    "maintained package offers NOTEARS-ADMM or a FedAvg-style linear method."
)
