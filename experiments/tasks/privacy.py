"""Discoveries under noise: what they find, what private baselines find, and what attacks find in what was released."""

from __future__ import annotations

import math
import os
from functools import cache

import numpy as np

from experiments.harness.cells import Row
from fedrcd.confidence.standard_errors import effect_errors
from fedrcd.data.simulate.models import LinearModel, random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.errors import FedrcdError
from fedrcd.evaluation.under_noise import declared_frame, estimate_under_noise
from fedrcd.graphs.metrics import ancestral_accuracy, shd
from fedrcd.methods.deflations.noisy_directions import TENSORS
from fedrcd.methods.registry import build
from fedrcd.methods.weights import refit
from fedrcd.protocol.direction_question import DirectionTensorQuestion
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.noisy_question import NoisyQuestion
from fedrcd.statistics.added_noise import Losses
from fedrcd.statistics.directions import Whitening
from fedrcd.statistics.discrete_gaussian import RandomBytes
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.privacy_loss import epsilon_of, loss_within
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import IntVector, Matrix, Vector

DELTA = 1e-6
NORMAL = 1.959964
"""Standard errors on either side of an interval of 95 %."""

MOST_PARENTS = 6
"""That the Gaussian score search gives to a variable."""

KNOWN = 50_000
"""Rows of the population that an attacker has seen."""

SUSPECTS = 200
"""Rows in the table, and as many that are not, that an attacker is asked about."""

PLAUSIBLE = 3.0
"""Standard deviations within which an attacker guesses."""

FAR = 20.0
"""Standard deviations by which one value of the outlier lies out."""


class _NoisyScene:
    """A model, rows of it, a frame that somebody may have declared, and random bytes that follow from the seed."""

    def __init__(self, noise: str, seed: int, p: int, rows: int, *, standardised: bool = False) -> None:
        rng = np.random.default_rng([seed, NOISE_FAMILIES.index(noise), p, rows, 21])
        self.model: LinearModel = random_model(p, noise=noise, rng=rng)
        X = self.model.sample(rows, rng)
        self.X: Matrix = (X - X.mean(axis=0)) / X.std(axis=0) if standardised else X
        self.scale: Vector = X.std(axis=0) if standardised else np.ones(p)
        self.frame = declared_frame(self.X, rng)
        self.rng = rng

    @property
    def random(self) -> RandomBytes:
        """Bytes for noise."""
        return self.rng.bytes

    @property
    def effects(self) -> Matrix:
        """Those of the variables as they are."""
        B: Matrix = self.model.B * self.scale / self.scale[:, None]
        return B


def discover_under_noise(
    *, noise: str, seed: int, p: int, rows: int, epsilon: float | None, excess: float = 1.0, standardised: bool = False
) -> list[Row]:
    """Accuracy of the order, distance of the graph, and errors and coverage of effects along the true order.

    Without an epsilon the same method without noise; `excess` is how many times the variance that is due was added.
    """
    scene = _NoisyScene(noise, seed, p, rows, standardised=standardised)
    try:
        if epsilon is None:
            transport = embed([scene.X], scene.model.names)
            found = run(build("fedrcd-r").rounds(transport.setting), transport)
        else:
            found = estimate_under_noise(
                scene.X, scene.frame, scene.model.names, epsilon, DELTA, part=excess, random=scene.random
            )
    except FedrcdError:
        return [{"accuracy": 0.0, "shd": None, "error": None, "covered": None, "worth": 0}]
    edges, cov = scene.model.B != 0, found.marginals.cov
    B, se = refit(cov, edges), effect_errors(cov, found.marginals.worth, edges).direct
    off = np.abs(B - scene.effects)[edges]
    return [
        {
            "accuracy": ancestral_accuracy(found.order, scene.model.B),
            "shd": shd(found.B, scene.model.B),
            "error": float(off.mean()) if edges.any() else None,
            "covered": float((off <= NORMAL * se[edges]).mean()) if edges.any() else None,
            "worth": found.marginals.worth,
        }
    ]


