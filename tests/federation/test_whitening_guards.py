"""What a site refuses to tell of directions, even to a coordinator that it trusts."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.site.disclosure import check_question
from fedrcd.federation.site.log import ANSWERED, LogEntry
from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.directions import Whitening, sharpened
from fedrcd.statistics.frame import Frame
from tests.federation.cases import EXACT, FRAME, NAMES, OTHER_FRAME, P, X, case, refusal

FIRST = Whitening.of_frame(Frame.identity(P)).on_grid(EXACT)
ROWS = np.concatenate([X, [[7.0, 1.3, -0.4, 2.2]]])
"""The last one has a value in the first column that a coordinator knows, and that nobody else has."""

both = pytest.mark.parametrize("kind", [DirectionQuestion, DirectionTensorQuestion])


def asked(kind, whitening):
    return kind(NAMES, FRAME, whitening.on_grid(EXACT), EXACT, near=True)


def second():
    return sharpened(FIRST, asked(DirectionQuestion, FIRST).answer([X.copy()]).floats())


def stretched():
    """All rows but those with that value look along the first column, this way or that."""
    return Whitening(ROWS[-1] * [1, 0, 0, 0], np.diag([1e5, 1.0, 1.0, 1.0]))


@both
def test_the_whitenings_of_an_honest_run_pass(kind):
    rows = np.random.default_rng(3).normal(size=(1200, P))
    for whitening in (FIRST, second()):
        check_question(case(asked(kind, whitening), rows=rows))


@both
def test_a_site_that_does_not_trust_its_coordinator_answers_about_the_declared_frame_alone(kind):
    rows = np.random.default_rng(3).normal(size=(1200, P))
    check_question(case(asked(kind, FIRST), rows=rows, trusted=False))
    assert refusal(asked(kind, second()), rows=rows, trusted=False) is Refusal.TRUST


def test_a_stretched_whitening_tells_the_row_with_a_known_value_where_the_rule_is_off():
    """Of 401 rows the sums show the direction of one."""
    sums = asked(DirectionQuestion, stretched()).answer([ROWS.copy()]).floats()
    told = sums.at(1, 0)[1:P, 0]
    true = ROWS[-1, 1:] / np.sqrt(1 + (ROWS[-1, 1:] ** 2).sum())
    np.testing.assert_allclose(told, true, atol=0.02)
    check_question(without_rule(case(asked(DirectionQuestion, stretched()), rows=ROWS)))


@both
def test_a_stretched_whitening_is_refused(kind):
    rows = np.concatenate([np.random.default_rng(3).normal(size=(1200, P)), ROWS[-1:]])
    assert refusal(asked(kind, stretched()), rows=rows) is Refusal.MAP


@both
@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_a_whitening_that_is_too_wide_or_too_narrow_is_refused(kind, factor):
    """Then only rows near the centre, or those far out, are told from the others."""
    rows = np.random.default_rng(3).normal(size=(1200, P))
    assert refusal(asked(kind, Whitening(np.zeros(P), factor * np.eye(P))), rows=rows) is Refusal.MAP


@both
def test_sums_of_all_rows_alike_are_refused(kind):
    """Less those where far rows count less, they would be the far rows."""
    rows = np.random.default_rng(3).normal(size=(1200, P))
    assert refusal(replace(asked(kind, FIRST), near=False), rows=rows) is Refusal.QUESTION


def path(whitenings):
    """What a site logged of replayed rounds under so many whitenings, each answered twice."""
    asked_before = [replace(asked(DirectionQuestion, FIRST), whitening=one) for one in whitenings]
    return [
        LogEntry(
            time="t", run="another", round=2, outcome=ANSWERED, version="v1", masked=True, basis=digest_of(one.derived)
        )
        for one in asked_before + asked_before
    ]


def moved(k):
    return Whitening(np.full(P, k / 64), np.eye(P)).on_grid(EXACT)


@both
def test_replays_ask_about_the_same_rows_along_one_path(kind):
    """What a colluding site could tell of the rows of others by choosing totals is what one run tells."""
    rows = np.random.default_rng(3).normal(size=(1200, P))
    question = asked(kind, moved(1))
    given = {"rows": rows, "replayed": True, "version": "v1", "related": frozenset({"v1"})}
    check_question(case(question, history=path([moved(k) for k in range(6)]), **given))
    others = path([moved(k) for k in range(2, 8)])
    assert refusal(question, history=others, **given) is Refusal.CHAIN
    check_question(case(question, history=others, **{**given, "replayed": False}))
    check_question(without_rule(case(question, history=others, **given), "one path"))


@both
def test_replays_look_at_all_few_level_columns_together(kind):
    rows = np.random.default_rng(3).normal(size=(1200, P))
    rows[:, :3] = np.arange(1200)[:, None] >> np.arange(3) & 1
    rows[:, 3] = np.arange(1200) < 40
    question = asked(kind, FIRST)
    if kind is DirectionQuestion:  # pairs have 20 rows at least, all together 5
        check_question(case(question, rows=rows))
    assert refusal(question, rows=rows, replayed=True) is Refusal.CELLS


@both
def test_a_whitening_off_the_grid_is_refused(kind):
    rows = np.random.default_rng(3).normal(size=(1200, P))
    question = replace(asked(kind, FIRST), whitening=Whitening(np.zeros(P), np.eye(P) * (1 + 2.0**-40)))
    assert refusal(question, rows=rows) is Refusal.MAP
    question = replace(question, whitening=Whitening(np.zeros(2), np.eye(2)))
    assert refusal(question, rows=rows) is Refusal.MAP


@both
def test_the_other_rules_hold_too(kind):
    assert refusal(replace(asked(kind, FIRST), frame=OTHER_FRAME)) is Refusal.FRAME
    rows = X[:50]
    assert refusal(asked(kind, FIRST), rows=rows) is Refusal.ROWS


def test_a_column_that_does_not_vary_here_is_no_reason_to_refuse():
    rows = np.random.default_rng(3).normal(size=(1200, P))
    rows[:, 2] = 0.5
    check_question(case(asked(DirectionQuestion, Whitening(np.zeros(P), np.diag([1.0, 2.0, 1.0, 1.0]))), rows=rows))


def without_rule(context, name="whitening"):
    return replace(context, rules=replace(context.rules, off=frozenset({name})))
