import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.errors import StatisticError
from fedrcd.statistics.entropy_sums import QUANTITIES_AT_ONCE, ROWS_AT_ONCE, EntropySums, entropy_sums
from tests.strategies import seeds

NO_PAIRS = np.empty((0, 2), dtype=np.int64)
ROWS = [1, 2, 3, 4, 5, 7, 8, 255, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 2 * ROWS_AT_ONCE + 3, 3001]


def singles_of(u):
    """Entropy sums of the columns of u themselves."""
    return entropy_sums([u], u.shape[1], NO_PAIRS, np.empty(0))


def random_question(u, seed):
    """All ordered pairs of the columns of u, with random correlations that agree for (i, j) and (j, i)."""
    rho = np.random.default_rng(seed).uniform(-0.95, 0.95, (u.shape[1],) * 2)
    pairs = np.argwhere(~np.eye(u.shape[1], dtype=bool))
    return pairs, np.tril(rho)[pairs.max(axis=1), pairs.min(axis=1)]


def naive(u, pairs, rho):
    """The quantities one by one, and both sums as they are written in the literature."""
    residuals = [(u[:, i] - r * u[:, j]) / np.sqrt(1 - r**2) for (i, j), r in zip(pairs, rho, strict=True)]
    quantities = np.array([*u.T, *residuals])
    log_cosh = np.log(np.cosh(quantities)).sum(axis=1)
    gauss = (quantities * np.exp(-(quantities**2) / 2)).sum(axis=1)
    return log_cosh, gauss


@pytest.mark.parametrize("n", ROWS)
def test_entropy_sums_are_what_the_formulas_say(n):
    u = np.random.default_rng(n).laplace(size=(n, 4))
    pairs, rho = random_question(u, n)
    sums = entropy_sums([u], 4, pairs, rho)
    log_cosh, gauss = naive(u, pairs, rho)
    np.testing.assert_allclose(sums.log_cosh, log_cosh, rtol=1e-12)
    np.testing.assert_allclose(sums.gauss, gauss, rtol=0, atol=1e-12 * n)
    assert sums.count == n


def test_more_quantities_than_fit_at_once_are_what_the_formulas_say():
    u = np.random.default_rng(0).laplace(size=(37, 10))
    pairs, rho = random_question(u, 0)
    assert len(pairs) > QUANTITIES_AT_ONCE
    log_cosh, _ = naive(u, pairs, rho)
    np.testing.assert_allclose(entropy_sums([u], 10, pairs, rho).log_cosh, log_cosh, rtol=1e-12)


def test_pairs_alone_are_the_quantities_after_the_singles():
    u = np.random.default_rng(0).laplace(size=(37, 3))
    pairs, rho = random_question(u, 0)
    with_singles, without = entropy_sums([u], 3, pairs, rho), entropy_sums([u], 0, pairs, rho)
    np.testing.assert_array_equal(with_singles.log_cosh[3:], without.log_cosh)
    np.testing.assert_array_equal(with_singles.gauss[3:], without.gauss)


@pytest.mark.parametrize("n", ROWS)
def test_rows_of_zeros_sum_to_zero(n):
    sums = singles_of(np.zeros((n, 2)))
    np.testing.assert_allclose(sums.log_cosh, 0, atol=1e-12 * n)
    np.testing.assert_array_equal(sums.gauss, 0)


@pytest.mark.parametrize("outlier", [710.0, 1e6, -1e6, 1e150])
def test_outliers_do_not_overflow(outlier):
    u = np.zeros((5, 1))
    u[3] = outlier
    assert singles_of(u).log_cosh.item() == pytest.approx(abs(outlier) - np.log(2), rel=1e-12)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), seeds)
