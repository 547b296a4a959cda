from dataclasses import replace
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings

from fedrcd.errors import StatisticError
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.tensor_sums import TensorSums, tensor_sums
from tests.strategies import cut_tables, seeds, tables, wild_tables


def sums_of(X):
    return tensor_sums([X], X.shape[1])


def assert_close(left, right, *parts):
    """Packed sums that differ by at most 1e-12 of the largest they could be."""
    size = max(1.0, *(float(np.abs(part).max(initial=0)) for part in parts))
    np.testing.assert_allclose(left.packed, right.packed, rtol=0, atol=1e-12 * max(1, right.count) * size**4)


@settings(max_examples=50)
@given(tables(columns=(1, 5)))
def test_the_moments_are_all_products_of_four_columns_with_a_constant(X):
    p = X.shape[1]
    Z = np.column_stack([np.ones(len(X)), X])
    moments, number = sums_of(X).moments(), pair_index(p + 1).number
    size = max(1.0, np.abs(X).max()) ** 4 * len(X)
    for a, b, c, d in combinations_with_replacement(range(p + 1), 4):
        expected = np.sum(Z[:, a] * Z[:, b] * Z[:, c] * Z[:, d])
        for left, right in (((a, b), (c, d)), ((c, a), (d, b)), ((a, d), (b, c))):
            assert moments[number[left], number[right]] == pytest.approx(expected, abs=1e-12 * size)


@pytest.mark.parametrize("p", [1, 2, 9, 12])
def test_moments_are_symmetric_and_bring_the_sums_back(p):
    sums = sums_of(np.random.default_rng(p).normal(size=(7, p)))
    np.testing.assert_array_equal(sums.moments(), sums.moments().T)
    assert TensorSums.from_moments(p, sums.moments()) == sums


@given(cut_tables())
def test_pooled_sums_are_the_sums_of_the_stacked_rows(parts):
    pooled = sums_of(parts[0])
    for part in parts[1:]:
        pooled = pooled + sums_of(part)
    assert_close(pooled, sums_of(np.concatenate(parts)), *parts)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
def test_every_row_is_counted_once(n):
    assert sums_of(np.ones((n, 3))).count == n


@given(cut_tables(parts=(3, 3)))
def test_grouping_does_not_matter_to_addition(parts):
    a, b, c = map(sums_of, parts)
    assert_close((a + b) + c, a + (b + c), *parts)


@given(cut_tables(parts=(2, 2)))
def test_either_order_of_addition_gives_the_same_bits(parts):
    a, b = map(sums_of, parts)
    assert a + b == b + a


@given(cut_tables(parts=(2, 2)))
def test_subtraction_undoes_addition(parts):
    a, b = map(sums_of, parts)
    assert_close((a + b) - b, a, *parts)


def test_more_rows_than_there_are_cannot_be_taken_away():
    with pytest.raises(StatisticError, match="more rows"):
        sums_of(np.ones((2, 2))) - sums_of(np.ones((3, 2)))


def test_sums_of_different_variables_do_not_add():
    with pytest.raises(StatisticError, match="over 2 and over 3 variables"):
        sums_of(np.ones((3, 2))) + sums_of(np.ones((3, 3)))


@pytest.mark.parametrize("p", [2, 3, 20])
def test_every_product_of_up_to_four_variables_travels_once(p):
    assert sums_of(np.ones((2, p))).numbers == comb(p + 4, 4)


@given(seeds)
def test_one_bit_makes_sums_unequal(seed):
    rng = np.random.default_rng(seed)
    sums = sums_of(rng.normal(size=(9, 3)))
    touched, at = sums.packed.copy(), rng.integers(len(sums.packed))
    touched[at] = np.nextafter(touched[at], np.inf)
    assert replace(sums, packed=touched) != sums


@given(wild_tables())
def test_sums_of_real_rows_pass_every_check(X):
    sums = sums_of(X)
    sums.check()
    sums.check_possible()


@pytest.mark.parametrize("exponent", range(-90, -70))
def test_values_whose_fourth_powers_vanish_are_possible(exponent):
    sums_of(10.0**exponent * np.random.default_rng(0).normal(size=(3, 2))).check_possible()


def touched(at, change):
    """Sums of real rows in which the moment of some variables (0 is the constant) is changed everywhere."""
    sums = sums_of(1 + np.random.default_rng(0).normal(size=(50, 3)))
    moments, number = sums.moments(), pair_index(4).number
    a, b, c, d = at
    moments[number[a, b], number[c, d]] = change(moments[number[a, b], number[c, d]])
    return TensorSums.from_moments(3, moments)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_sums_that_are_not_finite_are_refused(bad):
    with pytest.raises(StatisticError, match="overflow"):
        touched((1, 2, 3, 3), lambda _: bad).check()


def test_an_overflow_is_blamed_on_its_column():
    X = np.random.default_rng(0).normal(size=(9, 3))
    X[4, 1] = 1e90
    with np.errstate(all="ignore"), pytest.raises(StatisticError, match="column 'dose'"):
        sums_of(X).check(("age", "dose", "pain"))


@pytest.mark.parametrize("count", [-3.0, 2.5])
def test_counts_must_be_whole_and_not_negative(count):
    with pytest.raises(StatisticError):
        touched((0, 0, 0, 0), lambda _: count).check()


def test_sums_of_a_wrong_size_are_refused():
    with pytest.raises(StatisticError, match="35 numbers"):
        TensorSums(3, np.ones(34)).check()


@pytest.mark.parametrize(
    ("at", "change"),
    [
        pytest.param((0, 0, 1, 1), lambda s: -s, id="negative sum of squares"),
        pytest.param((0, 0, 1, 1), lambda s: s / 4, id="negative variance"),
        pytest.param((0, 0, 1, 2), lambda s: 100 * s, id="correlation above one"),
        pytest.param((1, 1, 1, 1), lambda s: s / 10, id="fourth moment below the square of the second"),
        pytest.param((1, 1, 1, 1), lambda s: -s, id="negative fourth moment"),
        pytest.param((1, 1, 2, 2), lambda s: -s, id="negative sum of products of squares"),
        pytest.param((0, 1, 2, 3), lambda s: 1000 * s, id="third-order product beyond Cauchy-Schwarz"),
        pytest.param((1, 1, 2, 3), lambda s: 1000 * s, id="fourth-order product beyond Cauchy-Schwarz"),
    ],
)
def test_sums_that_no_rows_can_have_are_refused(at, change):
    with pytest.raises(StatisticError, match="no rows can have"):
        touched(at, change).check_possible()
