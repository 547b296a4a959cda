from dataclasses import asdict

import numpy as np
import pytest
from experiments.tasks.stretching import TOP, climbing, internally_scaled, stretch

from fedrcd.data.simulate.models import random_model
from fedrcd.evaluation.evaluate import DataSetting
from fedrcd.graphs.metrics import varsortability


def variances(model):
    return (model.mixing**2 * model.noise_cumulants.variance).sum(axis=1)


@pytest.fixture
def model():
    return random_model(10, noise="laplace", density=0.4, rng=np.random.default_rng(3))


def test_internal_scaling_makes_all_variances_one(model):
    np.testing.assert_allclose(variances(internally_scaled(model, 1.0)), 1)


def test_no_internal_scaling_changes_nothing(model):
    same = internally_scaled(model, 0.0)
    np.testing.assert_array_equal(same.B, model.B)
    np.testing.assert_array_equal(same.noise_sd, model.noise_sd)


def test_some_internal_scaling_keeps_the_graph_and_flattens_the_ladder(model):
    flatter = internally_scaled(model, 0.9)
    np.testing.assert_array_equal(flatter.B != 0, model.B != 0)
    assert np.ptp(np.log(variances(flatter))) < 0.5 * np.ptp(np.log(variances(model)))


def test_an_undisturbed_climb_follows_the_order(model):
    rng = np.random.default_rng(0)
    climb = climbing(model.B, 0.0, rng)
    assert varsortability(climb**2, model.B) == 1.0
    assert (climb.min(), climb.max()) == pytest.approx((1, TOP))
    disturbed = [varsortability(climbing(model.B, 100.0, rng), model.B) for _ in range(50)]
    assert np.mean(disturbed) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("way", ["units", "generation"])
def test_stretched_data_are_measured(way):
    setting = DataSetting(noise="laplace", seed=0, p=5, sites=2, rows=500)
    (row,) = stretch(way=way, amount=0.0, method="fedrcd-s", **asdict(setting))
    assert row["accuracy"] == 1.0
    assert 0 <= row["varsortability"] <= 1
    if way == "units":
        assert row["sorted_accuracy"] == 1.0
