"""What each method's conversation costs: rounds, and bytes to the last number."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from fedrcd.data import random_model
from fedrcd.data.names import default_names
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.wire import to_bytes
from fedrcd.statistics.grid import Grid

P, SITES = 6, 3


def pair_numbers(p, order):
    """Numbers in pair sums of complete rows: one count, a power of each variable per order, products of pairs."""
    products = {2: 1 / 2, 3: 1 / 2 + 1, 4: 1 / 2 + 1 + 1 + 1 / 2}
    return int(1 + order * p + products[order] * p * (p - 1))


def entropy_numbers(u):
    """Numbers in the entropy sums of u variables and all their ordered pairs."""
    return 1 + 2 * (u + u * (u - 1))


ONE_ROUND_OF_FOUR = (1, pair_numbers(P, 4))
ONE_ROUND_OF_TENSORS = (1, comb(P + 4, 4))
A_ROUND_PER_SOURCE = (P - 1, sum(pair_numbers(u, 4) for u in range(2, P + 1)))
COSTS = {
    "fedhc": (1, pair_numbers(P, 3)),
    "fedishc": (1, pair_numbers(P, 3)),
    "fedishc-tau4": ONE_ROUND_OF_FOUR,
    "fedrcd-ni": ONE_ROUND_OF_FOUR,
    "fedrcd-def": ONE_ROUND_OF_FOUR,
    "fedrcd-sp": ONE_ROUND_OF_FOUR,
    "fedrcd-x": A_ROUND_PER_SOURCE,
    "fedrcd-sx": A_ROUND_PER_SOURCE,
    "fedrcd-t": ONE_ROUND_OF_TENSORS,
    "fedrcd-s": ONE_ROUND_OF_TENSORS,
    "fedrcd-r": (6, 5 * pair_numbers(P + 1, 2) + comb(P + 4, 4)),
    "fed-direct": (P, pair_numbers(P, 2) + sum(entropy_numbers(u) for u in range(2, P + 1))),
}


def traffic_of(method):
    model = random_model(P, noise="exponential", rng=np.random.default_rng(0))
    X = model.sample(300, np.random.default_rng(1))
    transport = embed(np.split(X, [50, 200]), default_names(P))
    run(build(method).rounds(transport.setting), transport)
    return transport


@pytest.mark.parametrize("method", COSTS)
def test_a_method_takes_the_rounds_it_promises(method):
    assert traffic_of(method).traffic.rounds == COSTS[method][0]


@pytest.mark.parametrize("method", COSTS)
def test_a_method_sends_what_it_promises(method):
    assert traffic_of(method).traffic.numbers == SITES * COSTS[method][1]


@pytest.mark.parametrize("arithmetic", [None, Grid(21, 64), Grid(11, 64)])
@pytest.mark.parametrize("method", COSTS)
def test_bytes_are_those_that_travel(method, arithmetic):
    transport = traffic_of(method)
    asked, sent = [], 0
    setting = replace(transport.setting, grid=arithmetic)

    class Watched:
        def pool(self, question):
            asked.append(question)
            return transport.pool(question)

    before = transport.traffic.bytes_sent
    run(build(method).rounds(setting), Watched())
    for question in asked:
        sent += sum(len(to_bytes(site.answer(question))) for site in transport.sites)
    assert transport.traffic.bytes_sent - before == sent
