"""The pages that compare contrasts, and edges."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from experiments.pages import edges
from experiments.pages.contrasts import ContrastJob, accuracies, all_residuals, best_order
from experiments.tasks.regimes import Regime

from fedrcd.statistics.residual_maps import residual_rows


def test_the_best_order_is_the_best_of_all():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 9))
    S = A @ A.T
    residuals = all_residuals(S)
    evidence = rng.random(len(residuals.sets))
    worth = dict(zip(zip(residuals.variables, residuals.sets, strict=True), evidence, strict=True))

    def total(order):
        sets = np.concatenate([[0], np.cumsum([1 << v for v in order])[:-1]])
        return sum(worth[v, bits] for v, bits in zip(order, sets, strict=True))

    order = best_order(residuals, evidence, 4)
    assert total(order) == pytest.approx(max(total(some) for some in permutations(range(4))))


def test_the_residuals_are_those_of_regressions():
    A = np.random.default_rng(1).normal(size=(4, 9))
    S, order = A @ A.T, [2, 0, 3, 1]
    residuals = all_residuals(S)
    at = {(v, bits): k for k, (v, bits) in enumerate(zip(residuals.variables, residuals.sets, strict=True))}
    sets = np.concatenate([[0], np.cumsum([1 << v for v in order])[:-1]])
    found = np.stack([residuals.maps[at[v, bits]] for v, bits in zip(order, sets, strict=True)])
    np.testing.assert_allclose(found, residual_rows(S, order), atol=1e-9)


def test_every_contrast_has_an_accuracy_between_0_and_1():
    found = accuracies(ContrastJob(Regime(name="small", p=5, rows=300), 0))
    assert len(found) > 15
    assert all(0 <= value <= 1 for value in found.values())


def test_the_table_of_edges_has_a_line_per_kind_of_data(monkeypatch):
    monkeypatch.setattr(edges, "VALID", tuple(replace(one, rows=300, p=5) for one in edges.VALID[:1]))
    monkeypatch.setattr(edges, "WRONG", ())
    header, _, line = edges.section(2, 1)
    assert header.count("|") == line.count("|")
    assert "fedrcd-s, adaptive-lasso" in header