def test_pooled_entropy_sums_are_those_of_the_stacked_rows(sizes, seed):
    u = np.random.default_rng(seed).laplace(size=(sum(sizes), 3))
    pairs, rho = random_question(u, seed)
    parts = np.split(u, np.cumsum(sizes)[:-1])
    pooled = entropy_sums([parts[0]], 3, pairs, rho)
    for part in parts[1:]:
        pooled = pooled + entropy_sums([part], 3, pairs, rho)
    whole = entropy_sums([u], 3, pairs, rho)
    assert pooled.count == whole.count
    np.testing.assert_allclose(pooled.log_cosh, whole.log_cosh, rtol=1e-12)
    np.testing.assert_allclose(pooled.gauss, whole.gauss, rtol=0, atol=1e-12 * len(u))


@given(seeds)
def test_subtraction_undoes_addition(seed):
    a, b = (singles_of(np.random.default_rng([seed, k]).laplace(size=(9, 3))) for k in (0, 1))
    back = (a + b) - b
    assert back.count == a.count
    np.testing.assert_allclose(back.log_cosh, a.log_cosh, rtol=0, atol=1e-12 * (a + b).log_cosh.max())
    np.testing.assert_allclose(back.gauss, a.gauss, rtol=0, atol=1e-12 * 18)


def test_more_rows_than_there_are_cannot_be_taken_away():
    with pytest.raises(StatisticError, match="more rows"):
        singles_of(np.ones((2, 2))) - singles_of(np.ones((3, 2)))


def test_sums_of_different_numbers_of_quantities_do_not_add():
    with pytest.raises(StatisticError):
        singles_of(np.ones((2, 3))) + singles_of(np.ones((2, 1)))


def test_sums_of_the_same_rows_are_equal():
    u = np.random.default_rng(0).laplace(size=(9, 3))
    assert singles_of(u) == singles_of(u.copy())


def test_two_numbers_travel_per_quantity_beside_the_count():
    assert singles_of(np.ones((3, 7))).numbers == 1 + 2 * 7


def test_the_first_quantities_are_those_of_the_first_columns():
    u = np.random.default_rng(0).laplace(size=(9, 5))
    first, alone = singles_of(u).first(2), singles_of(u[:, :2])
    np.testing.assert_array_equal(first.log_cosh, alone.log_cosh)
    np.testing.assert_array_equal(first.gauss, alone.gauss)
    assert first.count == alone.count


def test_entropy_is_the_formula_of_lingam():
    u = np.random.default_rng(0).laplace(size=(500, 3))
    u = (u - u.mean(axis=0)) / u.std(axis=0)
    k1, k2, gamma = 79.047, 7.4129, 0.37457
    expected = [
        (1 + np.log(2 * np.pi)) / 2
        - k1 * (np.mean(np.log(np.cosh(x))) - gamma) ** 2
        - k2 * np.mean(x * np.exp((-(x**2)) / 2)) ** 2
        for x in u.T
    ]
    np.testing.assert_allclose(singles_of(u).entropy(), expected, rtol=1e-12)


def test_a_gaussian_has_the_largest_entropy():
    rng = np.random.default_rng(0)
    u = np.stack([rng.normal(size=50_000), rng.laplace(size=50_000), rng.uniform(size=50_000)], axis=1)
    u = (u - u.mean(axis=0)) / u.std(axis=0)
    assert np.argmax(singles_of(u).entropy()) == 0


@given(st.integers(1, 50), st.floats(1e-3, 1e6), seeds)
def test_sums_of_real_rows_pass_the_check(n, size, seed):
    singles_of(size * np.random.default_rng(seed).standard_cauchy((n, 3))).check()


@pytest.mark.parametrize(
    ("log_cosh", "gauss"),
    [
        pytest.param(np.nan, 0.0, id="not a number"),
        pytest.param(1.0, np.inf, id="infinite"),
        pytest.param(-1.0, 0.0, id="negative log cosh"),
        pytest.param(1.0, 6.2, id="above the largest value of u exp(-u²/2) in every row"),
        pytest.param(1.0, -6.2, id="below the least value of u exp(-u²/2) in every row"),
    ],
)
def test_sums_that_no_rows_can_have_are_refused(log_cosh, gauss):
    with pytest.raises(StatisticError, match="no rows can have"):
        EntropySums(10, np.array([1.0, log_cosh]), np.array([0.0, gauss])).check()
