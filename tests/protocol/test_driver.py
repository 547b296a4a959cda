from dataclasses import dataclass

import numpy as np
import pytest

from fedrcd.errors import ProtocolError, StatisticError
from fedrcd.protocol.driver import run
from fedrcd.protocol.questions import Asking, Share, ask
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import InProcess, Setting, Traffic
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.sums import FloatSums


@dataclass(frozen=True)
class Tally(FloatSums):
    """A statistic of one number."""

    rows: int
    numbers = 1

    def __add__(self, other):
        return Tally(self.rows + other.rows)

    def __sub__(self, part):
        return Tally(self.rows - part.rows)

    def check(self, _names=()):
        if self.rows < 0:
            raise StatisticError("negative")


@dataclass(frozen=True)
class RowsBelow(Asking):
    """Asks how many rows of variable a lie below a bound."""

    bound: float
    variables = ("a",)
    frame = Frame.identity(1)

    def share(self, _layout, _holding):
        return Share(self, lambda sums: sums)

    def answer(self, blocks, *, gaps=False):  # noqa: ARG002
        return Tally(sum(int((z < self.bound).sum()) for z in blocks))


def median_by_halving(low, high, questions):
    """A conversation whose every question depends on the last answer: the median of a, by counts alone."""
    everyone = yield from ask(RowsBelow(np.inf))
    for _ in range(questions - 1):
        middle = (low + high) / 2
        below = yield from ask(RowsBelow(middle))
        low, high = (low, middle) if 2 * below.rows >= everyone.rows else (middle, high)
    return (low + high) / 2


def federation(*columns, progress=None):
    sites = [LocalSite.of(f"site {k}", np.array(rows, float)[:, None], ("a",)) for k, rows in enumerate(columns)]
    return InProcess(sites, Setting(("a",), Frame.identity(1)), progress)


def test_a_conversation_learns_from_pooled_answers():
    found = run(median_by_halving(0, 16, 30), federation([1, 9, 2], [3, 14], [15, 8]))
    assert found == pytest.approx(8, abs=1e-6)


def test_every_question_is_one_round():
    transport = federation([1, 2], [3])
    run(median_by_halving(0, 16, 7), transport)
    assert transport.traffic.rounds == 7


def test_every_number_of_every_site_is_eight_bytes():
    transport = federation([1, 2], [3], [4])
    run(median_by_halving(0, 16, 7), transport)
    assert transport.traffic.bytes_sent == 7 * 3 * 8


def test_a_conversation_that_asks_nothing_costs_nothing():
    def silent():
        yield from ()
        return "done"

    transport = federation([1])
    assert run(silent(), transport) == "done"
    assert transport.traffic == Traffic(0, 0)


def test_progress_is_told_after_every_answer():
    seen = []
    transport = federation([1, 2], [3], progress=lambda traffic: seen.append((traffic.rounds, traffic.bytes_sent)))
    run(median_by_halving(0, 16, 2), transport)
    assert seen == [(1, 8), (1, 16), (2, 24), (2, 32)]


def test_answers_are_added_in_the_order_of_the_sites():
    class Listing(Tally):
        def __add__(self, other):
            return Listing((*np.atleast_1d(self.rows), other.rows))

        def check(self, _names=()):
            pass

    class Named:
        def __init__(self, name):
            self.name = name

        def answer(self, _question, _layout=None):
            return Listing(self.name)

    transport = InProcess([Named("b"), Named("c"), Named("a")], Setting(("a",), Frame.identity(1)))
    assert transport.pool(RowsBelow(0)).rows == ("b", "c", "a")


def test_a_federation_without_sites_cannot_answer():
    with pytest.raises(ProtocolError, match="at least one site"):
        run(median_by_halving(0, 1, 2), federation())


def test_an_unusable_answer_is_blamed_on_its_site():
    class Liar:
        name = "north"

        def answer(self, _question, _layout=None):
            return Tally(-1)

    transport = InProcess([Liar()], Setting(("a",), Frame.identity(1)))
    with pytest.raises(StatisticError, match="north"):
        transport.pool(RowsBelow(0))


def test_a_refusal_ends_the_conversation():
    transport = InProcess([LocalSite.of("s", np.zeros((2, 1)), ("b",))], Setting(("a",), Frame.identity(1)))
    with pytest.raises(ProtocolError, match="'a'"):
        run(median_by_halving(0, 1, 2), transport)
