"""Orders and effects over time agree with `lingam`; many more series are compared by `make verify`."""

import numpy as np
import pytest
from tests.verification.series import LAGS, SIZES, compared, series

from fedrcd.lingam import LongitudinalLiNGAM, VARLiNGAM

pytestmark = pytest.mark.reference


@pytest.mark.parametrize("p", SIZES[:2])
@pytest.mark.parametrize("lags", LAGS)
def test_fed_direct_over_time_is_var_lingam(p, lags):
    same, difference = compared(p, lags, seed=100)
    assert same
    assert difference < 1e-6


@pytest.mark.parametrize("criterion", ["bic", "aic", "hqic", "fpe", None])
@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_the_estimator_gives_what_lingam_gives(criterion, prune, shift):
    from lingam import VARLiNGAM as Theirs

    X = series(4, 2, seed=200) + shift
    how = {"lags": 3, "criterion": criterion, "prune": prune}
    ours, theirs = VARLiNGAM(**how).fit(X), Theirs(**how).fit(X)
    assert ours.causal_order_ == list(theirs.causal_order_)
    assert ours.adjacency_matrices_.shape == theirs.adjacency_matrices_.shape
    assert np.allclose(ours.adjacency_matrices_, theirs.adjacency_matrices_, atol=1e-6)
    assert np.allclose(ours.residuals_, theirs.residuals_, atol=1e-8)
    first, last = ours.causal_order_[0], ours.causal_order_[-1]
    for lag in (0, 1):
        along = theirs.estimate_total_effect2(4, first, last, from_lag=lag)
        assert ours.estimate_total_effect2(4, first, last, from_lag=lag) == pytest.approx(along, abs=1e-6)
        effect = theirs.estimate_total_effect(X, first, last, from_lag=lag)
        assert ours.estimate_total_effect(X, first, last, from_lag=lag) == pytest.approx(effect, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_longitudinal_estimator_gives_what_lingam_gives(seed):
    from lingam import LongitudinalLiNGAM as Theirs

    rng, p = np.random.default_rng(seed), 4
    effects = np.tril(rng.uniform(0.5, 1.2, (p, p)), -1)
    tables = [rng.laplace(size=(600, p))]
    for _ in range(4):
        past = 0.5 * tables[-1][:, rng.permutation(p)]
        tables.append((past + rng.laplace(size=(600, p)) + 1) @ np.linalg.inv(np.eye(p) - effects).T)
    ours, theirs = LongitudinalLiNGAM().fit(tables), Theirs().fit(tables)
    assert ours.causal_orders_[1:] == [list(order) for order in theirs.causal_orders_[1:]]
    assert np.allclose(ours.adjacency_matrices_, theirs.adjacency_matrices_, atol=1e-6, equal_nan=True)
    assert np.allclose(ours.residuals_[1:], np.array(theirs.residuals_)[1:], atol=1e-8)
    first, last = ours.causal_orders_[2][0], ours.causal_orders_[2][-1]
    for later in (2, 3):
        along = theirs.estimate_total_effect2(2, first, later, last)
        assert ours.estimate_total_effect2(2, first, later, last) == pytest.approx(along, abs=1e-6)
        effect = theirs.estimate_total_effect(tables, 2, first, later, last)
        assert ours.estimate_total_effect(tables, 2, first, later, last) == pytest.approx(effect, abs=1e-6)
