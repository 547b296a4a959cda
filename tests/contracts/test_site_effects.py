"""Sites that differ in level and unit."""

import numpy as np
import pytest

import fedrcd
from fedrcd.data.simulate.models import random_model
from fedrcd.errors import ScaleWarning
from fedrcd.graphs.metrics import ancestral_accuracy
from tests.contracts.federations import (
    FEDERATED,
    simulated,
)

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")


@pytest.mark.parametrize("within", ["centre", "standardise"])
@pytest.mark.parametrize("method", FEDERATED)
def test_scaling_within_sites_is_scaling_the_tables_first(method, within):
    _, X = simulated(4, 600)
    tables = np.split(X, [200, 350])
    done = [(t - t.mean(axis=0)) / (t.std(axis=0) if within == "standardise" else 1) for t in tables]
    assert pytest.approx(fedrcd.discover(done, method).B, abs=1e-8) == fedrcd.discover(tables, method, within=within).B


def test_sites_that_differ_in_level_and_unit_are_ordered_rightly_once_each_is_standardised():
    model, X = simulated(8, 6000, seed=4)
    rng = np.random.default_rng(1)
    tables = [rng.normal(size=8) * 10 + part * rng.uniform(0.1, 10, 8) for part in np.split(X, 6)]

    def accuracy(found):
        return ancestral_accuracy([int(name[1:]) - 1 for name in found.order], model.B)

    assert accuracy(fedrcd.discover(tables, within="standardise")) == 1
    assert accuracy(fedrcd.discover(tables)) < 1


def test_a_method_that_reads_scale_is_warned_of_when_sites_take_it_away():
    _, X = simulated(4, 600)
    with pytest.warns(ScaleWarning, match="standardise"):
        fedrcd.discover(np.split(X, 2), "fedrcd-x", within="standardise")


@pytest.mark.parametrize(
    ("change", "within"),
    [
        (lambda part, _: part, "none"),
        (lambda part, rng: part + 2 * rng.normal(size=8), "centre"),
        (lambda part, rng: part * rng.uniform(0.5, 2, 8), "standardise"),
    ],
    ids=["alike", "shifted", "rescaled"],
)
def test_sites_are_asked_once_whether_they_differ(change, within):
    _, X = simulated(8, 6000, seed=4)
    rng = np.random.default_rng(2)
    found = fedrcd.discover([change(part, rng) for part in np.split(X, 6)], "fedrcd-s", within="auto")
    assert f"within='{within}'" in found.chosen
    assert found.rounds == 2


@pytest.mark.parametrize("family", ["exponential-cubed", "pareto", "gaussian-cubed"])
def test_heavy_tails_are_not_taken_for_sites_that_differ(family):
    chosen = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = random_model(5, noise=family, rng=rng).sample(10_000, rng)
        chosen.append(fedrcd.discover(np.split(X, 5), "fedrcd-ni", within="auto").chosen)
    assert sum("'none'" in reason for reason in chosen) >= 4