def private_baseline(
    *, baseline: str, noise: str, seed: int, p: int, rows: int, epsilon: float, standardised: bool
) -> list[Row]:
    """An order from a covariance with noise: by variance, or by the Gaussian score of whole orders."""
    scene = _NoisyScene(noise, seed, p, rows, standardised=standardised)
    cov = _noisy_covariance(scene, epsilon)
    order = np.argsort(np.diagonal(cov)) if baseline == "variance sort" else _score_search(cov, rows, scene.rng)
    return [{"accuracy": ancestral_accuracy(order.astype(np.int64), scene.model.B)}]


def _noisy_covariance(scene: _NoisyScene, epsilon: float) -> Matrix:
    """Second moments of rows in the frame, clipped to a ball, under Gaussian noise; positive definite again.

    The radius is the median length of rows, which a private release would have to spend on, too.
    """
    z = scene.frame.express(scene.X)
    length = np.linalg.norm(z, axis=1)
    radius = 1.3 * float(np.median(length))
    z = z * np.minimum(1.0, radius / np.maximum(length, 1e-12))[:, None]
    p = z.shape[1]
    noise = np.triu(scene.rng.normal(size=(p, p)), 1) / math.sqrt(2)
    noise = noise + noise.T + np.diag(scene.rng.normal(size=p))
    moments = (z.T @ z + radius**2 / loss_within(epsilon, DELTA) * noise) / len(z)
    values, vectors = np.linalg.eigh(moments)
    positive = (vectors * np.maximum(values, 1e-3 * values.max())) @ vectors.T
    cov: Matrix = positive * np.outer(scene.frame.scale, scene.frame.scale)
    return cov


def _score_search(cov: Matrix, rows: int, rng: np.random.Generator) -> IntVector:
    """Swaps of neighbours, uphill, by the BIC of Gaussian variables (Teyssier and Koller 2005)."""
    p = len(cov)

    @cache
    def score(v: int, before: frozenset[int]) -> float:
        chosen: list[int] = []
        best = rows * math.log(cov[v, v])
        while len(chosen) < MOST_PARENTS:
            tried = [(_residual(cov, v, [*chosen, u]), u) for u in before.difference(chosen)]
            if not tried:
                break
            left, u = min(tried)
            value = rows * math.log(left) + math.log(rows) * (len(chosen) + 1)
            if value >= best:
                break
            best = value
            chosen.append(u)
        return -best

    order = rng.permutation(p).tolist()
    improved = True
    while improved:
        improved = False
        for k in range(p - 1):
            before, (u, v) = frozenset(order[:k]), order[k : k + 2]
            if score(v, before) + score(u, before | {v}) > score(u, before) + score(v, before | {u}) + 1e-9:
                order[k : k + 2], improved = [v, u], True
    return np.array(order)


def _residual(cov: Matrix, v: int, given: list[int]) -> float:
    """Variance of what is left of a variable given others."""
    left = cov[v, v] - cov[given, v] @ np.linalg.solve(cov[np.ix_(given, given)], cov[given, v])
    return max(float(left), 1e-12 * float(cov[v, v]))


def infer_membership(*, noise: str, seed: int, p: int, rows: int, epsilon: float | None) -> list[Row]:
    """AUC of an attacker who knows the population and asks, of what the last round released, who was in the table.

    The whitening is the population's.
    """
    scene = _NoisyScene(noise, seed, p, rows)
    others = scene.model.sample(KNOWN, scene.rng)
    question = _question(scene, others)
    told = _tensor(_released(question, scene.X, epsilon, scene.random), rows) - _expected(question, others)
    inside, outside = (
        np.array([_along(told, one) for one in _directions(question, scene, suspects[:SUSPECTS])])
        for suspects in (scene.X, others)
    )
    return [{"auc": float((inside[:, None] > outside[None]).mean())}]


