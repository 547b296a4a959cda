"""The same seed gives the same bootstrap for a given federation, whatever carries the questions."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from fedrcd.confidence.replicates import ask_groups, draw_weights, group_replicates, one_round
from fedrcd.data import random_model
from fedrcd.methods.registry import find
from fedrcd.protocol.groups import Grouping
from fedrcd.protocol.in_process import embed

RNG = np.random.default_rng(0)
MODEL = random_model(5, noise="gamma", density=0.5, rng=RNG)
TABLES = np.array_split(MODEL.sample(1200, RNG), 3)


class Threads:
    """Carries pickled questions to sites in threads and adds answers as they are, in any order."""

    def __init__(self, behind, order):
        self.behind, self.order = behind, order
        self.setting, self.traffic = behind.setting, behind.traffic

    def pool(self, question):
        def answered(k):
            asked = pickle.loads(pickle.dumps(question))
            return pickle.dumps(self.behind.sites[k].answer(asked, self.setting.layout))

        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(answered, self.order))
        total = pickle.loads(answers[0])
        for answer in answers[1:]:
            total = total + pickle.loads(answer)
        return total


def in_process():
    transport = embed(TABLES, MODEL.names)
    return replace(transport, sites=[replace(s, grouping=Grouping(s.name.encode())) for s in transport.sites])


def replicates(transport, method, seed):
    parts = one_round(find(method), {})
    grouped = ask_groups(parts, transport.setting, transport, 10)
    return group_replicates(parts, grouped, draw_weights(grouped.stack, 8, np.random.default_rng(seed)))


@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-ni", "fedrcd-x"])
def test_transports_and_the_order_of_answers_change_no_bit(method):
    expected = replicates(in_process(), method, 5)
    for order in ([0, 1, 2], [2, 0, 1]):
        found = replicates(Threads(in_process(), order), method, 5)
        np.testing.assert_array_equal(found.orders, expected.orders)
        np.testing.assert_array_equal(found.B, expected.B)
