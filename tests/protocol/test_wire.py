"""Whatever may travel arrives as it was, to the last bit; whatever is wrong is named."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.errors import ProtocolError
from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.protocol.entropy_question import EntropyQuestion, MoveEntropyQuestion
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.moment_questions import ExpectationQuestion, SiteMomentsQuestion
from fedrcd.protocol.noisy_question import NoisyQuestion
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Basis
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.protocol.wire import KINDS, MAGIC, from_bytes, pack, to_bytes, unpack
from fedrcd.statistics.added_noise import Losses
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.directions import Whitening
from fedrcd.statistics.exact_sums import Clipped, ExactSums
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.grouped_sums import GroupedSums
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.tensor_sums import TensorSums

NAMES = ("a", "ü b", "c")
FRAME = Frame(np.array([0.1, -0.0, 1e300]), np.array([1.0, 5e-324, 3.0]))
GIVEN = Gaussian(np.zeros(3), np.eye(3))
R = np.array([[1.0, 0.5, 0.0], [0.0, -0.25, 1.0]])
BASIS = Basis(GIVEN, (1,))
NONE = np.empty((0, 2), dtype=np.int64)
QUESTIONS = [
    PairQuestion(NAMES, FRAME, 4),
    PairQuestion(NAMES, FRAME, 4, grid=Grid()),
    PairQuestion(NAMES, FRAME, 2, R, complete=True, basis=BASIS),
    PairQuestion(NAMES, FRAME, 3, given=GIVEN),
    TensorQuestion(NAMES, FRAME),
    EntropyQuestion(NAMES, FRAME, R, np.zeros(2), np.array([[0, 1]]), np.array([0.5]), singles=True),
    MoveEntropyQuestion(NAMES, FRAME, R, np.zeros(2), NONE, np.empty(0), singles=True, order=(2, 0, 1)),
    ExpectationQuestion(NAMES, FRAME, GIVEN),
    SiteMomentsQuestion(NAMES, FRAME),
]
WHITENING = Whitening(np.zeros(3), np.eye(3))
DIRECTIONS = [
    DirectionQuestion(NAMES, FRAME, WHITENING),
    DirectionQuestion(NAMES, FRAME, WHITENING.on_grid(Grid()), Grid()),
    DirectionTensorQuestion(NAMES, FRAME, WHITENING),
    DirectionTensorQuestion(NAMES, FRAME, WHITENING.on_grid(Grid()), Grid()),
]


RESIDUALS = ResidualQuestion(NAMES, FRAME, Basis(GIVEN, (2, 0, 1)))
LOSSES = [Losses({2: 0.1}), Losses({2: 0.1, 3: 0.2, 4: 0.3}, 0.5, 4)]
NOISY = [NoisyQuestion(one, losses) for one, losses in zip(DIRECTIONS[1::2], LOSSES, strict=True)]
ASKED = [
    *QUESTIONS,
    *DIRECTIONS,
    *NOISY,
    RESIDUALS,
    GroupedQuestion(QUESTIONS[0], 12),
    GroupedQuestion(QUESTIONS[4], 12),
]


def rows(seed: int, *, gaps: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3))
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X


def answers(seed: int) -> list[object]:
    plain = [question.answer([rows(seed, gaps=False)]) for question in (*QUESTIONS[:-1], *DIRECTIONS)]
    noisy = [question.answer([rows(seed, gaps=False)]) for question in NOISY]
    exact = [replace(QUESTIONS[k], grid=Grid()).answer([rows(seed, gaps=False)]).coarse() for k in (0, 4)]
    gaps = [question.answer([rows(seed, gaps=True)], gaps=True) for question in (QUESTIONS[0], QUESTIONS[4])]
    residuals = RESIDUALS.answer([rows(seed, gaps=False)]).finished()
    grouped = [
        GroupedSums({("one", "x"): (part, part), ("two", "y"): (part,)}) for part in (plain[0], plain[4], *exact)
    ]
    moments = QUESTIONS[-1].answer([rows(seed, gaps=False)]).site_moments()
    return [*plain, *exact, *noisy, *(one.low for one in noisy), *gaps, residuals, *grouped, moments]


LAYOUT = Layout(NAMES, (Holding("one", "x", NAMES[:2], 20), Holding("two", "x", NAMES, 20)))


def same(one: object, two: object) -> bool:
    """Equality field by field, arrays bit by bit."""
    first, second = pack(one), pack(two)
    return first.header == second.header and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(first.arrays, second.arrays, strict=True)
    )


@given(st.integers(0, 2**32))
def test_what_travels_arrives_bit_for_bit(seed: int) -> None:
    for value in [*ASKED, *answers(seed), LAYOUT]:
        arrived = from_bytes(to_bytes(value), type(value))
        assert same(value, arrived)
        assert to_bytes(arrived) == to_bytes(value)
        assert same(value, unpack(pack(value), object))


def test_every_kind_is_tried() -> None:
    parts = [FRAME, GIVEN, BASIS, WHITENING, *LOSSES, Grid(), Clipped(), LAYOUT, *LAYOUT.holdings, *ASKED, *answers(1)]
    below = {kind for kind in KINDS.values() if not kind.__module__.startswith("fedrcd.federation")}  # they have tests
    assert {type(value) for value in parts} >= below


def test_a_question_says_whether_masks_can_hide_its_answers() -> None:
    asked = [*QUESTIONS, replace(QUESTIONS[4], grid=Grid()), RESIDUALS, replace(RESIDUALS, grid=Grid())]
    for question in asked:
        assert question.maskable == isinstance(question.answer([rows(1, gaps=False)]), ExactSums), question
        assert GroupedQuestion(question, 12).maskable == question.maskable


@given(st.integers(0, 2**32), st.integers(0, 10**6))
def test_a_message_cut_short_or_made_longer_is_refused(seed: int, at: int) -> None:
    data = to_bytes(answers(seed)[at % 3])
    for wrong in (data[: at % len(data)], data + b"x"):
        with pytest.raises(ProtocolError):
            from_bytes(wrong, object)


def edited(**changes: object) -> bytes:
    """Pair sums whose header was changed."""
    data = to_bytes(answers(1)[0])
    start = len(MAGIC) + 4
    length = int.from_bytes(data[len(MAGIC) : start], "little")
    header, shapes = json.loads(data[start : start + length])
    header["fields"].update(changes)
    text = json.dumps([header, shapes]).encode()
    return MAGIC + len(text).to_bytes(4, "little") + text + data[start + length :]


@pytest.mark.parametrize(
    "changes",
    [
        {"order": "4"},
        {"order": True},
        {"order": 4.0},
        {"order": None},
        {"extra": 1},
        {"count": 3},
        {"count": {"array": 99}},
        {"count": {"array": "x"}},
        {"sums": {"map": [[1, 2]]}},
        {"sums": {"map": 3}},
        {"sums": {"kind": "os/1", "fields": {}}},
        {"sums": {"kind": ["x"], "fields": {}}},
        {"sums": {"float": "zzz"}},
    ],
)
def test_wrong_fields_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ProtocolError, match=r"wrong|not known|cannot be read"):
        from_bytes(edited(**changes), PairSums)


def test_another_kind_than_was_asked_for_is_refused() -> None:
    with pytest.raises(ProtocolError, match="unexpected kind of message arrived: pair-sums/1"):
        from_bytes(to_bytes(answers(1)[0]), TensorSums)


def test_values_that_break_their_own_rules_are_refused() -> None:
    data = to_bytes(FRAME)
    with pytest.raises(ProtocolError, match="scales must be positive"):
        from_bytes(data.replace(np.array([3.0]).tobytes(), np.array([-3.0]).tobytes()), Frame)


def test_nothing_else_travels() -> None:
    for value in (object(), np.zeros(3, dtype=np.float32), np.array(["text"])):
        with pytest.raises(TypeError):
            to_bytes(value)


def test_a_message_of_another_version_says_so() -> None:
    with pytest.raises(ProtocolError, match="version"):
        from_bytes(b"fedrcd-wire/9\n" + b"\0" * 30, object)
