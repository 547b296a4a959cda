from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.errors import StatisticError
from fedrcd.statistics.pair_sums import POWERS, PairSums, pair_sums
from tests.strategies import cut_tables, seeds, sums_of, tables, wild_tables

orders = st.sampled_from([2, 3, 4])


def slow_sums(X, order):
    """Pair sums by a loop over rows and pairs; a pair counts only the rows where both entries are there."""
    p = X.shape[1]
    count = np.zeros((p, p), dtype=np.int64)
    sums = {power: np.zeros((p, p)) for power in POWERS[order]}
    for row in X:
        for i in range(p):
            for j in range(p):
                if np.isfinite(row[i]) and np.isfinite(row[j]):
                    count[i, j] += 1
                    for a, b in sums:
                        sums[a, b][i, j] += row[i] ** a * row[j] ** b
    return PairSums(order, count, sums)


def assert_close(left, right, size):
    """Equal counts, and sums that differ by at most 1e-12 of the largest they could be."""
    np.testing.assert_array_equal(np.broadcast_arrays(left.count, right.count)[0], right.count)
    for (a, b), values in right.sums.items():
        largest = max(1, right.count.max()) * max(size, 1e-3) ** (a + b)
        np.testing.assert_allclose(np.broadcast_to(left.sums[a, b], values.shape), values, rtol=0, atol=1e-12 * largest)


def size_of(*parts):
    return max(float(np.abs(part).max(initial=0)) for part in parts)


@given(tables(), orders)
def test_pair_sums_are_a_loop_over_rows(X, order):
    assert_close(sums_of(X, order), slow_sums(X, order), size_of(X))


@given(cut_tables(), orders)
def test_pooled_sums_are_the_sums_of_the_stacked_rows(parts, order):
    pooled = sums_of(parts[0], order)
    for part in parts[1:]:
        pooled = pooled + sums_of(part, order)
    assert_close(pooled, sums_of(np.concatenate(parts), order), size_of(*parts))


@given(cut_tables(), orders)
def test_blocks_of_one_table_change_nothing(parts, order):
    blocks = pair_sums(parts, parts[0].shape[1], order)
    assert_close(blocks, sums_of(np.concatenate(parts), order), size_of(*parts))


@given(cut_tables(parts=(3, 3)))
def test_grouping_does_not_matter_to_addition(parts):
    a, b, c = map(sums_of, parts)
    assert_close((a + b) + c, a + (b + c), size_of(*parts))


@given(cut_tables(parts=(2, 2)))
def test_either_order_of_addition_gives_the_same_bits(parts):
    a, b = map(sums_of, parts)
    assert a + b == b + a


@given(cut_tables(parts=(2, 2)))
def test_subtraction_undoes_addition(parts):
    a, b = map(sums_of, parts)
    assert_close((a + b) - b, a, size_of(*parts))


@given(cut_tables(parts=(2, 2)))
def test_subtraction_takes_the_count_back_exactly(parts):
    a, b = map(sums_of, parts)
    np.testing.assert_array_equal(((a + b) - b).count, a.count)


def test_an_empty_block_adds_nothing():
    X = np.random.default_rng(0).normal(size=(9, 3))
    assert pair_sums([np.empty((0, 3)), X, np.empty((0, 3))], 3, 4) == sums_of(X)


def test_more_rows_than_there_are_cannot_be_taken_away():
    with pytest.raises(StatisticError, match="more rows"):
        sums_of(np.ones((2, 2))) - sums_of(np.ones((3, 2)))


@given(seeds)
def test_complete_and_incomplete_tables_add(seed):
    rng = np.random.default_rng(seed)
    complete, gaps = rng.normal(size=(6, 3)), rng.normal(size=(9, 3))
    gaps[rng.random(gaps.shape) < 0.3] = np.nan
    pooled = sums_of(complete) + slow_sums(gaps, 4)
    assert_close(pooled, slow_sums(np.concatenate([complete, gaps]), 4), 5.0)


def test_sums_of_different_orders_do_not_add():
    with pytest.raises(StatisticError, match="order 4 over 2 variables and of order 3"):
        sums_of(np.ones((3, 2)), 4) + sums_of(np.ones((3, 2)), 3)


def test_sums_of_different_variables_do_not_add():
    with pytest.raises(StatisticError, match=r"over 2 variables .* over 3 variables"):
        sums_of(np.ones((3, 2))) + sums_of(np.ones((3, 3)))


def test_sums_of_the_same_rows_are_equal():
    X = np.random.default_rng(0).normal(size=(9, 3))
    assert sums_of(X) == sums_of(X.copy())


@pytest.mark.parametrize("power", POWERS[4])
def test_one_bit_makes_sums_unequal(power):
    whole = sums_of(np.random.default_rng(0).normal(size=(9, 3)))
    touched = whole.sums[power].copy()
    touched[0, 0] = np.nextafter(touched[0, 0], np.inf)
    assert replace(whole, sums={**whole.sums, power: touched}) != whole


def test_one_row_makes_sums_unequal():
    whole = sums_of(np.zeros((9, 3)))
    assert whole != sums_of(np.zeros((8, 3)))


def test_sums_of_different_orders_are_unequal():
    X = np.random.default_rng(0).normal(size=(9, 3))
    assert sums_of(X, 3) != sums_of(X, 4)


