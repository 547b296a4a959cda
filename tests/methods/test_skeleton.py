import numpy as np
import pytest

import fedrcd
from fedrcd.data.simulate.models import random_model
from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import is_valid_order
from fedrcd.methods.settings import Settings
from fedrcd.methods.skeleton import Evidence, Marginals, Parts, choose, local
from fedrcd.methods.weights import Weights
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed


def test_the_highest_score_is_chosen():
    assert choose((4, 7, 9), np.array([-3.0, -1.0, -2.0]), ()).chosen == 7


def test_what_is_taken_is_no_candidate():
    step = choose((4, 7, 9), np.array([-3.0, -1.0, -2.0]), (7,))
    assert (step.candidates, step.chosen, step.margin) == ((4, 9), 9, 1.0)


def test_the_variable_that_stands_first_wins_a_tie():
    step = choose((4, 7, 9), np.array([-3.0, -1.0, -1.0]), ())
    assert (step.chosen, step.margin) == (7, 0.0)


class Fixed:
    """A deflation that asks nothing and remembers what it was told to remove."""

    def __init__(self, p):
        self.p, self.removed = p, []

    def start(self, _setting):
        marginals = Marginals(100, np.zeros(self.p), np.eye(self.p), np.full(self.p, np.inf))
        return local((Evidence(tuple(range(self.p)), np.arange(self.p)), marginals))

    def remove(self, _setting, _marginals, evidence, sources):
        self.removed.append(sources)
        rest = tuple(v for v in evidence.variables if v not in sources)
        return local(Evidence(rest, np.array(rest)))


def conversation(deflation, score):
    names = tuple(f"v{i}" for i in range(deflation.p))
    transport = embed([np.zeros((2, deflation.p))], names)
    return run(Parts(score, deflation, weights=Weights("none")).rounds(transport.setting), transport)


@pytest.mark.parametrize(("score", "order"), [(lambda v: v.astype(float), [3, 2, 1, 0]), (lambda v: -v, [0, 1, 2, 3])])
def test_sources_are_taken_by_score_until_one_is_left(score, order):
    assert conversation(Fixed(4), score).order.tolist() == order


def test_deflation_is_told_all_sources_so_far():
    deflation = Fixed(4)
    conversation(deflation, lambda v: v.astype(float))
    assert deflation.removed == [(3,), (3, 2)]


def test_two_variables_need_no_deflation():
    deflation = Fixed(2)
    conversation(deflation, lambda v: v.astype(float))
    assert deflation.removed == []


def layered(method, X, **settings):
    return fedrcd.discover(X, method, layers=True, **settings)


@pytest.mark.parametrize("method", ["fedrcd-sx", "fed-direct"])
def test_sources_without_doubt_are_taken_in_one_round(method):
    rng = np.random.default_rng(0)
    model = random_model(12, degree=1.5, rng=rng)
    X = model.sample(3000, rng)
    one, several = fedrcd.discover(X, method), layered(method, X)
    assert several.rounds <= one.rounds - 4
    assert is_valid_order([int(name[1:]) - 1 for name in several.order], model.B)


def test_what_is_known_holds_where_several_sources_are_taken():
    X = np.random.default_rng(1).laplace(size=(2000, 5))  # all are sources
    found = layered("fedrcd-sx", X, knowledge=fedrcd.Knowledge(before=[("x5", "x1"), ("x4", "x2")]))
    assert found.order.index("x5") < found.order.index("x1")
    assert found.order.index("x4") < found.order.index("x2")


def test_layers_are_true_or_false():
    with pytest.raises(ConfigError, match="layers must be True or False, got 2"):
        fedrcd.discover(np.random.default_rng(2).laplace(size=(500, 3)), "fedrcd-sx", layers=2)


def test_layers_are_not_for_machines():
    with pytest.raises(ConfigError, match="layers=True is for tables in one process"):
        Settings(method="fedrcd-sx", options={"layers": True}).require_single_sources()
