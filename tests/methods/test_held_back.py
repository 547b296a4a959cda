"""Climbing is held back, and errors are examined, where the data speak against the model."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.tasks.regimes import BROKEN

from fedrcd.data.names import default_names
from fedrcd.methods.doubt import Doubt
from fedrcd.methods.fedrcd_se import held_back
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed

BENT = Doubt(1e-9, 10, 10, (0, 1), bent=90.0, uneven=20.0, tails=40.0)
UNEVEN = Doubt(1e-9, 10, 10, (0, 1), bent=20.0, uneven=90.0)
WILD = Doubt(1e-9, 10, 10, (0, 1), bent=90.0, uneven=80.0, tails=40.0)
UNEVEN_UNTOLD = Doubt(1.0, 0, 10, (0, 1), bent=20.0, uneven=90.0)
NEITHER = Doubt(1e-9, 10, 10, (0, 1), bent=90.0, uneven=80.0, tails=3.0)


def transport_over(X):
    return embed([X], default_names(X.shape[1]))


def order_of(method, X, **options):
    transport = transport_over(X)
    return run(build(method, **options).rounds(transport.setting), transport).order.tolist()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return rng.laplace(size=(500, 5)) @ rng.normal(size=(5, 5))


@pytest.mark.parametrize(
    ("doubt", "method"),
    [(BENT, "fedrcd-r"), (UNEVEN, "fed-direct"), (UNEVEN_UNTOLD, "fed-direct"), (WILD, "fed-direct")],
)
def test_the_order_is_that_of_a_method_that_stands_what_it_looks_like(rows, doubt, method):
    transport = transport_over(rows)
    assert run(held_back(transport.setting, doubt), transport).tolist() == order_of(method, rows)


@pytest.mark.parametrize("doubt", [NEITHER, replace(BENT, p_value=0.5), replace(BENT, tails=3.0)])
def test_without_a_likeness_or_a_doubt_nothing_is_asked(rows, doubt):
    transport = transport_over(rows)
    assert run(held_back(transport.setting, doubt), transport) is None
    assert transport.traffic.rounds == 0


def test_uneven_data_are_not_climbed_on():
    uneven = next(one for one in BROKEN if one.name == "heteroscedastic")
    held = 0
    for seed in (0, 2, 3, 4):
        X = uneven.draw(seed)[1]
        held += order_of("fedrcd-se", X) == order_of("fed-direct", X)
    assert held >= 3


def test_examining_sees_what_the_tensors_miss():
    tanh = next(one for one in BROKEN if one.name == "tanh edges, laplace")
    doubts = []
    for seed in range(5):
        transport = transport_over(tanh.draw(seed)[1])
        doubts.append(
            [
                run(build("fedrcd-se", examine=examine).rounds(transport.setting), transport).doubt.doubtful
                for examine in (False, True)
            ]
        )
    without, examined = np.sum(doubts, axis=0)
    assert examined > without


def test_it_takes_one_round_more():
    X = np.random.default_rng(2).uniform(size=(400, 4))
    rounds = []
    for examine in (False, True):
        transport = transport_over(X)
        run(build("fedrcd-se", examine=examine).rounds(transport.setting), transport)
        rounds.append(transport.traffic.rounds)
    assert rounds[1] == rounds[0] + 1
