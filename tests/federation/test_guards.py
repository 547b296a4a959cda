"""What a site refuses, rule by rule; every rule also lets the honest question pass."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data.rows import Chunk
from fedrcd.data.survey import few_levels
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.messages.requests import QUESTIONS
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.cell_counts import narrowed, small_cells
from fedrcd.federation.site.disclosure import RULES, allowance, check_budget, check_question
from fedrcd.federation.site.rule_context import RuleContext
from fedrcd.protocol.entropy_question import MoveEntropyQuestion
from fedrcd.protocol.groups import GroupedQuestion, Grouping
from fedrcd.protocol.moment_questions import ExpectationQuestion, SiteMomentsQuestion
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Basis
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC, Grid, rounded_map
from fedrcd.statistics.grouped_sums import GroupedSums
from fedrcd.statistics.moved_residuals import moved_residuals
from fedrcd.statistics.residual_maps import residual_map
from tests.federation.cases import (
    EXACT,
    FRAME,
    MOMENTS,
    NAMES,
    OTHER_FRAME,
    P,
    X,
    case,
    entropies,
    entry,
    refusal,
    residuals,
    table,
)

HONEST = [
    PairQuestion(NAMES, FRAME, 4),
    PairQuestion(NAMES, FRAME, 4, grid=EXACT),
    TensorQuestion(NAMES, FRAME),
    TensorQuestion(NAMES, FRAME, grid=EXACT),
    SiteMomentsQuestion(NAMES, FRAME),
    residuals(2),
    PairQuestion(
        NAMES, FRAME, 4, rounded_map(residual_map(MOMENTS.cov, (1,))[0]), grid=EXACT, basis=Basis(MOMENTS, (1,))
    ),
    entropies(),
    entropies(3),
    ResidualQuestion(NAMES, FRAME, Basis(MOMENTS, (2, 0, 3, 1))),
]


@pytest.mark.parametrize("question", HONEST, ids=lambda question: type(question).__name__)
def test_honest_questions_pass(question):
    check_question(case(question))


def test_every_kind_that_travels_has_a_rule_or_is_refused():
    ruled = {kind for kind in QUESTIONS if kind.rules}
    assert ruled == set(QUESTIONS) - {ExpectationQuestion}
    assert {name for kind in ruled for name in (*kind.rules, *(kind.replay_rules or ()))} == set(
        RULES
    )  # each rule is there, and each is used
    assert refusal(ExpectationQuestion(NAMES, FRAME, MOMENTS)) is Refusal.QUESTION


def test_a_question_about_some_of_the_variables_is_refused():
    kept = FRAME.keep([0, 1])
    assert refusal(PairQuestion(("a", "b"), kept, 4)) is Refusal.QUESTION
    assert refusal(PairQuestion(NAMES[::-1], FRAME, 4)) is Refusal.QUESTION


@pytest.mark.parametrize("question", HONEST, ids=lambda question: type(question).__name__)
def test_few_rows_are_not_summed(question):
    assert refusal(question, rows=X[:99]) is Refusal.ROWS


def test_the_rows_needed_grow_with_the_columns():
    assert [Rules().needed_rows(p) for p in (2, 10, 11, 50)] == [100, 100, 110, 500]
    assert Rules().needed_tensor_rows(20) == 1063
    assert Rules().budget(1063, 20) >= comb(24, 4)


def test_the_tensor_needs_more_rows():
    wide = np.random.default_rng(2).normal(size=(300, 12))
    names = tuple(f"v{j}" for j in range(12))
    frame = Frame.identity(12)
    tensor = RuleContext(
        question=TensorQuestion(names, frame),
        run="r",
        variables=names,
        frame=frame,
        rows=table(wide, names),
        history=(),
        rules=Rules(),
    )
    with pytest.raises(Refused) as caught:
        check_question(tensor)
    assert caught.value.code is Refusal.TENSOR_ROWS
    check_question(replace(tensor, question=PairQuestion(names, frame, 4)))
    check_question(replace(tensor, rows=table(np.random.default_rng(2).normal(size=(304, 12)), names)))


def with_levels(*columns):
    rows = X.copy()
    for j, values in enumerate(columns):
        rows[:, j] = values
    return rows


def flag(carriers):
    return (np.arange(len(X)) < carriers).astype(float)


@pytest.mark.parametrize("carriers", [1, 10, 390, 399])
def test_a_level_that_few_rows_share_is_refused(carriers):
    for question in (PairQuestion(NAMES, FRAME, 4), TensorQuestion(NAMES, FRAME), SiteMomentsQuestion(NAMES, FRAME)):
        assert refusal(question, rows=with_levels(flag(carriers))) is Refusal.CELLS


@pytest.mark.parametrize("carriers", [11, 200, 389])
def test_a_level_that_enough_rows_share_passes(carriers):
    check_question(case(PairQuestion(NAMES, FRAME, 4), rows=with_levels(flag(carriers))))


def test_combinations_of_levels_count_as_far_as_the_statistic_sees():
    half = flag(200)
    crossed = ((np.arange(400) < 12) | (np.arange(400) >= 395)).astype(float)
    assert refusal(PairQuestion(NAMES, FRAME, 4), rows=with_levels(half, crossed)) is Refusal.CELLS
    a, b = np.arange(400) // 200 % 2, np.arange(400) // 100 % 2
    c = (a ^ b) ^ (np.arange(400) % 80 == 0)  # every pair of these is balanced; five rows break the rule of all three
    check_question(case(PairQuestion(NAMES, FRAME, 4), rows=with_levels(a, b, c)))
    assert refusal(TensorQuestion(NAMES, FRAME), rows=with_levels(a, b, c)) is Refusal.CELLS


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 2**31))
def test_small_cells_are_those_that_counting_finds(m, n, seed):
    rng = np.random.default_rng(seed)
    rows = with_levels(rng.permutation(flag(m)), rng.permutation(flag(n)))
    cells = [np.unique(rows[:, :k], axis=0, return_counts=True)[1] for k in (1, 2)]
    other = np.unique(rows[:, 1], return_counts=True)[1]
    expected = min(cell.min() for cell in (*cells, other)) < 11
    assert (next(small_cells(table(rows), 2, Rules()), None) is not None) == expected


class Counted:
    """Rows that come in small chunks and count how often they are read."""

    source, columns, identified, passes = "rows", ("a", "b", "c"), False, 0

    def __init__(self, values):
        self.values, self.count = values, len(values)

    def chunks(self):
        self.passes += 1
        yield from (Chunk(self.values[first : first + 17]) for first in range(0, self.count, 17))


@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.integers(1, 4), st.integers(0, 2**31))
def test_cells_of_all_groups_are_found_in_one_pass(levels, groups, seed):
    rng = np.random.default_rng(seed)
    rows = Counted(np.column_stack([rng.integers(0, few, 300) * 0.5 for few in levels]))
    parts = Grouping(b"s" * 32, least=0).split(rows, groups, "north")
    expected = [(few_levels(part, 5).keys(), set(small_cells(part, 4, Rules()))) for part in parts]
    rows.passes = 0
    with narrowed(parts, 5) as narrow:
        assert [(few_levels(part, 5).keys(), set(small_cells(part, 4, Rules()))) for part in narrow] == expected
        assert [part.columns for part in narrow] == [tuple(names) for names, _ in expected]
    assert rows.passes == 1


def test_a_column_of_many_values_has_no_levels():
    assert few_levels(table(with_levels(np.arange(400) % 6)), 5) == {}
    assert list(few_levels(table(with_levels(np.arange(400) % 5)), 5)) == ["a"]


def test_a_late_level_is_seen():
    long = np.zeros((3000, 1))
    long[2999] = 1.0
    assert list(few_levels(table(long, ("a",)), 5)) == ["a"]


def test_only_the_declared_frame_is_answered_in():
    assert refusal(PairQuestion(NAMES, OTHER_FRAME, 4)) is Refusal.FRAME
    assert refusal(SiteMomentsQuestion(NAMES, OTHER_FRAME)) is Refusal.FRAME


def test_without_a_declared_frame_the_first_one_stays():
    free = {"frame": None}
    check_question(case(SiteMomentsQuestion(NAMES, Frame.identity(P)), **free))
    check_question(case(PairQuestion(NAMES, OTHER_FRAME, 4), **free))
    used = {**free, "pinned": dict.fromkeys(NAMES, (0.0, 2.0))}
    check_question(case(PairQuestion(NAMES, OTHER_FRAME, 4), **used))
    third = Frame(np.ones(P), np.ones(P))
    assert refusal(PairQuestion(NAMES, third, 4), **used) is Refusal.FRAME
    assert refusal(SiteMomentsQuestion(NAMES, third), **used) is Refusal.FRAME


def test_a_frame_that_is_declared_anew_is_not_the_first_one():
    pinned = {"b": (0.0, 1.0), "d": (0.0, 2.0)}
    assert refusal(PairQuestion(NAMES, FRAME, 4), pinned=pinned) is Refusal.FRAME
    check_question(case(PairQuestion(NAMES, FRAME, 4), pinned={"b": (0.0, 1.0), "gone": (5.0, 5.0)}))


def test_a_grid_of_ones_own_is_refused():
    assert refusal(PairQuestion(NAMES, FRAME, 4, grid=Grid(21, 1))) is Refusal.FRAME
    assert refusal(TensorQuestion(NAMES, FRAME, grid=Grid(3, 64))) is Refusal.FRAME


def test_clipped_and_unclipped_sums_are_not_both_released():
    clipped, free = [entry(clips=True)], [entry(clips=False)]
    assert refusal(PairQuestion(NAMES, FRAME, 4), history=clipped) is Refusal.FRAME
    assert refusal(TensorQuestion(NAMES, FRAME, grid=EXACT), history=free) is Refusal.FRAME
    check_question(case(TensorQuestion(NAMES, FRAME, grid=ARITHMETIC["compact"]), history=clipped))


def test_gaps_are_not_filled():
    assert refusal(PairQuestion(NAMES, FRAME, 4, given=MOMENTS)) is Refusal.GAPS
    assert refusal(TensorQuestion(NAMES, FRAME, given=MOMENTS)) is Refusal.GAPS


MANY = np.random.default_rng(4).normal(size=(4000, P))
EACH = [question for question in HONEST if isinstance(question, PairQuestion | TensorQuestion)]


def parts(rows, places):
    return [table(rows[chosen]) for chosen in places]


def evenly(groups):
    return parts(MANY, np.array_split(np.arange(len(MANY)), groups))


def unevenly(groups):
    return parts(MANY, [np.arange(99), *np.array_split(np.arange(99, len(MANY)), groups - 1)])


@pytest.mark.parametrize("each", EACH, ids=lambda question: type(question).__name__)
def test_groups_pass_if_each_does(each):
    question = GroupedQuestion(each, 10)
    check_question(case(question, rows=MANY, split=evenly))
    assert refusal(question, rows=MANY, split=unevenly) is Refusal.GROUPS


def test_a_group_keeps_the_rules_of_levels_though_all_rows_together_do():
    rows = MANY.copy()
    rows[:, 0] = np.arange(len(rows)) % 40 == 0  # a hundred carriers, ten a group
    check_question(case(PairQuestion(NAMES, FRAME, 4), rows=rows))
    grouped = GroupedQuestion(PairQuestion(NAMES, FRAME, 4), 10)
    split = [table(part) for part in np.array_split(rows, 10)]
    assert refusal(grouped, rows=rows, split=lambda _: split) is Refusal.GROUPS


def test_the_other_rules_speak_for_groups_as_they_do_for_blocks():
    strange = GroupedQuestion(PairQuestion(NAMES, OTHER_FRAME, 4), 10)
    assert refusal(strange, rows=MANY, split=evenly) is Refusal.FRAME
    some = GroupedQuestion(PairQuestion(("a", "b"), FRAME.keep([0, 1]), 4), 10)
    assert refusal(some, rows=MANY, split=evenly) is Refusal.QUESTION


def test_rows_are_split_once():
    question = GroupedQuestion(PairQuestion(NAMES, FRAME, 4), 10)
    split = {"rows": MANY, "split": evenly, "split_tag": "t"}
    check_question(case(question, history=[entry(groups=10, split="t"), entry()], **split))
    for before in (entry(groups=11, split="t"), entry(groups=10, split="another secret")):
        assert refusal(question, history=[before], **split) is Refusal.SPLIT
        check_question(case(question, history=[replace(before, version="others")], **split))


@pytest.mark.parametrize("groups", [1, 9, 41, 10**9])
def test_nobody_splits_into_too_few_groups_or_more_than_there_is_room_for(groups):
    question = GroupedQuestion(PairQuestion(NAMES, FRAME, 4), groups)
    assert refusal(question, rows=MANY, split=lambda groups: pytest.fail(str(groups))) is Refusal.GROUPS


def test_the_numbers_of_every_group_count():
    question = PairQuestion(NAMES, FRAME, 4, grid=EXACT)
    one = question.answer([MANY[:500]])
    grouped = GroupedSums({("site", "block"): (one, question.answer([MANY[500:]]))})
    assert grouped.entries == 2 * one.entries


def test_numbers_add_up_over_rounds_and_runs():
    budget = Rules().budget(len(X), P)
    spent = [entry(answer="one", version="first", numbers=budget - 50)]
    known = {"related": frozenset({"first", "second"}), "vectors": (frozenset({"first"}),), "version": "second"}
    question = case(PairQuestion(NAMES, FRAME, 4), history=spent, **known)
    check_budget(question, 50, "two")
    check_budget(replace(question, related=frozenset({"second"}), vectors=()), 51, "two")  # about other persons
    check_budget(question, 51, "one")  # the same answer again tells nothing new, whoever takes part
    with pytest.raises(Refused) as caught:
        check_budget(question, 51, "two")
    assert caught.value.code is Refusal.BUDGET


def test_only_answers_are_spent_and_each_once():
    history = [
        entry(answer="one", version="b", numbers=5, digest="q"),
        entry(answer="one", version="b", numbers=5, digest="asked of others too"),
        entry(answer="other", version="b", numbers=5),
        entry(answer="two", version="b", numbers=7, outcome="budget"),
        entry(answer="two", version="c", numbers=9),
    ]
    assert allowance(history, [], "b", 99).spent == 10
    assert allowance(history, [frozenset("b"), frozenset("bc")], "new", 99).spent == 19
    assert allowance(history, [frozenset("b"), frozenset("c")], "new", 99).spent == 10


@pytest.mark.parametrize("question", HONEST, ids=lambda question: type(question).__name__)
def test_rows_are_trimmed_in_one_way(question):
    trimmed = [entry(trim="8 f", run="before", clips=None)]
    check_question(case(question, history=trimmed, trim="8 f"))
    for other in ("", "9 f", "8 g"):
        assert refusal(question, history=trimmed, trim=other) is Refusal.TRIM
    assert refusal(question, history=[entry(run="before")], trim="8 f") is Refusal.TRIM
    check_question(case(question, history=[entry(version="others")], trim="8 f"))
    check_question(case(question, history=[entry(outcome="rows")], trim="8 f"))


GAPPY = [PairQuestion(NAMES, FRAME, 4, given=MOMENTS), TensorQuestion(NAMES, FRAME, given=MOMENTS)]
CHOSEN = [question for question in HONEST if question.needs_trust]
"""Questions that depend on moments of the coordinator's choice."""


