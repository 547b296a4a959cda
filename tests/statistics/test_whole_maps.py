"""Residual maps in whole numbers: those of least squares, with the bits that any machine has."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.errors import StatisticError
from fedrcd.statistics.residual_maps import residual_map
from fedrcd.statistics.whole_maps import whole_residual_map


def covariance(seed, p):
    A = np.random.default_rng(seed).normal(size=(p, 2 * p + 3))
    return A @ A.T / A.shape[1]


def by_fractions(cov, given_):
    """The residual map of exact rational numbers, by elimination."""
    p, left = len(cov), [[Fraction(value) for value in row] for row in cov.tolist()]
    maps = [[Fraction(int(i == j)) for j in range(p)] for i in range(p)]
    for k, source in enumerate(given_):
        for j in set(range(p)) - set(given_[: k + 1]):
            weight = left[j][source] / left[source][source]
            maps[j] = [a - weight * b for a, b in zip(maps[j], maps[source], strict=True)]
            left[j] = [a - weight * b for a, b in zip(left[j], left[source], strict=True)]
    return maps, left


@given(st.integers(0, 2**32), st.integers(2, 6), st.data())
def test_it_is_the_map_of_exact_fractions_to_the_last_bit(seed, p, data):
    cov = covariance(seed, p)
    sources = tuple(data.draw(st.permutations(range(p)))[: data.draw(st.integers(0, p - 1))])
    found = whole_residual_map(cov, sources)
    maps, left = by_fractions(cov, sources)
    rest = [j for j in range(p) if j not in sources]
    assert found.rest == tuple(rest)
    np.testing.assert_allclose(found.R, [[float(value) for value in maps[j]] for j in rest], rtol=1e-15, atol=1e-30)
    np.testing.assert_allclose(found.cov, [[float(left[i][j]) for j in rest] for i in rest], rtol=1e-15, atol=1e-30)


def test_it_is_near_that_of_linear_algebra():
    cov = covariance(1, 12)
    for k in range(12):
        R, rest = residual_map(cov, tuple(range(k)))
        found = whole_residual_map(cov, tuple(range(k)))
        assert found.rest == rest
        np.testing.assert_allclose(found.R, R, atol=1e-9)


def test_what_does_not_vary_is_no_regressor():
    cov = np.ones((2, 2))
    with pytest.raises(StatisticError, match="does not vary, given others"):
        whole_residual_map(np.block([[cov, cov[:, :1]], [cov[:1], 2 * np.ones((1, 1))]]), (0, 1))
