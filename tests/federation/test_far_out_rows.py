"""One row far out, in an honest run: sums of powers tell its other values, sums over directions do not.

The coordinator knows in which column it is far out, and how far: a code of missing values is the same everywhere.
"""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data import random_model
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.statistics.pair_index import pair_index

P, N, FAR = 6, 2000, 20.0
TABLES = 20


def table(seed, rows=N):
    """Standardised rows; the first has a value far out in the first column."""
    rng = np.random.default_rng([7, seed])
    X = random_model(P, noise="uniform", rng=rng).sample(rows, rng)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[0, 0] = FAR
    return X


class Overheard:
    """A transport that keeps the last question and what was answered."""

    def __init__(self, inner):
        self.inner, self.setting, self.traffic = inner, inner.setting, inner.traffic

    def pool(self, question):
        self.question, self.sums = question, self.inner.pool(question)
        return self.sums


def last_of_a_run(method, X):
    transport = Overheard(embed([X.copy()], tuple(f"x{j}" for j in range(P))))
    run(build(method, weights="none").rounds(transport.setting), transport)
    return transport.question, transport.sums


def read_off(sums, towards, length):
    """The row that is so long in a direction, in the coordinates of tensor sums.

    With q1 the coordinate along it, the row has nearly all of the sums of q1^3 q where its length stands out; what the
    others add follows from their regression on q1, of which the pair sums tell.
    """
    number, moments = pair_index(P + 1).number[1:, 1:], sums.moments()
    along = towards / np.linalg.norm(towards)
    fourth = moments[np.ix_(number.ravel(), number.ravel())].reshape((P,) * 4)
    squares = moments[0][number] @ along
    cubes = np.einsum("a,b,abcd,c->d", along, along, fourth, along)
    slope = (squares - length**2 * along) / (squares @ along - length**2)
    return slope * length + (cubes - slope * (cubes @ along)) / length**3


def guessed(method, X):
    """The other values of the row far out, from the last answer of a run."""
    question, sums = last_of_a_run(method, X)
    frame = question.frame
    far = (FAR - frame.centre[0]) / frame.scale[0]
    if method == "fedrcd-s":
        row = read_off(sums, np.eye(P)[0], far)
    else:
        matrix, centre = question.whitening.matrix, question.whitening.centre
        row = np.linalg.solve(matrix, read_off(sums, matrix[:, 0], 1.0))
        row = centre + row * (far - centre[0]) / row[0]
    return (frame.centre + frame.scale * row)[1:]


def error_of_guesses(method):
    """Root mean square in standard deviations, the guesses drawn towards 0 as far as helps."""
    tables = [table(seed) for seed in range(TABLES)]
    guesses = np.array([guessed(method, X) for X in tables])
    true = np.array([X[0, 1:] for X in tables])
    return min(np.sqrt(np.mean((trust * guesses - true) ** 2)) for trust in np.linspace(0, 1, 101))


def test_sums_of_powers_tell_a_row_far_out():
    assert error_of_guesses("fedrcd-s") < 0.03


def test_sums_over_directions_tell_nothing_of_it():
    """No better than the guess that every value is the mean, which is off by a standard deviation."""
    assert error_of_guesses("fedrcd-r") > 0.5


def told_by_the_difference(X, population, *, same):
    """The other values of the row far out, from the sums with it less those where it is left out.

    Whoever reads them knows the population, and so what else the change of the whitening does. With the same whitening
    in both, which a site refuses unless it trusts whoever asks, nothing else changes.
    """
    heard = EverythingHeard(embed([X.copy()], tuple(f"x{j}" for j in range(P))))
    run(build("fedrcd-r", weights="none").rounds(heard.setting), heard)
    (*_, (last, with_it)), ((first, without), *_) = (
        [one for one in heard.heard[:-1] if one[0].near is near] for near in (False, True)
    )
    if same:
        first = replace(last, near=True)
        without = heard.inner.pool(first)
    gap = with_it.sums[1, 1] - without.sums[1, 1]
    if not same:
        rows = [last.frame.express(population.copy())]
        expected = [one.answer([block.copy() for block in rows]).sums[1, 1] for one in (last, first)]
        gap -= (expected[0] - expected[1]) * N / len(population)
    values, vectors = np.linalg.eigh(gap)
    length = np.linalg.solve(last.whitening.matrix, vectors[:P, np.argmax(np.abs(values))])
    centre, far = last.whitening.centre, (FAR - last.frame.centre[0]) / last.frame.scale[0]
    return (last.frame.centre + last.frame.scale * (centre + length * (far - centre[0]) / length[0]))[1:]


class EverythingHeard(Overheard):
    """A transport that keeps all questions and what was answered."""

    def __init__(self, inner):
        super().__init__(inner)
        self.heard = []

    def pool(self, question):
        self.heard.append((question, super().pool(question)))
        return self.sums


@pytest.mark.parametrize("same", [True, False])
def test_the_round_from_which_on_far_rows_are_left_out_tells_nothing_of_one(same):
    guesses, true = [], []
    for seed in range(TABLES):
        X, population = table(seed), table(seed, rows=20 * N)[1:]
        guesses.append(told_by_the_difference(X, population, same=same))
        true.append(X[0, 1:])
    error = min(np.sqrt(np.mean((trust * np.array(guesses) - np.array(true)) ** 2)) for trust in np.linspace(0, 1, 101))
    assert error < 0.05 if same else error > 0.5
