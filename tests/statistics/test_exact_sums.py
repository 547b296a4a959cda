"""Exact sums against Python's own whole numbers, and the algebra that float64 does not have."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.errors import ConfigError, ProtocolError, StatisticError
from fedrcd.statistics.exact_sums import MOST_ROWS, Clipped, ExactSums, exact_pair_sums, exact_tensor_sums
from fedrcd.statistics.grid import ARITHMETIC, MAP_BITS, Grid, rounded_map
from fedrcd.statistics.limbs import PLANE
from fedrcd.statistics.packed_tensor import packed_degrees
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.statistics.tensor_sums import tensor_sums
from tests.strategies import seeds

grids = st.sampled_from([Grid(21, 64), Grid(11, 16), Grid(11, 64), Grid(16, 8), Grid(2, 1), Grid(21, 1)])


def rows_of(seed, *, p=3, gaps=False, large=True):
    """Few rows, some of them as large as the grid allows, some beyond."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, (int(rng.integers(1, 40)), p)) * rng.choice([0.01, 1, 30])
    if large:
        X[rng.random(X.shape) < 0.3] *= 1e9
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X


def whole_rows(X, grid):
    """Rows as Python's whole numbers, None where missing."""
    return [[None if np.isnan(v) else int(v) for v in row] for row in grid.whole(X.copy())[0]]


def sums_of(grid, X, order=4, *, gaps=False):
    return exact_pair_sums([X.copy()], X.shape[1], order, grid, gaps=gaps)


def number(low, high, i, j, p):
    return int(np.broadcast_to(low, (p, p))[i, j]) + (int(np.broadcast_to(high, (p, p))[i, j]) << PLANE)


@given(seeds, grids, st.sampled_from([1, 2, 3, 4]), st.booleans())
def test_pair_sums_are_those_of_whole_numbers(seed, grid, order, gaps):
    X = rows_of(seed, gaps=gaps)
    rows, sums = whole_rows(X, grid), sums_of(grid, X, order, gaps=gaps)
    sums.check(("a", "b", "c"))
    for (a, b), low in sums.low.sums.items():
        for i in range(3):
            for j in range(3):
                seen = [row for row in rows if row[i] is not None and row[j] is not None]
                expected = sum(row[i] ** a * row[j] ** b for row in seen)
                assert number(low, sums.high.sums[a, b], i, j, 3) == expected
                assert np.broadcast_to(sums.low.count, (3, 3))[i, j] == len(seen)


@given(seeds, grids, st.booleans())
def test_tensor_sums_are_those_of_whole_numbers(seed, grid, gaps):
    X = rows_of(seed, gaps=gaps)
    rows, sums = whole_rows(X, grid), exact_tensor_sums([X.copy()], 3, grid, gaps=gaps)
    sums.check(("a", "b", "c"))
    low, high, pairs = sums.low.moments(), sums.high.moments(), pair_index(4).number
    for a, b, c, d in combinations_with_replacement(range(4), 4):
        factors = [[(1, *row)[k] for k in (a, b, c, d)] for row in rows]
        expected = sum(np.prod(np.array(f, dtype=object)) for f in factors if None not in f)
        place = pairs[a, b], pairs[c, d]
        assert int(low[place]) + (int(high[place]) << PLANE) == expected


@given(seeds, grids)
def test_residuals_are_rounded_from_exact_numbers(seed, grid):
    X = rows_of(seed)
    R = rounded_map(np.random.default_rng(seed).normal(size=(2, 3)))
    scaled = [[int(v * 2**MAP_BITS) for v in row] for row in R]
    largest, expected = grid.largest, []
    for row in whole_rows(X, grid):
        exact = [sum(r * q for r, q in zip(line, row, strict=True)) for line in scaled]
        nearest = [int(np.rint(value / 2**MAP_BITS)) for value in exact]  # below 2^53: exact, then rounded to even
        expected.append([float(np.clip(value, -largest, largest)) * grid.step for value in nearest])
    sums = exact_pair_sums([X.copy()], 3, 4, grid, residuals=R)
    assert sums == sums_of(grid, np.array(expected))


@given(seeds, grids, st.integers(2, 6))
def test_any_split_in_any_order_gives_the_same_bits_and_subtraction_undoes_addition(seed, grid, parts):
    X, rng = rows_of(seed), np.random.default_rng(seed)
    pieces = np.array_split(X[rng.permutation(len(X))], parts)
    for take in (sums_of, lambda grid, X: exact_tensor_sums([X.copy()], 3, grid)):
        whole = take(grid, X)
        each = [take(grid, piece) for piece in pieces]
        total = each[0]
        for part in each[1:]:
            total = total + part
        assert total == whole
        for part in reversed(each[1:]):
            total = total - part
        assert total == each[0]


def test_many_rows_are_summed_in_batches_without_loss():
    X = np.full((5000, 2), 1e9)  # clipped: every product is as large as it can be
    for grid in ARITHMETIC.values():
        if grid is not None:
            sums = sums_of(grid, X)
            assert number(sums.low.sums[2, 2], sums.high.sums[2, 2], 0, 1, 2) == 5000 * grid.largest**4
            tensor = exact_tensor_sums([X.copy()], 2, grid)
            assert int(tensor.low.packed[-1]) + (int(tensor.high.packed[-1]) << PLANE) == 5000 * grid.largest**4
            assert sums.clipped == tensor.clipped == Clipped(10_000, 10_000)


