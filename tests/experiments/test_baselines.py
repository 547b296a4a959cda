import numpy as np
import pytest
from experiments.tasks.baselines import BASELINES
from experiments.tasks.notears import _acyclicity, _lagrangian, notears

from fedrcd.data.simulate.models import random_model
from fedrcd.graphs.dag import is_acyclic, is_valid_order


@pytest.mark.parametrize("seed", range(3))
def test_notears_returns_an_acyclic_graph_even_of_tangled_data(seed):
    rng = np.random.default_rng(seed)
    assert is_acyclic(notears(np.cov(rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3)), rowvar=False)))


def test_notears_recovers_a_graph_of_equal_variances():
    rng = np.random.default_rng(2)
    model = random_model(5, noise="laplace", noise_sd=(1.0, 1.0), rng=rng)
    found = notears(np.cov(model.sample(20_000, rng), rowvar=False), penalty=0.01)
    np.testing.assert_array_equal(found != 0, model.B != 0)
    np.testing.assert_allclose(found, model.B, atol=0.1)


def test_the_gradient_of_notears_is_that_of_its_value():
    rng = np.random.default_rng(0)
    cov = np.cov(rng.normal(size=(30, 3)), rowvar=False)
    w, step = rng.uniform(0.1, 1, 18), 1e-6
    _, gradient = _lagrangian(w, cov, 0.1, 2.0, 0.5)
    for k in range(18):
        change = np.eye(18)[k] * step
        slope = (_lagrangian(w + change, cov, 0.1, 2.0, 0.5)[0] - _lagrangian(w - change, cov, 0.1, 2.0, 0.5)[0]) / (
            2 * step
        )
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_acyclicity_is_zero_without_cycles_only():
    assert _acyclicity(np.tril(np.ones((4, 4)), -1))[0] == pytest.approx(0)
    assert _acyclicity(np.ones((4, 4)) - np.eye(4))[0] > 1


@pytest.mark.reference
@pytest.mark.parametrize("name", [name for name, one in BASELINES.items() if "kernel" not in name])
def test_every_baseline_orders_an_easy_model(name):
    rng = np.random.default_rng(5)
    model = random_model(4, noise="exponential", density=0.6, noise_sd=(1.0, 1.0), weights=(1.2, 1.5), rng=rng)
    order, B = BASELINES[name].fit(np.split(model.sample(3000, rng), 3))
    assert sorted(order.tolist()) == [0, 1, 2, 3]
    assert B.shape == (4, 4)
    if name != "R2 sort":
        assert is_valid_order(order, model.B)
        assert set(zip(*np.nonzero(model.B), strict=True)) <= set(zip(*np.nonzero(B), strict=True))
