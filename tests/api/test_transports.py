"""A transport in place of tables: what somebody made, wrapped or replaced runs through the same functions."""

from dataclasses import replace

import numpy as np
import pytest

import fedrcd
from fedrcd.errors import ConfigError
from fedrcd.methods.registry import METHODS, find
from fedrcd.methods.settings import Settings
from fedrcd.runs.run import Run
from tests.contracts.federations import simulated

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own

FEDERATED = [name for name, card in METHODS.items() if not card.one_table]


def tables(rows=900):
    _, X = simulated(4, rows, 8)
    return np.split(X, 3)


class Wrapped:
    """A stranger's transport: it has what it must, and writes down what passes."""

    def __init__(self, inner):
        self.inner, self.setting, self.asked = inner, inner.setting, []

    def pool(self, question):
        self.asked.append(type(question).__name__)
        return self.inner.pool(question)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("method", FEDERATED)
def test_a_wrapped_transport_gives_the_same(method, arithmetic):
    plain = fedrcd.discover(tables(), method, arithmetic=arithmetic)
    wrapped = Wrapped(fedrcd.in_process(tables(), arithmetic=arithmetic))
    found = fedrcd.discover(wrapped, method)
    assert found.order == plain.order
    assert np.array_equal(found.B, plain.B)
    assert found.rows == plain.rows
    assert found.rounds == plain.rounds == len(wrapped.asked)


def test_a_transport_that_counts_tells_its_costs():
    plain, found = fedrcd.discover(tables()), fedrcd.discover(fedrcd.in_process(tables()))
    assert (found.method, found.sites, found.bytes_sent) == (plain.method, 3, plain.bytes_sent)


def test_replicates_over_a_transport_are_those_over_tables():
    how = {"n_sampling": 8, "groups": 10, "random_state": 5, "n_jobs": 1}
    plain = fedrcd.bootstrap(tables(), **how)
    found = fedrcd.bootstrap(Wrapped(fedrcd.in_process(tables(), random_state=5)), **how)
    assert np.array_equal(found.orders, plain.orders)
    assert np.array_equal(found.adjacency_matrices_, plain.adjacency_matrices_)


def test_checks_over_a_transport_are_those_over_tables():
    plain, found = fedrcd.check(tables(), "fedrcd-ni"), fedrcd.check(Wrapped(fedrcd.in_process(tables())), "fedrcd-ni")
    assert [one.finding for one in found.checks] == [one.finding for one in plain.checks]


@pytest.mark.parametrize(
    "method", [name for name, card in METHODS.items() if not card.scale_free and not card.one_table]
)
def test_the_order_of_standardised_variables_is_that_of_standardised_tables(method):
    X = np.concatenate(tables()) * [1.0, 30.0, 0.1, 5.0]
    found = fedrcd.discover(list(np.split(X, 3)), method, check_scale=True)
    unit = fedrcd.discover(list(np.split(X / X.std(axis=0), 3)), method)
    assert found.standardised_order == unit.order
    assert found.rounds == unit.rounds  # a second run is not counted


def test_checks_of_a_method_for_one_table_cost_rounds_and_its_discovery_none():
    checked = fedrcd.check(tables()[0], "hc-lingam")
    assert (checked.rounds, checked.discovery.rounds, checked.discovery.bytes_sent) == (1, 0, 0)
    assert checked.discovery.standardised_order == ()  # nobody asked for it


@pytest.mark.parametrize("method", ["fedrcd-t", "fedrcd-ni"])
def test_filled_gaps_do_not_hinder_the_order_of_standardised_variables(method):
    X = np.concatenate(tables()) * [1.0, 30.0, 0.1, 5.0]
    X[np.random.default_rng(2).random(X.shape) < 0.02] = np.nan
    sd = np.nanstd(X, axis=0)
    found = fedrcd.discover(list(np.split(X, 3)), method, missing="expected", check_scale=True)
    assert found.standardised_order == fedrcd.discover(list(np.split(X / sd, 3)), method, missing="expected").order
    assert fedrcd.check(list(np.split(X, 3)), method, missing="expected")["scale"].verdict in ("fine", "doubtful")


def test_a_run_finds_the_same_twice():
    run = Run(fedrcd.in_process(tables()), Settings(method="fedrcd-ni"), find("fedrcd-ni"))
    first, second = run.find(standardised=True), run.find(standardised=True)
    assert np.array_equal(first.standardised, second.standardised)
    assert np.array_equal(first.estimate.B, second.estimate.B)


def test_knowledge_is_kept_to_over_a_transport():
    free = fedrcd.discover(fedrcd.in_process(tables()))
    known = fedrcd.Knowledge(tiers=[[name] for name in reversed(free.order)])
    assert fedrcd.discover(fedrcd.in_process(tables()), knowledge=known).order == tuple(reversed(free.order))
    assert fedrcd.discover(fedrcd.in_process(tables(), knowledge=known)).order == tuple(reversed(free.order))


@pytest.mark.parametrize(("name", "value"), [("within", "centre"), ("trim", 8.0), ("arithmetic", "exact")])
def test_how_tables_are_read_is_set_where_the_transport_is_made(name, value):
    with pytest.raises(ConfigError, match=f"{name} is set where the transport is made"):
        fedrcd.discover(fedrcd.in_process(tables()), **{name: value})


def test_a_method_for_one_table_needs_one_site():
    with pytest.raises(ConfigError, match="over sites fed-direct gives the same order"):
        fedrcd.discover(fedrcd.in_process(tables()), "direct-lingam")
    stacked = fedrcd.discover(fedrcd.in_process(tables(), stack=True), "direct-lingam")
    assert stacked.order == fedrcd.discover(tables(), "direct-lingam", stack=True).order


def test_rows_cannot_be_drawn_over_a_transport():
    with pytest.raises(ConfigError, match="needs the rows"):
        fedrcd.bootstrap(fedrcd.in_process(tables()), resample="rows", n_sampling=2)


def test_a_run_is_a_transport_settings_and_a_card():
    transport = fedrcd.in_process(tables())
    found = Run(transport, Settings(method="fedrcd-s"), find("fedrcd-s")).find(check=True)
    plain = fedrcd.discover(tables(), "fedrcd-s")
    assert np.array_equal(found.estimate.B, plain.B)
    assert (found.rounds, found.checked.rounds) == (2, 1)
    assert replace(found, chosen="why").chosen == "why"