@given(seeds)
def test_read_as_floats_they_are_the_sums_of_the_rounded_rows(seed):
    grid, X = Grid(), rows_of(seed, large=False)
    rounded = grid.whole(X.copy())[0] * grid.step
    floats, plain = sums_of(grid, X).floats(), pair_sums([rounded], 3, 4)
    for power, values in plain.sums.items():
        np.testing.assert_allclose(floats.sums[power], values, rtol=1e-11, atol=1e-9)
    tensor = exact_tensor_sums([X.copy()], 3, grid).floats()
    np.testing.assert_allclose(tensor.packed, tensor_sums([rounded], 3).packed, rtol=1e-11, atol=1e-9)
    tensor.check()


def test_small_negative_numbers_survive_the_reading():
    sums = sums_of(Grid(21, 1), np.array([[-1.0, 1.0]]) / 2**20, 2)
    assert sums.floats().sums[1, 1][0, 1] == -(2.0**-40)


def test_degrees_count_the_variables_of_an_entry():
    assert sorted(packed_degrees(1)) == [0, 1, 2, 3, 4]
    assert packed_degrees(3)[0] == 0
    assert packed_degrees(3)[-1] == 4


@pytest.mark.parametrize(
    ("exact", "told", "shown"),
    [(0, (0, 0), "0"), (1, (1, 10), "< 11"), (10, (1, 10), "< 11"), (11, (11, 15), "11 to 15")],
)
def test_clipped_counts_are_told_coarsely(exact, told, shown):
    coarse = Clipped(exact, exact).coarse()
    assert (coarse.least, coarse.most) == told
    assert str(coarse) == shown


@given(st.integers(0, 10**9))
def test_the_true_count_lies_in_what_is_told(exact):
    coarse = Clipped(exact, exact).coarse()
    assert coarse.least <= exact <= coarse.most
    assert coarse.coarse() == coarse or coarse.most >= 11


def large(rows):
    sums = sums_of(Grid(), np.zeros((1, 2)))
    return replace(sums, low=replace(sums.low, count=np.array([[rows]])))


def test_too_many_rows_are_refused_before_anything_overflows():
    with pytest.raises(StatisticError, match="hold at most"):
        large(MOST_ROWS) + large(1)
    with pytest.raises(StatisticError, match="hold at most"):
        large(MOST_ROWS + 1).check()
    (large(MOST_ROWS - 1) + large(1)).check()


def changed(sums: ExactSums, half, power, at, value):
    plane = getattr(sums, half)
    values = plane.sums[power].copy()
    values[at] = value
    return replace(sums, **{half: replace(plane, sums={**plane.sums, power: values})})


def test_impossible_numbers_are_refused():
    sums = sums_of(Grid(), np.random.default_rng(0).normal(size=(30, 2)))
    sums.check()
    sums.check_possible()
    with pytest.raises(StatisticError, match="larger than any rows"):
        changed(sums, "high", (4, 0), (0, 0), 2**40).check()
    with pytest.raises(StatisticError, match="normal form"):
        changed(sums, "low", (4, 0), (0, 0), -1).check()
    with pytest.raises(StatisticError, match="no rows can have"):
        changed(sums, "low", (2, 0), (0, 0), 1).check_possible()
    for power, step in (((1, 0), 1), ((2, 0), 1), ((3, 0), 3), ((4, 0), 6)):
        with pytest.raises(StatisticError, match="no whole numbers have"):
            changed(sums, "low", power, (0, 0), sums.low.sums[power][0, 0] + step).check()
    floats = replace(sums.low, sums={power: values.astype(float) for power, values in sums.low.sums.items()})
    with pytest.raises(StatisticError, match="whole numbers"):
        replace(sums, low=floats).check()
    with pytest.raises(StatisticError, match="different kinds"):
        replace(sums, high=exact_tensor_sums([np.zeros((1, 2))], 2, Grid()).high).check()
    tensor = exact_tensor_sums([np.zeros((1, 2))], 2, Grid())
    packed = tensor.high.packed.copy()
    packed[-1] = 2**40
    for place in range(1, 4):
        other = tensor.low.packed.copy()
        other[place] += 1
        with pytest.raises(StatisticError, match="no whole numbers have"):
            replace(tensor, low=replace(tensor.low, packed=other)).check()
    with pytest.raises(StatisticError, match="larger than any rows"):
        replace(tensor, high=replace(tensor.high, packed=packed)).check()


def test_different_grids_do_not_add():
    one, two = sums_of(Grid(), np.zeros((1, 2))), sums_of(Grid(11, 16), np.zeros((1, 2)))
    with pytest.raises(StatisticError, match="do not add"):
        one + two
    with pytest.raises(StatisticError, match="do not add"):
        one - two
    assert one != two


@pytest.mark.parametrize("R", [[[0.1, 0.2]], [[2.0**14, 0.0]], [[np.nan, 1.0]]])
def test_maps_off_the_grid_are_refused(R):
    with pytest.raises(ProtocolError, match="not on the exact grid"):
        exact_pair_sums([np.zeros((2, 2))], 2, 2, Grid(), residuals=np.array(R))


@pytest.mark.parametrize(("bits", "limit"), [(1, 64), (22, 64), (21, 63), (21, 0)])
def test_impossible_grids_are_refused(bits, limit):
    with pytest.raises(ConfigError):
        Grid(bits, limit)


def test_no_rows_give_sums_of_nothing():
    for grid in (Grid(), Grid(11, 16)):
        assert exact_pair_sums([], 2, 4, grid).most_rows == 0
        assert exact_tensor_sums([], 2, grid).most_rows == 0
