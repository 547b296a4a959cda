"""Climbing over whole orders by the entropies of all errors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedrcd
from fedrcd.data.simulate.models import random_model
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.refinements.entropies import EntropyRefinement, climb_known, evidence_of, gains_of_moves
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.statistics.entropy_sums import entropy_sums
from fedrcd.statistics.moved_residuals import moved_residuals
from fedrcd.statistics.residual_maps import residual_rows

NO_PAIRS = np.empty((0, 2), dtype=np.int64)


def correlations(p, rng):
    A = rng.normal(size=(p, 2 * p))
    cov = A @ A.T
    sd = np.sqrt(np.diagonal(cov))
    return cov / np.outer(sd, sd)


def with_moved(order, h, t):
    moved = list(order)
    moved.insert(t, moved.pop(h))
    return moved


@pytest.mark.parametrize("exact", [False, True])
@settings(max_examples=20)
@given(st.integers(2, 6), st.integers(0, 100))
def test_the_maps_are_those_of_every_order_that_moves_one_variable(exact, p, seed):
    rng = np.random.default_rng(seed)
    S, order = correlations(p, rng), rng.permutation(p).tolist()
    found = dict(moved_residuals(S, order, exact=exact))
    met = set()
    for h in range(p):
        for t in range(p):
            moved, before = with_moved(order, h, t), 0
            for row, variable in zip(residual_rows(S, moved), moved, strict=True):
                np.testing.assert_allclose(found[variable, before], row, atol=1e-9)
                met.add((variable, before))
                before |= 1 << variable
    assert met == set(found)


def test_whole_numbers_give_maps_without_rounding_that_shows():
    S, order = correlations(12, np.random.default_rng(3)), list(range(12))
    floats, whole = (dict(moved_residuals(S, order, exact=exact)) for exact in (False, True))
    assert max(np.abs(floats[given] - whole[given]).max() for given in floats) < 1e-12


@given(st.integers(2, 6), st.integers(0, 100))
def test_gains_are_differences_of_the_objective(p, seed):
    rng = np.random.default_rng(seed)
    X = rng.laplace(size=(200, p)) @ rng.normal(size=(p, p))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    S, order = np.corrcoef(X.T), rng.permutation(p).tolist()
    maps = dict(moved_residuals(S, order, exact=False))

    def evidence(R):
        return evidence_of(entropy_sums([X @ R.T], len(R), NO_PAIRS, np.empty(0)))

    known = dict(zip(maps, evidence(np.stack(list(maps.values()))).tolist(), strict=True))
    total, gains = gains_of_moves(order, known)
    assert total == pytest.approx(evidence(residual_rows(S, order)).sum())
    for h in range(p):
        for t in range(p):
            F = evidence(residual_rows(S, with_moved(order, h, t))).sum()
            assert gains[h, t] == pytest.approx(F - total, abs=1e-9)


def test_a_move_whose_terms_are_not_known_is_not_taken():
    order, known = [0, 1], {(0, 0): 0.1, (1, 1): 0.1, (1, 0): 5.0}
    assert climb_known(order, known, None, 1e-4) == order
    assert climb_known(order, known | {(0, 2): 5.0}, None, 1e-4) == [1, 0]


def test_climbing_keeps_to_what_is_known():
    known = {(0, 0): 0.1, (1, 1): 0.1, (1, 0): 5.0, (0, 2): 5.0}
    first_before_second = np.array([[False, False], [True, False]])
    constraints = replace(Constraints.none(2), before=first_before_second)
    assert climb_known([0, 1], known, constraints, 1e-4) == [0, 1]


def hard(seed, rows=200):
    model = random_model(8, noise="laplace", density=0.4, rng=np.random.default_rng([9, seed]))
    return model, model.sample(rows, np.random.default_rng([10, seed]))


def test_with_few_rows_it_orders_better_than_the_method_it_starts_from():
    better = []
    for seed in range(6):
        model, X = hard(seed)
        transport = embed([X], model.names)
        accuracy = [
            ancestral_accuracy(run(build(method).rounds(transport.setting), transport).order, model.B)
            for method in ("fedrcd-s", "fedrcd-se")
        ]
        better.append(accuracy[1] - accuracy[0])
    assert np.mean(better) > 0


@pytest.mark.parametrize("cuts", [[20], [50, 120]])
def test_exact_sums_give_the_same_fit_however_rows_are_split(cuts):
    _, X = hard(1)
    columns = [f"x{k}" for k in range(8)]
    whole, split = (
        fedrcd.discover([pd.DataFrame(part, columns=columns) for part in parts], "fedrcd-se", arithmetic="exact")
        for parts in ([X], np.split(X, cuts))
    )
    assert whole.order == split.order
    np.testing.assert_array_equal(whole.B, split.B)
    assert whole.rounds == split.rounds > 1


def test_it_asks_no_more_often_than_it_is_told_and_ends_when_nothing_moves():
    model, X = hard(2)
    rounds = []
    for most in (0, 1, 12):
        transport = embed([X], model.names)
        run(build("fedrcd-se", climbs=most, examine=False).rounds(transport.setting), transport)
        rounds.append(transport.traffic.rounds)
    assert rounds[:2] == [1, 2]
    assert 2 <= rounds[2] < 13


def test_nothing_is_asked_twice():
    model, X = hard(3)
    transport = embed([X], model.names)
    parts = build("fedrcd-s")
    estimate = run(parts.rounds(transport.setting), transport)
    asked = []

    def heard():
        conversation = EntropyRefinement()(transport.setting, estimate.marginals, estimate.order[::-1])
        answer = None
        while True:
            try:
                question = conversation.send(answer)
            except StopIteration as end:
                return end.value
            asked.extend(map(tuple, np.round(question.residuals, 9)))
            answer = transport.pool(question)

    heard()
    assert len(asked) == len(set(asked)) > 2 * 8**2 - 3 * 8
