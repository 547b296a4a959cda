"""Order and effects over time agree with `lingam.VARLiNGAM`; many more series are compared by `make verify`."""

import numpy as np
import pytest
from tests.verification.series import LAGS, SIZES, compared, series

from fedrcd.lingam import VARLiNGAM

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
        effect = theirs.estimate_total_effect(X, first, last, from_lag=lag)
        assert ours.estimate_total_effect(X, first, last, from_lag=lag) == pytest.approx(effect, abs=1e-6)
