"""Prior knowledge is kept by every method, in the order and in the weights."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data import random_model
from fedrcd.graphs.dag import is_valid_order, topological_order
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from tests.knowledge import consistent_knowledge


def estimated(method, tables, names, constraints, **options):
    transport = embed(tables, names, stack=METHODS[method].one_table)
    return run(build(method, **options).rounds(replace(transport.setting, constraints=constraints)), transport)


@pytest.mark.parametrize("method", METHODS)
def test_knowledge_is_kept_whether_true_or_not(method):
    for seed in range(5):
        rng = np.random.default_rng([1, seed])
        model = random_model(4 + seed, noise="gamma", density=0.5, rng=rng)
        known, constraints = consistent_knowledge(model.names, rng)
        tables = np.array_split(model.sample(300, rng), 2)
        found = estimated(method, tables, model.names, constraints, weights=("adaptive-lasso", "bic", "none")[seed % 3])
        assert known.violations(found.B, [model.names[k] for k in found.order], model.names) == []
        assert is_valid_order(found.order, found.B)


@pytest.mark.parametrize("method", METHODS)
def test_a_whole_order_that_is_known_is_the_order(method):
    rng = np.random.default_rng(2)
    model = random_model(6, noise="laplace", density=0.5, rng=rng)
    order = topological_order(model.B)[::-1]
    constraints = Knowledge(tiers=[[model.names[k]] for k in order]).constraints(model.names)
    found = estimated(method, np.array_split(model.sample(400, rng), 2), model.names, constraints)
    np.testing.assert_array_equal(found.order, order)


@pytest.mark.parametrize("method", ["fedrcd-s", "fed-direct", "direct-lingam", "fedrcd-sp"])
def test_knowing_nothing_changes_nothing(method):
    rng = np.random.default_rng(3)
    model = random_model(6, noise="exponential", density=0.5, rng=rng)
    tables = np.array_split(model.sample(400, rng), 2)
    plain, none = (
        estimated(method, tables, model.names, constraints)
        for constraints in (None, Knowledge().constraints(model.names))
    )
    np.testing.assert_array_equal(plain.order, none.order)
    np.testing.assert_array_equal(plain.B, none.B)


def test_required_edges_survive_any_penalty_and_forbidden_ones_none():
    rng = np.random.default_rng(4)
    model = random_model(5, noise="laplace", density=0.5, rng=rng)
    a, b, c = model.names[:3]
    constraints = Knowledge(required=[(a, b)], forbidden=[(a, c), (c, a)]).constraints(model.names)
    for penalty in (0.0, 1e6):
        found = estimated("fedrcd-s", [model.sample(500, rng)], model.names, constraints, penalty=penalty)
        assert found.B[1, 0] != 0
        assert found.B[2, 0] == found.B[0, 2] == 0
