"""Inputs at the edge: every method gives a permutation with finite effects, or one clear error."""

import warnings

import numpy as np
import pytest

import fedrcd
from fedrcd.errors import DataError, FedrcdError, FedrcdWarning, StatisticError
from fedrcd.methods.registry import METHODS

every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(autouse=True)
def _notes_are_not_the_subject():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedrcdWarning)
        yield


def require_sound_or_refused(x, method, *, refused=True):
    """What leaves far rows out says that too little is left; all other methods must give an answer."""
    if method != "fedrcd-r" or not refused:
        require_sound(fedrcd.discover(x, method))
        return
    with pytest.raises((DataError, StatisticError)) as refusal:
        fedrcd.discover(x, method)
    assert "\n" not in str(refusal.value)


def require_sound(found):
    assert sorted(found.order) == sorted(found.names)
    assert np.isfinite(found.B).all()
    assert all(np.isfinite(list(step.scores.values())).all() for step in found.trace)


@every_method
def test_two_variables_are_enough(method):
    x = np.random.default_rng(0).laplace(size=(3000, 2))
    x[:, 1] += x[:, 0]
    require_sound(fedrcd.discover(x, method))


@every_method
@pytest.mark.parametrize("left", [1e-3, 1e-4])
def test_a_nearly_deterministic_variable_is_ordered_without_nan(method, left):
    rng = np.random.default_rng(0)
    x = rng.laplace(size=(2000, 4))
    x[:, 3] = x[:, 0] - x[:, 1] + left * x[:, 3]
    require_sound_or_refused(x, method, refused=left < 1e-3)


@every_method
def test_a_linear_combination_is_refused_with_its_columns(method):
    x = np.random.default_rng(0).laplace(size=(2000, 4))
    x[:, 3] = x[:, 0] - x[:, 1]
    with pytest.raises(StatisticError, match=r"'x4' is a linear combination of 'x1', 'x2'"):
        fedrcd.discover(x, method)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "fedrcd-r"])  # where no row dominates
def test_values_whose_powers_overflow_are_refused_by_column(method):
    x = np.random.default_rng(0).laplace(size=(2000, 3))
    x[5, 1] = 1e300
    with pytest.raises(FedrcdError, match="'x2'") as refusal:
        fedrcd.discover(x, method)
    assert "e+300" not in str(refusal.value)


@every_method
def test_cauchy_tails_are_ordered_without_nan(method):
    x = np.random.default_rng(0).standard_cauchy(size=(2000, 4))
    x[:, 2] += x[:, 0]
    require_sound(fedrcd.discover(x, method))


@every_method
def test_two_valued_columns_are_ordered_without_nan(method):
    rng = np.random.default_rng(0)
    x = (rng.random((2000, 4)) < 0.5).astype(float)
    x[:, 3] = np.where(rng.random(2000) < 0.9, x[:, 0], x[:, 3])
    require_sound_or_refused(x, method)


@every_method
def test_the_fewest_rows_that_are_accepted_give_a_sound_answer(method):
    x = np.random.default_rng(0).laplace(size=(8, 5))
    require_sound_or_refused(x, method)
    with pytest.raises(DataError, match="8 rows"):
        fedrcd.discover(x[:7], method)


@every_method
@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_very_large_and_small_units_are_ordered_without_nan(method, factor):
    x = np.random.default_rng(0).laplace(size=(2000, 3)) * factor
    x[:, 1] += x[:, 0]
    require_sound(fedrcd.discover(x, method))


@every_method
@pytest.mark.parametrize("factor", [1e-60, 1e60, 1e100])
def test_absurd_units_are_refused(method, factor):
    x = np.random.default_rng(0).laplace(size=(2000, 3)) * factor
    with pytest.raises(StatisticError, match="change its unit"):
        fedrcd.discover(x, method)
