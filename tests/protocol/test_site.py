import numpy as np
import pytest
from hypothesis import given

from fedrcd.errors import ProtocolError, StatisticError
from fedrcd.protocol.entropy_question import EntropyQuestion
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import InProcess, Setting
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.residual_maps import residual_map
from tests.strategies import random_cov, random_frame, seeds, sums_of

NAMES = ("a", "b", "c")
ROWS = [1, 2, 1023, 1025, 2049, 4095, 4096, 4097, 9001]
"""Numbers of rows around the sizes in which a site works."""


def table(n=50, seed=0):
    return np.random.default_rng(seed).exponential(size=(n, 3))


def question(frame=None, residuals=None):
    return PairQuestion(NAMES, frame or Frame.identity(3), 4, residuals)


def test_columns_in_another_order_give_the_same_answer():
    X = table()
    straight = LocalSite.of("s", X, NAMES).answer(question())
    crooked = LocalSite.of("s", np.ascontiguousarray(X[:, [2, 0, 1]]), ("c", "a", "b")).answer(question())
    assert crooked == straight


def test_columns_that_are_not_asked_for_do_not_matter():
    X = table()
    wider = np.column_stack([np.full(len(X), np.nan), X])
    assert LocalSite.of("s", wider, ("x", *NAMES)).answer(question()) == LocalSite.of("s", X, NAMES).answer(question())


def test_a_missing_column_is_named():
    with pytest.raises(ProtocolError, match="site north does not hold column 'c'"):
        LocalSite.of("north", table()[:, :2], ("a", "b")).answer(question())


def test_a_site_answers_the_same_twice():
    site = LocalSite.of("s", table(5000), NAMES)
    assert site.answer(question()) == site.answer(question())


def test_a_site_leaves_its_rows_alone():
    X = table()
    LocalSite.of("s", X, NAMES).answer(question(random_frame(3, np.random.default_rng(0))))
    np.testing.assert_array_equal(X, table())


@pytest.mark.parametrize("n", ROWS)
def test_every_row_is_counted_once(n):
    assert LocalSite.of("s", table(n), NAMES).answer(question()).count.item() == n


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_number_of_threads_does_not_change_a_bit(threads):
    X = table(30_000)
    alone, together = LocalSite.of("s", X, NAMES, 1), LocalSite.of("s", X, NAMES, threads)
    assert together.answer(question()) == alone.answer(question())


@pytest.mark.parametrize("n", ROWS)
def test_the_sums_of_any_number_of_rows_are_those_of_the_whole_table(n):
    X = table(n)
    answer, whole = LocalSite.of("s", X, NAMES).answer(question()), sums_of(X)
    for power in whole.sums:
        np.testing.assert_allclose(answer.sums[power], whole.sums[power], rtol=1e-12)


def test_a_site_without_rows_answers_zero():
    assert LocalSite.of("s", np.empty((0, 3)), NAMES).answer(question()).count.item() == 0


def test_sums_are_taken_in_the_frame_of_the_question():
    X, frame = table(), random_frame(3, np.random.default_rng(1))
    assert LocalSite.of("s", X, NAMES).answer(question(frame)) == sums_of((X - frame.centre) / frame.scale)


def test_residuals_are_taken_of_the_rows_in_the_frame():
    X, frame = table(), random_frame(3, np.random.default_rng(1))
    R = np.array([[1.0, -0.5, 0.0], [0.0, 2.0, 1.0]])
    answer = LocalSite.of("s", X, NAMES).answer(question(frame, R))
    expected = sums_of(((X - frame.centre) / frame.scale) @ R.T)
    for power in expected.sums:
        np.testing.assert_allclose(answer.sums[power], expected.sums[power], rtol=1e-12, atol=1e-12)


def test_entropies_are_taken_of_offset_residuals():
    X, R, offset = table(), np.array([[1.0, -0.5, 0.0], [0.0, 2.0, 1.0]]), np.array([0.3, -0.2])
    asked = EntropyQuestion(NAMES, Frame.identity(3), R, offset, np.array([[0, 1]]), np.array([0.6]), singles=True)
    u = X @ R.T - offset
    quantities = [u[:, 0], u[:, 1], (u[:, 0] - 0.6 * u[:, 1]) / 0.8]
    answer = LocalSite.of("s", X, NAMES).answer(asked)
    np.testing.assert_allclose(answer.log_cosh, [np.log(np.cosh(q)).sum() for q in quantities], rtol=1e-12)
    np.testing.assert_allclose(answer.gauss, [(q * np.exp(-(q**2) / 2)).sum() for q in quantities], rtol=1e-12)


@given(seeds)
def test_the_residual_map_is_successive_regression_on_one_source_after_another(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 7))
    cov = random_cov(p, rng)
    given_ = tuple(rng.permutation(p)[: rng.integers(0, p)].tolist())
    step_by_step = np.eye(p)
    for s in given_:  # x_j <- x_j - cov(x_j, x_s) / var(x_s) x_s, for all that remain
        now = step_by_step @ cov @ step_by_step.T
        coefficient = now[:, s] / now[s, s]
        coefficient[s] = 0
        step_by_step = step_by_step - np.outer(coefficient, step_by_step[s])
    R, rest = residual_map(cov, given_)
    assert rest == tuple(j for j in range(p) if j not in given_)
    sd = np.sqrt(np.diagonal(cov))  # compare in units of the variables
    np.testing.assert_allclose(R * sd / sd[list(rest), None], (step_by_step * sd / sd[:, None])[list(rest)], atol=1e-9)


def overflowing(column, n=50):
    """Two sites, of which the second has one value far beyond the frame."""
    X, Y = table(n), table(n, seed=1)
    Y[17, column] = 1e200
    sites = [LocalSite.of("north", X, NAMES), LocalSite.of("south", Y, NAMES)]
    return InProcess(sites, Setting(NAMES, Frame.identity(3)))


@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("n", [50, 20_000])
def test_an_overflow_names_site_and_column(column, n):
    with pytest.raises(StatisticError, match=f"south.*column '{NAMES[column]}'"):
        overflowing(column, n).pool(question())


def test_an_overflow_of_residuals_names_the_site():
    with pytest.raises(StatisticError, match="south"):
        overflowing(0).pool(question(residuals=np.array([[0.5, 1.0, 0.0], [0.1, 0.0, 1.0]])))


def test_an_overflow_tells_no_value():
    with pytest.raises(StatisticError) as caught:
        overflowing(1).pool(question())
    assert "200" not in str(caught.value)


def test_an_embedded_site_is_called_by_its_label():
    assert [site.name for site in embed([table(), table()], NAMES, labels=["north", "south"]).sites] == [
        "north",
        "south",
    ]


def test_embedded_tables_can_be_stacked_into_one_site():
    X, Y = table(), table(20, seed=1)
    (site,) = embed([X, Y], NAMES, stack=True).sites
    np.testing.assert_array_equal(site.rows.values, np.concatenate([X, Y]))
