"""How to add a score, in one file.

A score says how much each variable looks like a source, from a statistic that is pooled over all sites. A method is a
choice of parts: a score, a deflation (what is known once a source is taken out; here nothing changes) and weights.
`@register` makes it known by a name, with a card that says what it asks of the sites. Nothing else has to be told:
`fedrcd.discover`, `fedrcd.bootstrap`, `fedrcd.check` and the command line find it by its name.
"""

import numpy as np
import pytest

import fedrcd
from fedrcd.methods.card import ONE_ROUND, REGISTERED, Coverage, Payload, register
from fedrcd.methods.deflations.none import NoDeflation
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import PairCumulants
from fedrcd.typing import Vector

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here


def excess(k: PairCumulants) -> Vector:
    """The excess kurtosis of every variable: sums of errors are nearer to Gaussian than the errors they are made of."""
    return np.abs(k.standardised().k4[:, 0])


@pytest.fixture
def method():
    """The method, for as long as a test runs; in a package of your own `@register` stands at the top of a module."""

    @register(
        "by-kurtosis",
        score="excess kurtosis",
        deflation="none",
        rounds=ONE_ROUND,
        payload=Payload(2),
        coverage=Coverage.PAIRS,
        scale_free=True,
        erasable=True,
    )
    def by_kurtosis() -> Parts[PairCumulants]:
        """Sources are least like a Gaussian; one round."""
        return Parts(excess, NoDeflation(order=4))

    yield "by-kurtosis"
    del REGISTERED["by-kurtosis"]


@pytest.fixture
def tables():
    """Rows of a chain a -> b -> c -> d at three sites."""
    errors = np.random.default_rng(4).laplace(size=(9000, 4))
    for effect in (1, 2, 3):
        errors[:, effect] += errors[:, effect - 1]
    return np.split(errors, 3)


def test_it_finds_the_order(method, tables):
    found = fedrcd.discover(tables, method, variables=("x1", "x2", "x3", "x4"))
    assert found.order == ("x1", "x2", "x3", "x4")
    assert (found.method, found.rounds, found.sites) == ("by-kurtosis", 1, 3)


@pytest.mark.parametrize("arithmetic", ["exact", "compact"])
def test_how_rows_are_split_changes_no_bit(method, tables, arithmetic):
    several, one = (fedrcd.discover(t, method, arithmetic=arithmetic) for t in (tables, np.concatenate(tables)))
    assert several.B.tobytes() == one.B.tobytes()


def test_confidence_and_checks_come_with_it(method, tables):
    drawn = fedrcd.bootstrap(tables, method, n_sampling=8, random_state=1, n_jobs=1)
    assert drawn.edge_probabilities().shape == (4, 4)
    assert fedrcd.check(tables, method)["scale"].verdict == "fine"


def test_nothing_of_it_stays(tables):
    with pytest.raises(ValueError, match="there is no method 'by-kurtosis'"):
        fedrcd.discover(tables, "by-kurtosis")