def named(question):
    return f"{type(question).__name__} on {'a grid' if question.grid else 'none'}"


def test_what_depends_on_moments_of_the_coordinator_is_known():
    kinds = [type(question).__name__ for question in CHOSEN]
    assert kinds == ["PairQuestion", "PairQuestion", "EntropyQuestion", "EntropyQuestion", "ResidualQuestion"]
    assert all(question.needs_trust for question in GAPPY)
    mapped = PairQuestion(NAMES, FRAME, 4, residual_map(MOMENTS.cov, (0,))[0])
    assert mapped.needs_trust  # though it does not say where its map comes from


@pytest.mark.parametrize("question", [*CHOSEN, *GAPPY], ids=named)
def test_a_coordinator_that_is_not_trusted_is_told_nothing_that_depends_on_its_moments(question):
    assert refusal(question, trusted=False) is Refusal.TRUST
    assert refusal(question, trusted=False, frame=None) is Refusal.TRUST


@pytest.mark.parametrize("question", [*HONEST, *GAPPY], ids=named)
def test_where_no_frame_is_declared_nothing_leaves_a_site_that_does_not_trust(question):
    assert refusal(question, trusted=False, frame=None) is Refusal.TRUST


@pytest.mark.parametrize("question", [one for one in HONEST if not one.needs_trust], ids=named)
def test_what_depends_on_the_rows_alone_needs_no_trust(question):
    check_question(case(question, trusted=False))


