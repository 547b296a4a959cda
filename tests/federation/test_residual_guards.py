"""What a site refuses to tell of residuals; every rule also lets the honest question pass."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.site.disclosure import check_question
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Basis
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.residual_maps import residual_map
from tests.federation.cases import (
    EXACT,
    FRAME,
    MOMENTS,
    NAMES,
    P,
    X,
    case,
    entropies,
    entry,
    refusal,
    residuals,
)


def test_a_map_must_say_where_it_comes_from():
    R, _ = residual_map(MOMENTS.cov, (0,))
    assert refusal(PairQuestion(NAMES, FRAME, 4, R)) is Refusal.MAP
    assert refusal(replace(entropies(), basis=None)) is Refusal.MAP


def test_a_free_map_is_refused():
    picks_a_row = np.array([[1e6, 1.0, 0.0, 0.0]])
    assert refusal(PairQuestion(NAMES, FRAME, 4, picks_a_row, basis=Basis(MOMENTS, (1, 2, 3)))) is Refusal.MAP
    assert refusal(residuals(1, change=1e-4)) is Refusal.MAP
    assert refusal(entropies(1, offset=np.full(3, 0.1))) is Refusal.MAP
    assert refusal(entropies(1, rho=np.zeros(6))) is Refusal.MAP
    assert refusal(entropies(1, pairs=np.array([[0, 7]]), rho=np.zeros(1))) is Refusal.MAP
    assert refusal(entropies(1, pairs=np.array([[1, 1]]), rho=np.ones(1))) is Refusal.MAP


@pytest.mark.parametrize(
    "cov",
    [np.eye(3), -np.eye(P), np.full((P, P), np.nan), np.triu(np.ones((P, P))), np.zeros((P, P))],
    ids=["small", "negative", "nan", "asymmetric", "zero"],
)
def test_moments_that_are_none_are_refused(cov):
    R, _ = residual_map(MOMENTS.cov, (1,))
    assert refusal(PairQuestion(NAMES, FRAME, 4, R, basis=Basis(Gaussian(MOMENTS.mean, cov), (1,)))) is Refusal.MAP


@pytest.mark.parametrize("sources", [(1, 1), (4,), (-1,), (0, 1, 2, 3)])
def test_sources_that_are_none_are_refused(sources):
    R, _ = residual_map(MOMENTS.cov, (1,))
    assert refusal(PairQuestion(NAMES, FRAME, 4, R, basis=Basis(MOMENTS, sources))) is Refusal.MAP


def answered(*sources, moments=MOMENTS, run="r.0"):
    return entry(run=run, basis=digest_of(moments), sources=sources)


def test_sources_grow_by_one_in_a_run():
    check_question(case(residuals(2), history=[]))
    check_question(case(residuals(2, 0), history=[answered(2)]))
    check_question(case(residuals(2), history=[answered(2)]))  # asked again
    assert refusal(residuals(2, 0)) is Refusal.PREFIX
    assert refusal(residuals(2, 0, 1), history=[answered(2)]) is Refusal.PREFIX
    assert refusal(residuals(0, 2), history=[answered(2)]) is Refusal.PREFIX
    assert refusal(residuals(0), history=[answered(2)]) is Refusal.PREFIX
    assert refusal(entropies(1, 0), history=[answered()]) is Refusal.PREFIX
    check_question(case(entropies(1), history=[answered()]))
    check_question(case(residuals(1), history=[answered(2, run="another")]))


def test_the_covariance_stays_the_same_in_a_run():
    other = Gaussian(MOMENTS.mean, MOMENTS.cov + 0.1 * np.eye(P))
    assert refusal(residuals(2, 0, moments=other), history=[answered(2)]) is Refusal.MAP
    check_question(case(residuals(2, moments=other), history=[answered(2, run="another")]))


def along(*order, moments=MOMENTS):
    return ResidualQuestion(NAMES, FRAME, Basis(moments, order))


def test_residuals_are_along_an_order_of_all_variables():
    for order in [(), (0, 1, 2), (0, 1, 2, 2), (0, 1, 2, 4), (0, 1, 2, 3, 3)]:
        assert refusal(along(*order)) is Refusal.MAP
    singular = Gaussian(MOMENTS.mean, np.ones((P, P)))
    assert refusal(along(0, 1, 2, 3, moments=singular)) is Refusal.MAP


def test_residuals_are_along_the_order_that_the_run_found():
    check_question(case(along(2, 0, 1, 3), history=[answered(2, 0)]))
    check_question(case(along(2, 0, 1, 3), history=[answered(2, 0, 1, 3)]))  # asked again
    check_question(case(along(2, 0, 1, 3), history=[answered(1, run="another")]))
    assert refusal(along(2, 1, 0, 3), history=[answered(2, 0)]) is Refusal.PREFIX
    assert refusal(along(2, 1, 0, 3), history=[answered(2, 0, 1, 3)]) is Refusal.PREFIX
    other = Gaussian(MOMENTS.mean, MOMENTS.cov + 0.1 * np.eye(P))
    assert refusal(along(2, 0, 1, 3, moments=other), history=[answered(2, 0)]) is Refusal.MAP
    assert refusal(residuals(2, 0), history=[answered(2, 0, 1, 3)]) is Refusal.PREFIX  # nothing follows the checks


def test_checks_along_many_orders_are_refused():
    done = [replace(answered(*order, run=run), version="v") for run, order in CHECKED.items()]
    check_question(case(along(0, 1, 2, 3), history=done[:2], version="v", related=frozenset("v")))
    check_question(case(along(0, 1, 3, 2), history=done, version="v", related=frozenset("v")))  # one of them again
    check_question(case(along(0, 1, 2, 3), history=done, version="rows changed", related=frozenset()))
    assert refusal(along(0, 1, 2, 3), history=done, version="v", related=frozenset("v")) is Refusal.CHECKS


CHECKED = {"one": (0, 1, 3, 2), "two": (0, 2, 1, 3), "three": (3, 2, 1, 0)}


def unlike(factor):
    """Moments that say one direction varies so many times as much as the rows do."""
    values, directions = np.linalg.eigh(MOMENTS.cov)
    cov = (directions * values * [1, factor, 1, 1]) @ directions.T
    return Gaussian(MOMENTS.mean, (cov + cov.T) / 2)


@pytest.mark.parametrize("factor", [1 / 30, 30.0])
def test_a_covariance_unlike_that_of_the_rows_is_refused(factor):
    for ask, order in ((along, (0, 1, 2, 3)), (residuals, (1,)), (entropies, ())):
        check_question(case(ask(*order, moments=unlike(factor**0.5))))
        assert refusal(ask(*order, moments=unlike(factor))) is Refusal.UNLIKE


def test_directions_close_to_each_other_are_not_had_by_a_false_covariance():
    W = np.eye(P) * 1e-3
    W[:, 0] += 1.0  # every residual is the first variable and a little of another
    false = Gaussian(MOMENTS.mean, np.linalg.inv(W) @ np.linalg.inv(W).T)
    false = Gaussian(MOMENTS.mean, (false.cov + false.cov.T) / 2)
    assert refusal(along(0, 1, 2, 3, moments=false)) is Refusal.UNLIKE


def test_a_column_that_is_constant_here_may_vary_elsewhere():
    rows = X.copy()
    rows[:, 2] = 1.0
    check_question(case(residuals(1), rows=rows))


def test_checks_are_of_clipped_values_if_the_sums_before_were():
    assert refusal(along(0, 1, 2, 3), history=[entry(clips=True)]) is Refusal.FRAME
    check_question(case(replace(along(0, 1, 2, 3), grid=EXACT), history=[entry(clips=True)]))
