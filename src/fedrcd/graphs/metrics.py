"""How close an order or a graph is to the truth, and how much of it a simple sort would find."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fedrcd.errors import StatisticError
from fedrcd.graphs.dag import ancestry
from fedrcd.typing import BoolMatrix, IntMatrix, IntVector, Matrix, Vector


def ancestral_accuracy(order: Sequence[int] | IntVector, B: Matrix | BoolMatrix) -> float:
    r"""Share of the true ancestral relations that an order respects  [P, Def. 1].

    .. math:: \frac{|\{(j, i) : j \in \mathrm{An}(i),\ j \prec i\}|}{|\{(j, i) : j \in \mathrm{An}(i)\}|}

    Pairs without an ancestral relation do not count, so every valid order scores 1. For a graph without edges
    the definition reads 0 / 0; every order of it is valid, so it scores 1 too, and means over random graphs
    stay defined.

    Parameters
    ----------
    order : (p,) sequence of int
        The estimated order, roots first.
    B : (p, p) array
        The true graph, ``B[i, j] != 0`` iff j -> i.
    """
    relations = ancestry(B)
    if not relations.any():
        return 1.0
    position = np.argsort(order)
    cause_first = position[np.newaxis, :] < position[:, np.newaxis]
    return float(cause_first[relations].mean())


def shd(estimate: Matrix | BoolMatrix, truth: Matrix | BoolMatrix) -> int:
    """Structural Hamming distance: pairs of variables joined differently in two graphs.

    An additional, a missing and a reversed edge count 1 each. Only the pattern of non-zeros matters.

    Parameters
    ----------
    estimate, truth : (p, p) array
        Weights or booleans, ``[i, j] != 0`` iff j -> i.
    """
    differs = (estimate != 0) != (truth != 0)
    return int(np.triu(differs | differs.T, k=1).sum())


def varsortability(variances: Vector, B: Matrix | BoolMatrix, *, tolerance: float = 0.0) -> float:
    r"""Share of directed paths along which the variance grows, equal variances counting one half.

    .. math:: \frac{\sum_k \sum_{j \to_k i} [v_j < v_i] + \tfrac12 [v_j = v_i]}{\sum_k \sum_{j \to_k i} 1}

    where :math:`j \to_k i` says that some path from j to i has k edges; a pair counts once for every such
    length (Reisach, Seiler and Weichwald 2021, Section 3.1). One means that sorting by variance is a causal
    order, one half that variance says nothing, which is also the answer for a graph without edges.

    Parameters
    ----------
    variances : (p,) array
        Marginal variances, the v above.
    B : (p, p) array
        The true graph, ``B[i, j] != 0`` iff j -> i.
    tolerance : float
        Variances at most this far apart count as equal.
    """
    return _path_agreement(np.asarray(variances), B, tolerance)


def r2_sortability(cov: Matrix, B: Matrix | BoolMatrix, *, tolerance: float = 0.0) -> float:
    r"""Share of directed paths along which the explained share of variance grows.

    As :func:`varsortability`, with the coefficients of determination of each variable given all others,
    :math:`R^2_j = 1 - 1 / (C^{-1})_{jj}` for the correlation matrix C, in place of variances (Reisach, Tami,
    Seiler, Chambaz and Weichwald 2023, Equation 3). It does not change when variables are rescaled.

    Parameters
    ----------
    cov : (p, p) array
        Covariance matrix.
    B : (p, p) array
        The true graph, ``B[i, j] != 0`` iff j -> i.
    tolerance : float
        Coefficients at most this far apart count as equal.

    Raises
    ------
    StatisticError
        When the covariance matrix is singular: some variables are linear functions of others.
    """
    return _path_agreement(_coefficients_of_determination(cov), B, tolerance)


def order_agreement(order: Sequence[int] | IntVector, scores: npt.ArrayLike) -> float:
    """Share of pairs placed alike by `order` and by ascending `scores`; ties count one half.

    With the marginal variances as scores: how much of an order a plain variance sort explains. A single
    variable has no pairs and agrees with itself: 1.

    Parameters
    ----------
    order : (p,) sequence of int
        Variables, roots first.
    scores : (p,) array
        One number per variable.

    Examples
    --------
    >>> order_agreement([2, 0, 1], [5.0, 9.0, 1.0])
    1.0
    """
    along = np.asarray(scores, dtype=np.float64)[np.asarray(order)]
    if len(along) < 2:
        return 1.0
    earlier, later = np.triu_indices(len(along), k=1)
    return float(_ascent(along[earlier], along[later]).mean())


def _path_agreement(scores: Vector, B: Matrix | BoolMatrix, tolerance: float) -> float:
    """Mean ascent of the scores from the start to the end of the paths of B."""
    paths = _path_lengths(B != 0)
    if not paths.any():
        return 0.5
    ascent = _ascent(scores[np.newaxis, :], scores[:, np.newaxis], tolerance)
    return float((paths * ascent).sum() / paths.sum())


def _path_lengths(edges: BoolMatrix) -> IntMatrix:
    """Entry [i, j]: how many different lengths, at most p - 1, the paths from j to i have."""
    lengths = np.zeros(edges.shape, dtype=np.int64)
    ends = edges
    for _ in range(len(edges) - 1):
        lengths += ends
        ends = ends @ edges
    return lengths


def _ascent(start: Vector, end: Vector, tolerance: float = 0.0) -> Vector:
    """1 where the end is larger than the start, 1/2 where they are equal, 0 where it is smaller."""
    step = end - start
    return (step > tolerance) + 0.5 * (np.abs(step) <= tolerance)


def _coefficients_of_determination(cov: Matrix) -> Vector:
    """R² of each variable given all others; (C^-1)_jj sums column j of L^-1 squared, C = L L'."""
    from scipy.linalg import solve_triangular

    sd = np.sqrt(np.diagonal(cov))
    try:
        factor = np.linalg.cholesky(cov / np.outer(sd, sd))
    except np.linalg.LinAlgError:
        raise StatisticError(
            "the covariance matrix is singular: a variable is a linear function of others; leave it out"
        ) from None
    inverse = solve_triangular(factor, np.eye(len(cov)), lower=True)
    r2: Vector = 1.0 - 1.0 / np.sum(inverse**2, axis=0)
    return r2
