"""Whether a variable can be the same quantity here as elsewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data.survey import survey
from fedrcd.data.table import Table
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.units import CONVERSIONS, Mismatch, described, unlike

NOISES = {
    "gamma": lambda rng, n: rng.gamma(2.0, size=n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "cubed": lambda rng, n: rng.normal(size=n) ** 3,
    "heavy": lambda rng, n: rng.standard_t(3, size=n),
    "binary": lambda rng, n: (rng.random(n) < 0.3).astype(float),
}


def differences(values, centre, scale):
    own = described(lambda: iter([values[:, None]]))
    return [one.mismatch for one in unlike(own, Frame(np.array([centre]), np.array([scale])))]


@pytest.mark.parametrize("noise", NOISES)
@given(level=st.floats(-20, 20), spread=st.floats(0.5, 2.0), shift=st.floats(-0.9, 0.9), seed=st.integers(0, 99))
def test_sites_that_differ_as_sites_do_are_alike(noise, level, spread, shift, seed):
    z = NOISES[noise](np.random.default_rng(seed), 300)
    elsewhere = level + 3.0 * z
    here = elsewhere.mean() + 3.0 * (spread * (z - z.mean()) + shift * z.std())
    assert differences(here, elsewhere.mean(), elsewhere.std()) == []


@pytest.mark.parametrize("conversion", CONVERSIONS, ids=lambda one: one.name)
def test_a_known_conversion_is_told(conversion):
    rng = np.random.default_rng(3)
    centre, scale = (80.0, 16.0) if conversion.factor != 1 else (37.0, 0.8)
    values = rng.normal(centre, scale, 500) * conversion.factor + conversion.offset
    own = described(lambda: iter([values[:, None]]))
    [found] = unlike(own, Frame(np.array([centre]), np.array([scale])))
    assert found.mismatch is Mismatch.UNIT
    assert f"times {conversion.factor:.4g}" in found.explanation


@pytest.mark.parametrize(
    ("factor", "offset", "difference"), [(3e4, 0.0, "spread"), (1.0, 70.0, "level"), (3e-5, 0.0, "spread")]
)
def test_other_differences_are_told_apart(factor, offset, difference):
    values = np.random.default_rng(4).normal(0.0, 10.0, 500) * factor + offset
    assert differences(values, 0.0, 10.0) == [difference]


def test_neither_chunks_nor_order_nor_gaps_matter():
    values = np.random.default_rng(5).gamma(2.0, size=(400, 2))
    mixed = np.concatenate([values[::-1], np.full((30, 2), np.nan)])
    whole, parts = described(lambda: iter([values])), described(lambda: iter(np.array_split(mixed, 7)))
    counted = survey(Table(mixed, columns=("a", "b"))).counted
    known = described(lambda: iter(np.array_split(mixed, 7)), counted)
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(whole, known, strict=True))