@pytest.mark.parametrize("each", EACH, ids=named)
def test_groups_need_the_trust_that_each_of_them_needs(each):
    question = GroupedQuestion(each, 10)
    if each.needs_trust:
        assert refusal(question, rows=MANY, split=evenly, trusted=False) is Refusal.TRUST
    else:
        check_question(case(question, rows=MANY, split=evenly, trusted=False))
        assert refusal(question, rows=MANY, split=evenly, trusted=False, frame=None) is Refusal.TRUST


def test_a_rule_that_nobody_knows_is_not_passed_over():
    class Strange(PairQuestion):
        rules = ("rows", "no such rule")

    assert refusal(Strange(NAMES, FRAME, 4)) is Refusal.QUESTION


def test_levels_are_seen_in_whatever_chunk_they_are():
    values = np.concatenate([np.zeros(100_000), np.ones(3)])[:, None]
    long = table(values, ("a",))
    assert few_levels(long, 5)["a"].tolist() == [0.0, 1.0]
    assert next(small_cells(long, 2, Rules())) == ("a",)


def moves(order=(0, 1, 2, 3), **changes):
    """The entropies that a climb asks for from an order."""
    R = np.stack([residual for _, residual in moved_residuals(MOMENTS.cov, list(order), exact=False)])
    none = np.empty((0, 2), dtype=np.int64)
    own = {"singles": True, "basis": Basis(MOMENTS, ()), "order": order}
    question = MoveEntropyQuestion(NAMES, FRAME, R, R @ MOMENTS.mean, none, np.empty(0), **own)
    return replace(question, **changes)


def test_a_steep_map_in_the_place_of_a_move_tells_whether_a_row_is_there():
    check_question(case(moves()))
    steep = np.array([[1e7, 0.0, 0.0, 0.0]])
    guessed, elsewhere = (moves(residuals=steep, offset=1e7 * at - 1.0) for at in (X[:1, 0], X[:1, 0] + 1e-5))
    for question in (guessed, elsewhere):
        assert refusal(question) is Refusal.MAP
        check_question(replace(case(question), rules=Rules(off=("move map",))))
    there, nobody = (question.answer(iter([X])).gauss[0] for question in (guessed, elsewhere))
    assert there == pytest.approx(np.exp(-0.5))
    assert nobody == 0


@pytest.mark.parametrize("order", [(), (0, 1, 2), (0, 1, 2, 2)])
def test_moves_of_what_is_no_order_are_refused(order):
    assert refusal(replace(moves(), order=order)) is Refusal.MAP
