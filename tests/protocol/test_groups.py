import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, ProtocolError, StatisticError
from fedrcd.protocol.groups import GroupedQuestion, Grouping
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.protocol.transport import InProcess, Setting
from fedrcd.statistics.entropy_sums import EntropySums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.grouped_sums import GroupedSums

NAMES = ("a", "b", "c")
ROWS = np.random.default_rng(0).normal(size=(600, 3))


def site(name, rows, ids=None, **fields):
    rows = Table(rows, name, name, columns=NAMES, ids=ids)
    return LocalSite(name, rows, name, grouping=Grouping(name.encode()), **fields)


def federation(parts):
    sites = [site(f"s{k}", rows) for k, rows in enumerate(parts)]
    return InProcess(sites, Setting(NAMES, Frame.identity(3)))


QUESTIONS = [
    PairQuestion(NAMES, Frame.identity(3), 4),
    PairQuestion(NAMES, Frame.identity(3), 2),
    TensorQuestion(NAMES, Frame.identity(3)),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_groups_add_up_to_all_rows_in_one_round(question):
    transport = federation(np.array_split(ROWS, 3))
    grouped = transport.pool(GroupedQuestion(question, 12))
    plain = federation([ROWS]).pool(question)
    assert transport.traffic.rounds == 1
    assert transport.traffic.numbers == grouped.numbers == 3 * 12 * plain.numbers
    stack = grouped.stack()
    for total in (grouped.total(), stack.combine(np.ones(36))):
        for mine, theirs in zip(numbers(total), numbers(plain), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_clipped_values_are_counted_over_all_groups():
    rows = ROWS.copy()
    rows[:3] = 1e6
    exact = GroupedQuestion(PairQuestion(NAMES, Frame.identity(3), 4, grid=ARITHMETIC["exact"]), 2)
    transport = federation([rows])
    transport.pool(exact)
    assert transport.traffic.clipped.least > 0
    floats = federation([rows])
    floats.pool(GroupedQuestion(QUESTIONS[0], 2))
    assert floats.traffic.clipped is None


def numbers(sums):
    return (
        [sums.packed] if hasattr(sums, "packed") else [sums.count, *(sums.sums[power] for power in sorted(sums.sums))]
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_weights_of_nought_and_two_leave_groups_out_and_count_them_twice(question):
    grouping, ids = Grouping(b"s0"), [str(k) for k in range(len(ROWS))]
    labels = grouping.labels(ids, 10)
    weights = np.array([0, 2, 1, 1, 0, 1, 1, 2, 1, 1], dtype=float)
    stack = federation([ROWS]).pool(GroupedQuestion(question, 10)).stack()
    expected = federation([np.repeat(ROWS, weights[labels].astype(int), axis=0)]).pool(question)
    for mine, theirs in zip(numbers(stack.combine(weights)), numbers(expected), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@given(st.lists(st.text(max_size=5), unique=True, min_size=2, max_size=30), st.binary(min_size=1, max_size=64))
def test_a_row_keeps_its_group_when_others_come_or_go(ids, secret):
    labels = Grouping(secret).labels(ids, 10)
    assert Grouping(secret).labels(ids[1:], 10).tolist() == labels[1:].tolist()


def test_the_secret_decides_the_groups_and_they_are_of_similar_size():
    ids = [str(k) for k in range(5000)]
    one, other = (Grouping(secret).labels(ids, 10) for secret in (b"one", b"other"))
    assert abs(np.mean(one == other) - 0.1) < 0.02
    assert np.bincount(one).min() > 400


def test_identifiers_decide_the_groups_not_places():
    ids = tuple(f"patient {k}" for k in range(600))
    shuffled = np.random.default_rng(1).permutation(600)
    question = GroupedQuestion(QUESTIONS[1], 10)
    one = site("s", ROWS, ids=ids).answer(question)
    other = site("s", ROWS[shuffled], ids=tuple(ids[k] for k in shuffled)).answer(question)
    for mine, theirs in zip(one.groups["s", "s"], other.groups["s", "s"], strict=True):
        np.testing.assert_allclose(mine.sums[1, 1], theirs.sums[1, 1], rtol=1e-9)


def test_too_small_groups_are_refused_without_naming_rows():
    small = LocalSite.of("s", ROWS, NAMES, "s", grouping=Grouping(b"x", least=100))
    with pytest.raises(ProtocolError, match="refuses 10 groups: the smallest would have"):
        small.answer(GroupedQuestion(QUESTIONS[1], 10))
    assert small.answer(GroupedQuestion(QUESTIONS[1], 3)).smallest >= 100


def test_a_site_without_a_secret_gives_no_groups():
    with pytest.raises(ProtocolError, match="has no secret"):
        LocalSite.of("s", ROWS, NAMES, "s").answer(GroupedQuestion(QUESTIONS[1], 10))


def test_a_question_needs_groups():
    with pytest.raises(ConfigError, match="groups must be at least 1"):
        GroupedQuestion(QUESTIONS[1], 0)


def test_a_grouped_question_is_never_answered_as_a_whole():
    question = GroupedQuestion(QUESTIONS[1], 10)
    with pytest.raises(ProtocolError, match="group by group"):
        question.share(None, 0)
    with pytest.raises(ProtocolError, match="group by group"):
        question.answer([ROWS])


def test_sites_can_be_taken_out_and_not_put_in_twice():
    one, two = (site(name, ROWS).answer(GroupedQuestion(QUESTIONS[1], 10)) for name in ("one", "two"))
    assert set(((one + two) - two).groups) == {("one", "one")}
    with pytest.raises(StatisticError, match="'one' has sent the groups of block 'one' twice"):
        one + one
    with pytest.raises(StatisticError, match="'two' is not among"):
        one - two


def test_only_known_sums_can_be_weighted():
    with pytest.raises(StatisticError, match="cannot be weighted"):
        GroupedSums({("s", "s"): (EntropySums(3, np.ones(1), np.ones(1)),) * 2}).stack()
