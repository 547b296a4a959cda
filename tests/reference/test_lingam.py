"""Order and effects agree with the `lingam` package, which reads rows and shares no code with ours."""

import warnings

import numpy as np
import pytest

from fedrcd import discover
from fedrcd.data import NOISE_FAMILIES, random_model, split_rows

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")]

CASES = [(seed, noise) for seed, noise in enumerate((*NOISE_FAMILIES, "laplace", "uniform", "gamma", "mixed"))]


@pytest.fixture(scope="module")
def direct_lingam():
    """Fits lingam's estimator; foreign warnings are not ours to judge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import lingam

    def fit(X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lingam.DirectLiNGAM().fit(X)

    return fit


def rows(seed, noise):
    """Rows of a random model of 4 to 8 variables."""
    rng = np.random.default_rng([seed, 1])
    model = random_model(int(rng.integers(4, 9)), noise=noise, density=0.5, rng=rng)
    return model.sample(int(rng.integers(300, 1001)), rng), rng


def order_of(found):
    return [found.names.index(name) for name in found.order]


@pytest.mark.parametrize(("seed", "noise"), CASES)
def test_direct_lingam_gives_the_order_of_lingam(direct_lingam, seed, noise):
    X, _ = rows(seed, noise)
    assert order_of(discover(X, "direct-lingam")) == direct_lingam(X).causal_order_


@pytest.mark.parametrize(("seed", "noise"), CASES)
def test_fed_direct_gives_the_order_of_lingam(direct_lingam, seed, noise):
    X, rng = rows(seed, noise)
    sites = [X[part] for part in split_rows(len(X), 3, scheme="unequal", minimum=10, rng=rng)]
    assert order_of(discover(sites, "fed-direct")) == direct_lingam(X).causal_order_


@pytest.mark.parametrize(("seed", "noise"), CASES)
def test_effects_chosen_by_bic_are_those_of_lingam(direct_lingam, seed, noise):
    X, _ = rows(seed, noise)
    expected = direct_lingam(X).adjacency_matrix_
    np.testing.assert_allclose(discover(X, "direct-lingam", weights="bic").B, expected, atol=1e-6)
