import numpy as np
import pytest
from hypothesis import given

from fedrcd.errors import ConfigError
from fedrcd.statistics.frame import SAMPLED_ROWS, Frame
from tests.strategies import proposed, seeds, wild_tables


@given(wild_tables())
def test_proposed_scales_are_powers_of_two(X):
    mantissa, _ = np.frexp(proposed([X]).scale)
    np.testing.assert_array_equal(mantissa, 0.5)


@given(seeds)
def test_a_proposed_frame_is_roughly_right(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1e3, 1e3, 3) + 10 ** rng.uniform(-9, 9, 3) * rng.normal(size=(200, 3))
    z = proposed([X[:50], X[50:]]).express(X)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.5)
    np.testing.assert_array_less(np.abs(np.log2(z.std(axis=0))), 1)


def test_a_sorted_table_gives_the_frame_of_a_shuffled_one():
    X = np.random.default_rng(0).exponential(size=(3 * SAMPLED_ROWS, 2))
    shuffled, ordered = proposed([X]), proposed([np.sort(X, axis=0)])
    np.testing.assert_allclose(ordered.centre, shuffled.centre, atol=0.05)
    np.testing.assert_array_equal(ordered.scale, shuffled.scale)


def test_a_column_that_does_not_vary_gets_scale_one():
    assert proposed([np.full((5, 1), 3.0)]).scale.item() == 1.0


def test_a_frame_subtracts_the_centre_and_divides_by_the_scale():
    frame = Frame(np.array([1.0, -2.0]), np.array([2.0, 4.0]))
    np.testing.assert_array_equal(frame.express(np.array([[5.0, 6.0]])), [[2.0, 2.0]])


def test_a_frame_writes_where_it_is_told_and_leaves_the_rows_alone():
    rows, out = np.array([[5.0, 6.0]]), np.empty((1, 2))
    z = Frame(np.array([1.0, -2.0]), np.array([2.0, 4.0])).express(rows, out=out)
    assert z is out
    np.testing.assert_array_equal(rows, [[5.0, 6.0]])


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_scales_must_be_positive_and_finite(scale):
    with pytest.raises(ConfigError, match="scales must be positive"):
        Frame(np.zeros(2), np.array([1.0, scale]))


def test_centres_must_be_finite():
    with pytest.raises(ConfigError, match="centres"):
        Frame(np.array([np.nan]), np.ones(1))


def test_a_frame_needs_a_scale_for_every_centre():
    with pytest.raises(ConfigError, match="per variable"):
        Frame(np.zeros(2), np.ones(3))
