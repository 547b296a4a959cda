"""Linear algebra of which every step is rounded alike everywhere."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.statistics.steady_algebra import applied, eigen, power, product, solved, triangle
from tests.strategies import seeds

sizes = st.integers(1, 12)


def drawn(seed, n):
    return np.random.default_rng(seed).normal(size=(n, n))


@given(seeds, sizes)
def test_eigenvalues_and_vectors_are_those_of_libraries(seed, n):
    A = drawn(seed, n)
    A = A + A.T
    values, vectors = eigen(A)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A), atol=1e-12 * n)
    np.testing.assert_allclose(vectors * values @ vectors.T, A, atol=1e-12 * n)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)


@given(seeds, sizes)
def test_powers_add_up(seed, n):
    A = drawn(seed, n)
    A = A @ A.T + np.eye(n)
    np.testing.assert_allclose(power(A, -0.5) @ A @ power(A, -0.5), np.eye(n), atol=1e-9)
    np.testing.assert_allclose(power(A, 0.3) @ power(A, 0.7), A, rtol=1e-9, atol=1e-9)


@given(seeds, sizes)
def test_triangles_and_their_solutions(seed, n):
    A, x = drawn(seed, n), drawn(seed + 1, n)[0]
    upper = triangle(A)
    assert not np.tril(upper, -1).any()
    np.testing.assert_allclose(upper.T @ upper, A.T @ A, atol=1e-11)
    np.testing.assert_allclose(upper @ solved(upper, x), x, atol=1e-9 * np.linalg.cond(upper))


@given(seeds, sizes)
def test_sums_are_the_exact_ones_rounded(seed, n):
    """Products are rounded, then their exact sum is; in any order of the columns the same bits."""
    A, x = drawn(seed, n), drawn(seed + 1, n)[0]
    exact = [float(sum(Fraction(value) for value in (row * x).tolist())) for row in A]
    assert applied(A, x).tolist() == exact
    turn = np.random.default_rng(seed).permutation(n)
    assert np.array_equal(applied(A[:, turn], x[turn]), applied(A, x))


def test_nothing_in_it_is_left_to_a_library(monkeypatch):
    """Whose bits differ between machines: were one called, this would fail."""
    A, B = drawn(1, 6), drawn(2, 6)
    for name in ("eigh", "eigvalsh", "qr", "cholesky", "solve", "inv"):
        monkeypatch.setattr(np.linalg, name, lambda *_: pytest.fail("a library was called"))
    found = [eigen(A + A.T)[0], product(A, B), triangle(A), power(A @ A.T + np.eye(6), -0.5)]
    assert all(np.isfinite(one).all() for one in found)
