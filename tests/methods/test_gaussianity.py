import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from fedrcd import discover
from fedrcd.data import random_model
from fedrcd.errors import IdentifiabilityWarning
from fedrcd.methods.gaussianity import (
    GAUSS_VARIANCE,
    LOG_COSH_VARIANCE,
    distance_from_gaussian,
    entropy_distance_from_gaussian,
)
from fedrcd.methods.registry import METHODS
from fedrcd.statistics.entropy_sums import GAMMA, entropy_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import pair_cumulants
from tests.strategies import sums_of

THIRD_ORDER = [name for name, card in METHODS.items() if card.score == "tau3"]
FOURTH_ORDER = [name for name in METHODS if name not in THIRD_ORDER]
NO_PAIRS = np.empty((0, 2), dtype=np.int64)


def expectation(function):
    """E f(u) for standard Gaussian u, by quadrature."""
    return quad(lambda u: function(u) * norm.pdf(u), -12, 12, epsabs=1e-13, limit=200)[0]


def log_cosh(u):
    return np.log(np.cosh(u))


def gauss(u):
    return u * np.exp(-(u**2) / 2)


def variance_after_standardising(function):
    """Variance left of f(u) once its regressions on u and on u² are taken out, as the sample's mean and sd do."""
    mean = expectation(function)
    on_u, on_square = expectation(lambda u: function(u) * u), expectation(lambda u: function(u) * (u**2 - 1))
    return expectation(lambda u: (function(u) - mean) ** 2) - on_u**2 - on_square**2 / 2


def test_gamma_is_the_expectation_of_log_cosh():
    assert pytest.approx(expectation(log_cosh), abs=5e-6) == GAMMA


def test_the_variance_of_log_cosh_is_what_quadrature_says():
    assert pytest.approx(variance_after_standardising(log_cosh), abs=5e-8) == LOG_COSH_VARIANCE


def test_the_variance_of_the_gauss_term_is_what_quadrature_says():
    assert pytest.approx(variance_after_standardising(gauss), abs=1e-12) == GAUSS_VARIANCE


def gaussian_tables(n, repeats=400):
    rng = np.random.default_rng(0)
    return rng.normal(3.0, 2.0, size=(n, repeats))


@pytest.mark.parametrize("order", [3, 4])
def test_cumulant_distances_of_gaussian_rows_are_standard_errors(order):
    X = gaussian_tables(2000)
    distance = distance_from_gaussian(pair_cumulants(sums_of(X, order), Frame.identity(X.shape[1])))
    expected = {3: 1.0, 4: 1.31}[order]  # root mean square of |z|, and of the larger of two
    assert np.sqrt(np.mean(distance**2)) == pytest.approx(expected, abs=0.12)


def test_entropy_distances_of_gaussian_rows_are_standard_errors():
    X = gaussian_tables(2000)
    u = (X - X.mean(axis=0)) / X.std(axis=0)
    distance = entropy_distance_from_gaussian(entropy_sums([u], u.shape[1], NO_PAIRS, np.empty(0)))
    assert np.sqrt(np.mean(distance**2)) == pytest.approx(1.31, abs=0.12)


def test_the_covariance_alone_cannot_say():
    X = gaussian_tables(50, repeats=3)
    assert np.isinf(distance_from_gaussian(pair_cumulants(sums_of(X, 2), Frame.identity(3)))).all()


def rows(noise, n=2000):
    rng = np.random.default_rng(5)
    return random_model(4, noise=noise, density=0.5, rng=rng).sample(n, rng)


quietly = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")


def doubts(found):
    """Notes that say the order is not identified."""
    return [note for note in found.notes if "cannot identify the order" in note]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::fedrcd.errors.ScaleWarning")
def test_gaussian_rows_are_warned_of(method):
    with pytest.warns(IdentifiabilityWarning, match=f"{method} cannot identify the order"):
        discover(rows("gaussian"), method)


@quietly
@pytest.mark.parametrize("method", METHODS)
def test_the_warning_is_noted_in_the_result(method):
    assert len(doubts(discover(rows("gaussian"), method))) == 1


@quietly
@pytest.mark.parametrize("method", FOURTH_ORDER)
@pytest.mark.parametrize("noise", ["laplace", "uniform", "exponential"])
def test_other_rows_are_not_warned_of(method, noise):
    assert doubts(discover(rows(noise), method)) == []


@quietly
@pytest.mark.parametrize("method", THIRD_ORDER)
def test_skewed_rows_are_not_warned_of(method):
    assert doubts(discover(rows("exponential"), method)) == []


@pytest.mark.parametrize("method", THIRD_ORDER)
@pytest.mark.filterwarnings("ignore::fedrcd.errors.ScaleWarning")
def test_a_third_order_method_misses_the_skewness_of_symmetric_rows(method):
    with pytest.warns(IdentifiabilityWarning, match=r"skewness.*fourth-order"):
        discover(rows("uniform"), method)
