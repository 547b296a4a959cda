"""How to add a statistic: a sum, and the question that asks for it.

The sum says how it is added and checked (`FloatSums` has the usual answers). The question says what it is about and
sums rows that arrive in blocks (`Asking` has the usual answers). Methods in one process need no more. Over machines the
two kinds must be listed in `KINDS`, under a versioned tag, and the question must name the rules of disclosure that it
falls under: a site that guards its rows answers no question that names none.

The sum here is that of absolute values: from it follows how far a variable is from Gaussian.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import fedrcd
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame
from fedrcd.errors import StatisticError
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.site.release import Door, Occasion
from fedrcd.federation.site.store import Store
from fedrcd.methods.card import REGISTERED, Coverage, Payload, RoundCount, register
from fedrcd.methods.deflations.pairs import ask_pairs
from fedrcd.methods.skeleton import Evidence, Parts, local
from fedrcd.protocol.questions import COMMON_RULES, Asking, ask, whole_rows
from fedrcd.protocol.wire import KINDS, from_bytes, to_bytes
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.sums import FloatSums

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here
NAMES = ("x1", "x2", "x3")
TABLES = np.split(np.random.default_rng(6).laplace(size=(6000, 3)).cumsum(axis=1), 3)


@dataclass(frozen=True, slots=True, eq=False)
class AbsoluteSums(FloatSums):
    """Sums of |z| of every variable, and how many rows there are in the end, shape (p + 1,)."""

    sums: np.ndarray
    kind: ClassVar[str] = "absolute values"

    @property
    def numbers(self):
        return len(self.sums)

    def __add__(self, other):
        return AbsoluteSums(self.sums + other.sums)

    def check(self, *_names):
        if not np.isfinite(self.sums).all():
            raise StatisticError("sums overflow")


@dataclass(frozen=True, slots=True, eq=False)
class AbsoluteQuestion(Asking):
    """Asks for sums of |z|."""

    variables: tuple[str, ...]
    frame: Frame

    def share(self, layout, holding):
        return whole_rows(self, layout, holding)

    def answer(self, blocks, **_gaps):
        return AbsoluteSums(sum(np.append(np.abs(z).sum(axis=0), len(z)) for z in blocks))


class Deviations:
    """What the method below goes by: mean absolute values in standard deviations, in a second round."""

    def start(self, setting):
        everything, marginals = yield from ask_pairs(setting, 2, "plug-in")
        sums = (yield from ask(AbsoluteQuestion(setting.variables, setting.frame))).sums
        sd = np.sqrt(np.diagonal(marginals.cov)) / setting.frame.scale
        return Evidence(everything.variables, sums[:-1] / sums[-1] / sd), marginals

    def remove(self, _setting, _marginals, evidence, _sources):
        return local(evidence)


def test_a_method_asks_for_it():
    how = {"rounds": RoundCount(0, 2), "payload": Payload(1), "coverage": Coverage.ALL_COLUMNS, "erasable": False}
    register("geary", score="Geary's ratio", deflation="none", scale_free=True, **how)(
        lambda: Parts(np.negative, Deviations())
    )
    try:
        found = fedrcd.discover(TABLES, "geary")
    finally:
        del REGISTERED["geary"]
    assert (found.order, found.rounds) == (NAMES, 2)


QUESTION = AbsoluteQuestion(NAMES, Frame(np.zeros(3), np.full(3, 2.0)))


@pytest.fixture
def listed(monkeypatch):
    monkeypatch.setitem(KINDS, "absolute-question/1", AbsoluteQuestion)
    monkeypatch.setitem(KINDS, "absolute-sums/1", AbsoluteSums)


def test_it_travels_once_it_is_listed(listed):
    for value in (QUESTION, QUESTION.answer([TABLES[0]])):
        assert to_bytes(from_bytes(to_bytes(value), type(value))) == to_bytes(value)


def test_what_is_not_listed_does_not_travel():
    with pytest.raises(TypeError, match="AbsoluteQuestion does not travel"):
        to_bytes(QUESTION)


def test_a_site_that_guards_its_rows_answers_once_the_question_names_rules(tmp_path, listed, monkeypatch):
    declared = {name: VariableFrame(0.0, 2.0) for name in NAMES}
    federation = Federation(NAMES, (SiteEntry("a", NAMES, ("2024",)),), (BlockEntry("2024", 2000),), declared)
    asked = [QUESTION], [fedrcd.Table(TABLES[0], "a", "2024", columns=NAMES)], Occasion("run", 1, "digest", None)
    with Store(tmp_path, "a") as store:
        door = Door(site="a", federation=federation, store=store)
        with pytest.raises(Refused) as refused:
            door.release(*asked)
        assert refused.value.code is Refusal.QUESTION
        monkeypatch.setattr(AbsoluteQuestion, "rules", (*COMMON_RULES, "frame", "pair cells"))
        [(_, sums)] = door.release(*asked)[0].blocks
    assert sums.sums == pytest.approx([*np.abs(TABLES[0]).sum(axis=0) / 2, 2000])