def test_sums_are_not_equal_to_something_else():
    assert sums_of(np.ones((3, 2))) != "sums"


def test_sums_have_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(sums_of(np.ones((3, 2))))


def test_no_rows_have_sums_of_zero():
    empty = pair_sums([], 3, 4)
    assert empty.count.item() == 0
    assert not any(values.any() for values in empty.sums.values())


@pytest.mark.parametrize("p", [2, 3, 20])
def test_fourth_order_sums_of_complete_rows_send_three_numbers_per_ordered_pair(p):
    assert sums_of(np.ones((2, p)), 4).numbers == 3 * p * (p - 1) + 4 * p + 1


def test_the_covariance_alone_sends_one_number_per_pair():
    assert sums_of(np.ones((2, 20)), 2).numbers == 20 * 19 // 2 + 2 * 20 + 1


def test_incomplete_rows_send_a_count_per_pair():
    p = 3
    gaps = slow_sums(np.array([[1.0, np.nan, 2.0], [3.0, 4.0, 5.0]]), 2)
    assert gaps.numbers == p * (p + 1) // 2 + 2 * p**2 + p * (p - 1) // 2


@given(wild_tables(), orders)
def test_sums_of_real_rows_pass_every_check(X, order):
    sums = sums_of(X, order)
    sums.check()
    sums.check_possible()


@pytest.mark.parametrize("exponent", range(-90, -70))
def test_values_whose_fourth_powers_vanish_are_possible(exponent):
    sums_of(10.0**exponent * np.random.default_rng(0).normal(size=(3, 2))).check_possible()


@pytest.mark.parametrize("power", POWERS[4])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_sums_that_are_not_finite_are_refused(power, bad):
    whole = sums_of(np.random.default_rng(0).normal(size=(9, 3)))
    touched = whole.sums[power].copy()
    touched[1, -1] = bad
    with pytest.raises(StatisticError, match="overflow"):
        replace(whole, sums={**whole.sums, power: touched}).check()


def test_an_overflow_is_blamed_on_its_column():
    X = np.random.default_rng(0).normal(size=(9, 3))
    X[4, 1] = 1e90
    with np.errstate(all="ignore"), pytest.raises(StatisticError, match="column 'dose'"):
        sums_of(X).check(("age", "dose", "pain"))


@pytest.mark.parametrize("power", [(1, 1), (2, 2)])
def test_asymmetric_sums_are_refused(power):
    whole = sums_of(np.random.default_rng(0).normal(size=(9, 3)))
    touched = whole.sums[power].copy()
    touched[0, 1] += 1
    with pytest.raises(StatisticError, match="not symmetric"):
        replace(whole, sums={**whole.sums, power: touched}).check()


@pytest.mark.parametrize("count", [np.full((1, 1), -1), np.full((1, 1), 9.0)])
def test_counts_must_be_whole_and_not_negative(count):
    whole = sums_of(np.random.default_rng(0).normal(size=(9, 3)))
    with pytest.raises(StatisticError, match="counts"):
        replace(whole, count=count).check()


def test_counts_of_a_wrong_shape_are_refused():
    whole = sums_of(np.random.default_rng(0).normal(size=(9, 3)))
    with pytest.raises(StatisticError):
        replace(whole, count=np.full((2, 2), 9)).check()


def test_sums_of_a_wrong_shape_are_refused():
    whole = sums_of(np.random.default_rng(0).normal(size=(9, 3)))
    with pytest.raises(StatisticError, match="wrong shape"):
        replace(whole, sums={**whole.sums, (2, 1): whole.sums[2, 1][:2]}).check()


def test_sums_that_lack_a_power_are_refused():
    whole = sums_of(np.random.default_rng(0).normal(size=(9, 3)))
    incomplete = {power: values for power, values in whole.sums.items() if power != (3, 1)}
    with pytest.raises(StatisticError):
        replace(whole, sums=incomplete).check()


def forged(power, change):
    """Sums of real rows in which what is said of the first variable, or of it and the second, is changed."""
    whole = sums_of(1 + np.random.default_rng(0).normal(size=(50, 3)))
    touched = whole.sums[power].copy()
    j = 1 if power[1] else 0
    touched[0, j] = change(touched[0, j])
    if power[0] == power[1]:
        touched[j, 0] = touched[0, j]
    return replace(whole, sums={**whole.sums, power: touched})


@pytest.mark.parametrize(
    ("power", "change"),
    [
        pytest.param((2, 0), lambda s: -s, id="negative sum of squares"),
        pytest.param((2, 0), lambda s: s / 4, id="negative variance"),
        pytest.param((1, 1), lambda s: 100 * s, id="correlation above one"),
        pytest.param((4, 0), lambda s: s / 10, id="fourth moment below the square of the second"),
        pytest.param((2, 2), lambda s: -s, id="negative sum of products of squares"),
        pytest.param((3, 1), lambda s: 1000 * s, id="fourth-order product beyond Cauchy-Schwarz"),
        pytest.param((2, 1), lambda s: 1000 * s, id="third-order product beyond Cauchy-Schwarz"),
        pytest.param((1, 0), lambda s: 100 * s, id="mean beyond the root mean square"),
    ],
)
def test_sums_that_no_rows_can_have_are_refused(power, change):
    with pytest.raises(StatisticError, match="no rows can have"):
        forged(power, change).check_possible()
