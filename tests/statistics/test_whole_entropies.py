"""Entropy sums in whole numbers: near those of float64, and the same however rows are split."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

from fedrcd.errors import StatisticError
from fedrcd.statistics.entropy_sums import EntropySums, entropy_sums
from fedrcd.statistics.grid import ARITHMETIC, rounded_map
from fedrcd.statistics.whole_entropies import FINENESS, LARGEST, _tables, carries, whole_entropy_sums

GRID = ARITHMETIC["exact"]
PAIRS = np.array([[0, 1], [1, 0], [2, 0]])


def rows(n=3000, seed=1):
    return np.random.default_rng(seed).laplace(size=(n, 3))


def asked(z):
    R = rounded_map(np.linalg.inv(np.linalg.cholesky(np.cov(z.T))))
    offset = rounded_map(R @ z.mean(axis=0))
    return R, offset, PAIRS, np.array([0.3, 0.3, -0.9])


def whole(z, *, singles=True, blocks=1):
    return whole_entropy_sums(np.array_split(z, blocks), *asked(rows()), GRID, singles=singles)


def test_they_are_near_those_of_float64():
    z = rows()
    R, offset, pairs, rho = asked(z)
    exact, plain = whole(z).floats(), entropy_sums([z @ R.T - offset], 3, pairs, rho)
    assert exact.count == plain.count
    np.testing.assert_allclose(exact.entropy(), plain.entropy(), rtol=2e-5)


def test_rows_may_be_split_in_any_way():
    z = rows()
    parts = [whole(part) for part in np.split(z, [1, 400, 1900])]
    assert sum(parts[1:], parts[0]) == whole(z) == whole(z, blocks=7)
    assert whole(z) - parts[0] == sum(parts[2:], parts[1])


def test_singles_need_not_be_asked_for():
    z = rows()
    both, pairs = whole(z).floats(), whole(z, singles=False).floats()
    assert (both.log_cosh[3:] == pairs.log_cosh).all()
    assert (both.gauss[3:] == pairs.gauss).all()


def test_the_table_is_right_to_half_a_step():
    """By sixty decimal digits, which no machine rounds otherwise."""
    getcontext().prec = 60
    log_cosh, gauss = _tables(GRID)
    unit = Decimal(1 / GRID.step**2)
    for k in (0, 1, 2, 77, 8191, 8192, 12345, 65536, 300001, LARGEST):
        u = Decimal(k) / (1 << FINENESS)
        true = (((u.exp() + (-u).exp()) / 2).ln() * unit, u * (-u * u / 2).exp() * unit)
        for table, value in zip((log_cosh, gauss), true, strict=True):
            assert abs(Decimal(int(table[k])) - value) <= Decimal("0.501")


def test_a_row_far_out_counts_as_one_at_the_end_of_the_table():
    far = np.full((1, 3), 1e6)
    total = whole(far).floats()
    assert (total.log_cosh <= 64 + 1e-6).all()
    assert (total.gauss == 0).all()
    total.check()


def test_maps_off_the_grid_and_too_large_are_refused():
    R, offset, pairs, rho = asked(rows())
    with pytest.raises(StatisticError, match="not on the exact grid"):
        whole_entropy_sums([rows()], R + 1e-9, offset, pairs, rho, GRID, singles=True)
    with pytest.raises(StatisticError, match="too large"):
        whole_entropy_sums([rows()], R * 2.0**15, offset, pairs, rho, GRID, singles=True)
    with pytest.raises(StatisticError, match="nearly the same"):
        whole_entropy_sums([rows()], R, offset, pairs, np.full(3, 1 - 1e-12), GRID, singles=True)


def test_only_a_fine_grid_carries_entropies():
    assert carries(GRID)
    assert not carries(ARITHMETIC["compact"])
    assert not carries(None)


def test_impossible_totals_are_seen():
    total = whole(rows())
    assert total.check() is None
    halves = total.low, EntropySums(0, total.high.log_cosh, total.high.gauss + (1 << 20))
    spoilt = type(total)(GRID, *halves)
    with pytest.raises(StatisticError, match="no rows can have"):
        spoilt.check_possible()
    assert math.isclose(total.floats().log_cosh[0] / 3000, np.log(np.cosh(0.9)), abs_tol=0.4)