def rebuild_outlier(*, noise: str, seed: int, p: int, rows: int, epsilon: float | None) -> list[Row]:
    """How far, in standard deviations, the other values of a row that lies far out are from what was guessed.

    Without an epsilon from moments of order 4, as methods without noise release them; with one, from the tensors of
    directions that the last round releases. The attacker knows which value lies out, how far, and the
    covariance of the population.
    """
    scene = _NoisyScene(noise, seed, p, rows, standardised=True)
    scene.X[0, 0] = FAR
    others = scene.model.sample(KNOWN, scene.rng) / scene.scale
    if epsilon is None:
        cubes = scene.X[:, 0] ** 3 @ scene.X - rows / KNOWN * (others[:, 0] ** 3 @ others)
        guess = cubes * FAR / cubes[0]
    else:
        question = _question(scene, others)
        told = _tensor(_released(question, scene.X, epsilon, scene.random), rows) - _expected(question, others)
        back = np.linalg.inv(question.whitening.matrix) * scene.frame.scale[:, None]
        pairs = pair_index(p)
        towards = question.whitening.matrix[:, 0] / np.linalg.norm(question.whitening.matrix[:, 0])
        squares = np.where(pairs.first == pairs.second, 1.0, 2.0) * towards[pairs.first] * towards[pairs.second]
        seen = (told @ squares)[pairs.number] @ towards
        guess = back @ seen
        guess = guess * FAR / guess[0] if abs(guess[0]) > 1e-9 else np.zeros(p)
    off = np.abs(np.clip(guess, -PLAUSIBLE, PLAUSIBLE) - scene.X[0])[1:]
    return [{"off": float(np.median(off))}]


def yearly(*, noise: str, seed: int, p: int, rows: int, epsilon: float, years: int) -> list[Row]:
    """One of several yearly discoveries that add up to an epsilon."""
    each = epsilon_of(loss_within(epsilon, DELTA) / math.sqrt(years), DELTA)
    [found] = discover_under_noise(noise=noise, seed=seed, p=p, rows=rows, epsilon=each)
    return [{"accuracy": found["accuracy"], "each": each}]


def _question(scene: _NoisyScene, others: Matrix) -> DirectionTensorQuestion:
    """Asks for tensors of directions under the whitening of the population."""
    grid = ARITHMETIC["exact"]
    z = scene.frame.express(others.copy())
    values, vectors = np.linalg.eigh(np.cov(z.T))
    whitening = Whitening(z.mean(axis=0), (vectors / np.sqrt(values)) @ vectors.T).on_grid(grid)
    return DirectionTensorQuestion(scene.model.names, scene.frame, whitening, grid)


def _released(question: DirectionTensorQuestion, X: Matrix, epsilon: float | None, random: RandomBytes) -> TensorSums:
    """The tensor sums that leave, in float64."""
    sums = question.answer([Frame.express(question.frame, X.copy())])
    if epsilon is None:
        whole: TensorSums = sums.floats()  # type: ignore[assignment]
        return whole
    loss = loss_within(epsilon, DELTA)
    losses = Losses({degree: loss * math.sqrt(share) for degree, share in TENSORS.items()})
    noisy: TensorSums = NoisyQuestion(question, losses).noised(sums, random).floats().of_tensors(len(X))  # type: ignore[union-attr]
    return noisy


def _expected(question: DirectionTensorQuestion, others: Matrix) -> Matrix:
    """The tensor of the population, as far as it is known."""
    return _tensor(_released(question, others, None, os.urandom), len(others))


def _tensor(sums: TensorSums, rows: int) -> Matrix:
    """Means of products of four directions, by pairs of pairs."""
    p = sums.p
    inner = pair_index(p + 1).number[1:, 1:][np.triu_indices(p)]
    means = sums.moments() / rows
    tensor: Matrix = means[np.ix_(inner, inner)]
    return tensor


def _directions(question: DirectionTensorQuestion, scene: _NoisyScene, rows: Matrix) -> Matrix:
    """Directions of rows under a whitening."""
    w = question.whitening.of_rows(scene.frame.express(rows.copy())).T
    points: Matrix = w / np.linalg.norm(w, axis=1, keepdims=True)
    return points


def _along(tensor: Matrix, direction: Vector) -> float:
    """The tensor in one direction, all four factors."""
    i, j = np.triu_indices(len(direction))
    pairs = np.where(i == j, 1.0, 2.0) * direction[i] * direction[j]
    return float(pairs @ tensor @ pairs)
