"""Rows, or a site, that decide an order are named."""

from dataclasses import replace

import numpy as np
import pytest

import fedrcd
from fedrcd.data import NOISE_FAMILIES, random_model
from fedrcd.errors import OutlierWarning, SitesWarning

P, SITES, ROWS = 8, 6, 400


@pytest.fixture
def simulated():
    rng = np.random.default_rng(11)
    model = random_model(P, noise="laplace", rng=rng)
    return model, rng


def tables_of(X, parts=SITES):
    return [fedrcd.Table(part, f"hospital {k}", f"rows {k}") for k, part in enumerate(np.array_split(X, parts))]


def lie(model, rng, factor):
    rows = replace(model, B=model.B.T.copy()).sample(ROWS, rng)
    return fedrcd.Table(factor * rows / rows.std(axis=0), "hospital x", "rows x")


@pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
def test_a_site_that_decides_the_order_is_named(simulated):
    model, rng = simulated
    X = model.sample(SITES * ROWS, rng)
    honest = tables_of(X / X.std(axis=0))
    with pytest.warns(SitesWarning, match="'hospital x' decides the order"):
        found = fedrcd.discover([*honest, lie(model, rng, 6.0)], "fedrcd-s")
    assert sum("decides the order" in note for note in found.notes) == 1


@pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
def test_rows_that_decide_the_order_are_spoken_of(simulated):
    model, rng = simulated
    X = model.sample(SITES * ROWS, rng)
    X[rng.random(X.shape) < 0.002] *= 100
    with pytest.warns(OutlierWarning, match="some rows of .* decide the order"):
        fedrcd.discover(tables_of(X), "fedrcd-s")
    robust = fedrcd.discover(tables_of(X), "fedrcd-r")
    assert not any("decide the order" in note for note in robust.notes)


@pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
@pytest.mark.parametrize("noise", NOISE_FAMILIES[::3])
def test_nothing_is_said_of_clean_rows(noise):
    rng = np.random.default_rng([5, NOISE_FAMILIES.index(noise)])
    X = random_model(P, noise=noise, rng=rng).sample(SITES * ROWS, rng)
    found = fedrcd.discover(tables_of(X), "fedrcd-s")
    assert not any("decide" in note for note in found.notes)


@pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
def test_sites_that_differ_and_agree_decide_nothing(simulated):
    model, rng = simulated
    parts = [replace(model, noise_sd=model.noise_sd * rng.uniform(0.5, 2, P)).sample(ROWS, rng) for _ in range(SITES)]
    tables = [fedrcd.Table(part, f"hospital {k}", f"rows {k}") for k, part in enumerate(parts)]
    found = fedrcd.discover(tables, "fedrcd-s")
    assert not any("decide" in note for note in found.notes)
