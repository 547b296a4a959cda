"""An auditor who knows the table: right noise passes, and every planted mistake is found."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fedrcd.methods.deflations import noisy_directions
from fedrcd.methods.registry import build
from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.noisy_question import NoisyQuestion
from fedrcd.statistics import added_noise
from fedrcd.statistics.added_noise import Losses, sensitivity, with_noise
from fedrcd.statistics.directions import SPHERE, Whitening
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.limbs import PLANE
from fedrcd.statistics.noisy_sums import NoisySums
from fedrcd.statistics.packed_tensor import packed_degrees
from fedrcd.statistics.privacy_loss import composed, epsilon_of

P, GRID = 8, Grid(21, 64)
LOSSES = Losses({2: 0.3, 3: 0.3, 4: 0.3})
ROWS = np.random.default_rng(0).normal(size=(60, P))
START = Whitening.of_frame(Frame.identity(P)).on_grid(GRID)
NAMES = tuple(f"x{j}" for j in range(P))
STANDARD_ERRORS = 4.5
TIMES = 25
"""In `make verify` a hundred."""


def release(rows, losses=LOSSES):
    """What leaves: through the module, so that what is planted there is met."""
    return NoisyQuestion(DirectionTensorQuestion(NAMES, Frame.identity(P), START, GRID), losses).answer([rows.copy()])


def numbers(sums):
    """All whole numbers that left, degree after degree."""
    low, high = (np.concatenate(list(plane.arrays().values())) for plane in sums.planes)
    return low + high * 2**PLANE


def exactly(rows):
    """What would leave without noise, in the same order."""
    sums = DirectionTensorQuestion(NAMES, Frame.identity(P), START, GRID).answer([rows.copy()])
    values, degree, times, _ = added_noise._entries(sums)
    order = np.concatenate([np.flatnonzero(degree == d) for d in (2, 3, 4)])
    return values[order], degree[order], times[order]


def in_units(values, degree, times):
    size = np.array([sensitivity(P, d, SPHERE) / LOSSES.by_degree[d] for d in (2, 3, 4)])
    return values * np.sqrt(times) / size[degree - 2]


def audit(leaves=release):
    """What is wrong with a way to release the tensor sums of a table."""
    found = set()
    np.random.seed(0)  # noqa: NPY002 - to see whether noise follows from it
    first, second = numbers(leaves(ROWS)), numbers(leaves(ROWS))
    np.random.seed(0)  # noqa: NPY002
    again = numbers(leaves(ROWS))
    exact, degree, times = exactly(ROWS)
    if (first == again).all():
        found.add("foreseeable")
    if not np.issubdtype(first.dtype, np.integer):
        found.add("not whole")
    if len(first) != len(exact):
        return found | {"more than noisy numbers"}
    noise = [in_units(one - exact, degree, times) for one in (first, second)]
    for d in (2, 3, 4):
        of_degree = np.concatenate([one[degree == d] for one in noise])
        if of_degree.var() < 1 - STANDARD_ERRORS * math.sqrt(2 / len(of_degree)):
            found.add(f"too little noise on degree {d}")
    if (np.abs(noise[0]) < 1e-9).mean() > 0.01:
        found.add("numbers without noise")
    if abs(np.corrcoef(*noise)[0, 1]) > STANDARD_ERRORS / math.sqrt(len(exact)):
        found.add("noise is used again")
    far = np.concatenate([ROWS, [[1e4] * P]])
    change = in_units(numbers(leaves(far)) - first, degree, times)
    if np.linalg.norm(change) > 3 * math.sqrt(2 * len(change)):  # two noises, and a row that adds little
        found.add("a row adds more than it may")
    return found


def test_right_noise_passes_again_and_again():
    assert [audit() for _ in range(TIMES)] == [set()] * TIMES


def test_five_per_cent_less_noise_is_found(monkeypatch):
    """By the releases of all degrees together, over thirty tables."""
    bound = added_noise.sensitivity
    monkeypatch.setattr(added_noise, "sensitivity", lambda *how: 0.95 * bound(*how))
    exact, degree, times = exactly(ROWS)
    noise = np.concatenate([in_units(numbers(release(ROWS)) - exact, degree, times) for _ in range(30)])
    assert noise.var() < 1 - STANDARD_ERRORS * math.sqrt(2 / len(noise))


def planted_sensitivity(monkeypatch):
    monkeypatch.setattr(added_noise, "sensitivity", lambda _p, degree, grid: (1 / grid.step) ** degree / degree)


def planted_generator(monkeypatch):
    def drawn(sigma, random):
        return np.rint(np.random.normal(size=len(sigma)) * sigma).astype(np.int64)  # noqa: NPY002

    monkeypatch.setattr(added_noise, "discrete_gaussian", drawn)


def planted_floats(monkeypatch):
    """Noise that is added to sums in floating point."""

    def in_float(sums, losses, random):
        noisy = with_noise(sums, losses, random)
        rng, values = np.random.default_rng(), noisy.low.values
        return replace(
            noisy, low=replace(noisy.low, values={d: v + rng.normal(size=len(v)) for d, v in values.items()})
        )

    monkeypatch.setattr("fedrcd.protocol.noisy_question.with_noise", in_float)


def planted_reuse(monkeypatch):
    drawn = added_noise.discrete_gaussian(np.full(5000, 1e6))
    monkeypatch.setattr(
        added_noise, "discrete_gaussian", lambda sigma, _random: np.rint(drawn[: len(sigma)] * sigma / 1e6).astype(int)
    )


def planted_lack_of_a_share(monkeypatch):
    """Two sites add half each, and only one did."""
    original = added_noise.with_noise
    monkeypatch.setattr(
        "fedrcd.protocol.noisy_question.with_noise",
        lambda sums, losses, random: original(sums, replace(losses, part=0.5), random),
    )


def planted_lengths(monkeypatch):
    """Rows are whitened and not projected."""

    def unprojected(blocks, whitening, grid=None, *, lifted, near=False):
        for block in blocks:
            yield np.ascontiguousarray(whitening.of_rows(block).T)

    monkeypatch.setattr("fedrcd.protocol.direction_question.directions", unprojected)
    monkeypatch.setattr("fedrcd.protocol.direction_question.SPHERE", Grid(21, 1024))


def planted_count(monkeypatch):
    """The number of rows goes along as it is."""
    original = added_noise.with_noise

    def with_count(sums, losses, random):
        noisy = original(sums, losses, random)
        low = replace(noisy.low, values={**noisy.low.values, 5: np.array([sums.low.count])})
        return replace(noisy, low=low, high=replace(noisy.high, values={**noisy.high.values, 5: np.zeros(1, int)}))

    monkeypatch.setattr("fedrcd.protocol.noisy_question.with_noise", with_count)


def planted_degree_without_noise(monkeypatch):
    original = added_noise.with_noise

    def partly(sums, losses, random):
        noisy = original(sums, losses, random)
        values, degree, _, _ = added_noise._entries(sums)
        exact = values[degree == 2]
        low = replace(noisy.low, values={**noisy.low.values, 2: exact & (2**PLANE - 1)})
        return replace(noisy, low=low, high=replace(noisy.high, values={**noisy.high.values, 2: exact >> PLANE}))

    monkeypatch.setattr("fedrcd.protocol.noisy_question.with_noise", partly)


PLANTED = {
    planted_sensitivity: "too little noise on degree 4",
    planted_generator: "foreseeable",
    planted_floats: "not whole",
    planted_reuse: "noise is used again",
    planted_lack_of_a_share: "too little noise on degree 4",
    planted_lengths: "a row adds more than it may",
    planted_count: "more than noisy numbers",
    planted_degree_without_noise: "numbers without noise",
}


@pytest.mark.parametrize("mistake", PLANTED, ids=lambda one: one.__name__.removeprefix("planted_"))
def test_a_planted_mistake_is_found(mistake, monkeypatch):
    mistake(monkeypatch)
    assert PLANTED[mistake] in audit()


class Accountant:
    """A transport that adds up what every question may lose."""

    def __init__(self, inner):
        self.inner, self.setting, self.traffic, self.losses = inner, inner.setting, inner.traffic, []

    def pool(self, question):
        assert isinstance(question, NoisyQuestion)
        self.losses.append(question.losses.total)
        answer = self.inner.pool(question)
        assert all(isinstance(plane, NoisySums) for plane in answer.planes)
        assert numbers(answer).dtype == np.int64
        return answer


def spent(epsilon, delta):
    rows = np.random.default_rng(1).laplace(size=(3000, P))
    inner = embed([rows], NAMES)
    transport = Accountant(replace(inner, setting=replace(inner.setting, robust=None)))
    run(build("fedrcd-dp", epsilon=epsilon, delta=delta).rounds(transport.setting), transport)
    return epsilon_of(composed(transport.losses), delta)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_all_rounds_together_lose_what_was_asked_for(epsilon):
    assert epsilon * (1 - 1e-6) < spent(epsilon, 1e-6) <= epsilon


def test_a_round_that_is_not_composed_is_found(monkeypatch):
    monkeypatch.setattr(noisy_directions, "WHITENINGS", (*noisy_directions.WHITENINGS, 0.2))
    assert spent(1.0, 1e-6) > 1.05


def test_pairs_are_under_the_same_noise():
    question = DirectionQuestion(NAMES, Frame.identity(P), START, GRID)
    exact = question.answer([ROWS.copy()])
    values, _, times, size = added_noise._entries(exact)
    losses = Losses({2: 0.3})
    noise = np.concatenate([numbers(NoisyQuestion(question, losses).answer([ROWS.copy()])) - values for _ in range(40)])
    noise = noise * np.sqrt(np.tile(times, 40)) * 0.3 / sensitivity(size, 2, SPHERE)
    assert noise.var() == pytest.approx(1, abs=STANDARD_ERRORS * math.sqrt(2 / len(noise)))
    assert (packed_degrees(P) > 1).sum() == len(exactly(ROWS)[0])
