"""One row far out, in an honest run: sums of powers tell its other values, sums over directions do not.

The coordinator knows in which column it is far out, and how far: a code of missing values is the same everywhere.
"""

import numpy as np
import pytest

from fedrcd.data import random_model
from fedrcd.methods.registry import build
from fedrcd.protocol.direction_question import DirectionQuestion
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.statistics.directions import Whitening
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


def told_by_the_difference(X, *, near):
    """The other values of the row far out, from two sums under one whitening: of all rows alike, and far ones less.

    Or, for comparison, from the sums of two whitenings next to each other.
    """
    question, _ = last_of_a_run("fedrcd-r", X)
    frame, whitening = question.frame, question.whitening
    other = whitening if near else Whitening(whitening.centre + 1e-3, whitening.matrix)
    alike, less = (
        DirectionQuestion(question.variables, frame, one, near=far).answer([frame.express(X.copy())])
        for one, far in ((other, not near), (whitening, True))
    )
    values, vectors = np.linalg.eigh(alike.at(1, 1) - less.at(1, 1))
    row = np.linalg.solve(whitening.matrix, vectors[:P, np.argmax(np.abs(values))])
    far = (FAR - frame.centre[0]) / frame.scale[0] - whitening.centre[0]
    return (frame.centre + frame.scale * (whitening.centre + row * far / row[0]))[1:]


@pytest.mark.parametrize("near", [True, False])
def test_sums_of_all_rows_alike_would_tell_the_far_ones_and_sums_of_two_whitenings_do_not(near):
    """Therefore no site tells the first, and far rows fade out, with no limit that a row can pass alone."""
    tables = [table(seed) for seed in range(TABLES)]
    guesses = np.array([told_by_the_difference(X, near=near) for X in tables])
    true = np.array([X[0, 1:] for X in tables])
    error = min(np.sqrt(np.mean((trust * guesses - true) ** 2)) for trust in np.linspace(0, 1, 101))
    assert error < 0.1 if near else error > 0.5
