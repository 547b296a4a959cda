"""Sortabilities agree with CausalDisco, whose graphs are indexed [from, to] and which reads rows."""

import numpy as np
import pytest

from fedrcd.data import random_model
from fedrcd.graphs import r2_sortability, varsortability

pytestmark = pytest.mark.reference


@pytest.mark.parametrize("seed", range(50))
def test_sortabilities_agree_with_causaldisco(seed):
    from CausalDisco import analytics

    rng = np.random.default_rng(seed)
    model = random_model(int(rng.integers(5, 15)), density=0.5, rng=rng)
    X = model.sample(300, rng)
    cov = np.cov(X.T, ddof=0)
    assert varsortability(np.diag(cov), model.B) == pytest.approx(analytics.var_sortability(X, model.B.T))
    assert r2_sortability(cov, model.B) == pytest.approx(analytics.r2_sortability(X, model.B.T))
