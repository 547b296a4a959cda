"""Totals of masked runs in a ledger: sums of all sites together, and what each site signed under its part of them.

A ledger of totals never sees the sums of a single site. So nothing can be taken out of it: when rows leave, all sites
answer anew about their present editions, and the new total takes the place of the former one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from fedrcd.errors import ProtocolError, StatisticError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import Statistic
from fedrcd.federation.masking.adding import require_possible
from fedrcd.federation.masking.answers import question_name
from fedrcd.federation.masking.ring import RINGS
from fedrcd.federation.masking.site_run import agreed_on, transcript_of
from fedrcd.federation.masking.statements import MaskedAnswer, RollCall, RunTerms, Signed, SiteKeys
from fedrcd.federation.messages.digests import digest
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.wire import KINDS, from_bytes, to_bytes

PLACE = ("", "")
"""Where a ledger keeps its total: it is of no site and no block."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredTotal:
    """The sums of a total as a ledger keeps them, by family; `salt` is random and hides them behind their digest."""

    salt: str
    sums: Mapping[str, Statistic]

    def to_bytes(self) -> bytes:
        """The canonical bytes."""
        return to_bytes(self)

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The total with these bytes."""
        return from_bytes(data, cls)

    @property
    def commitment(self) -> str:
        """The digest by which it is known; nobody can test a guess of the numbers without the salt."""
        return digest("total", self.to_bytes())


KINDS["stored-total/1"] = StoredTotal


class HeldRows(NamedTuple):
    """What a site said it has of a block: at most so many rows of these columns."""

    site: str
    block: str
    rows: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignedRun:
    """What the sites of a masked run of one round signed: its terms in their roll calls, and their masked answers."""

    terms: str
    roll_calls: tuple[Signed, ...]
    answers: tuple[Signed, ...]

    def as_dict(self) -> dict[str, Any]:
        """As an entry tells it."""
        pairs = {"roll_calls": self.roll_calls, "answers": self.answers}
        return {
            "terms": self.terms,
            **{name: [[one.text, one.signature] for one in told] for name, told in pairs.items()},
        }

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> SignedRun:
        """The run in an entry."""
        try:
            calls, answers = (
                tuple(Signed(*map(str, pair)) for pair in content[name]) for name in ("roll_calls", "answers")
            )
            return cls(str(content["terms"]), calls, answers)
        except (KeyError, TypeError, ValueError):
            raise ProtocolError("an entry about a total does not say what the sites signed") from None

    def verified(self, roster: SiteKeys, question: str = "") -> list[RollCall]:
        """The roll calls; `ProtocolError` unless every site signed the terms, and an answer to the same question.

        `question` is the digest of the question, where it is known.
        """
        terms = RunTerms.read(self.terms)
        said = agreed_on(terms, self.roll_calls, roster, RINGS["exact"])
        transcript = transcript_of(said).hex()
        if len(self.answers) != len(said):
            raise ProtocolError(f"{len(self.answers)} of {len(said)} sites have signed an answer")
        for one, site in zip(self.answers, terms.cohort, strict=True):
            answer = one.read(MaskedAnswer, roster[site])
            question = question or answer.question
            if (answer.site, answer.transcript, answer.before) != (site, transcript, transcript):
                raise ProtocolError(f"site {site!r} signed an answer in another run")
            if (answer.round, answer.question) != (1, question):
                raise ProtocolError(f"site {site!r} signed an answer to another question")
        return said


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SignedTotal:
    """A total over the present editions of a cohort: by family, what was signed and the sums."""

    runs: Mapping[str, SignedRun]
    held: Sequence[HeldRows]
    sums: Mapping[str, Statistic]

    @property
    def content(self) -> dict[str, Any]:
        """What an entry says of it: everything but the numbers."""
        return {
            "runs": {family: run.as_dict() for family, run in self.runs.items()},
            "held": [[*one[:3], list(one.columns)] for one in self.held],
            "editions": editions_of(next(iter(self.runs.values()))),
        }

    def check(self, configuration: Configuration, groups: int, roster: SiteKeys) -> None:
        """Raise unless all sites signed it, as an answer to what the ledger asks, and some rows have these sums."""
        for said in require_signed(self.content, roster, questions_of(configuration, groups, self._cohort)):
            require_sums(self.sums, configuration, groups, sum(one.rows for one in said))

    @property
    def _cohort(self) -> tuple[str, ...]:
        return RunTerms.read(next(iter(self.runs.values())).terms).cohort


def editions_of(run: SignedRun) -> dict[str, str]:
    """About which edition each site answered."""
    said = [RollCall.read(one.text) for one in run.roll_calls]
    return {one.site: one.edition for one in said}


def held_of(content: Mapping[str, Any]) -> list[HeldRows]:
    """What the sites said they hold, in an entry about a total."""
    return [HeldRows(site, block, rows, tuple(columns)) for site, block, rows, columns in content["held"]]


def questions_of(configuration: Configuration, groups: int, cohort: Iterable[str]) -> dict[str, str]:
    """The digest of what a ledger asks a cohort, by family."""
    asked: Mapping[str, Any] = configuration.questions()
    return {
        family: question_name(GroupedQuestion(one, groups) if groups else one, cohort) for family, one in asked.items()
    }


def require_signed(
    content: Mapping[str, Any], roster: SiteKeys, questions: Mapping[str, str] | None = None
) -> list[list[RollCall]]:
    """The roll calls behind the total that an entry tells of, by family; `ProtocolError` unless all sites signed them.

    All families are about the same editions, and what the entry says of editions and rows is what the sites said.
    """
    runs = {str(family): SignedRun.read(one) for family, one in content["runs"].items()}
    if not runs or (questions is not None and runs.keys() != questions.keys()):
        raise ProtocolError("an entry about a total is about other sums than the ledger holds")
    said = [run.verified(roster, (questions or {}).get(family, "")) for family, run in runs.items()]
    held = held_of(content)
    for calls in said:
        told = {one.site: (one.edition, one.rows) for one in calls}
        rows = {site: sum(one.rows for one in held if one.site == site) for site in told}
        if told != {site: (edition, rows.get(site)) for site, edition in content["editions"].items()}:
            raise ProtocolError("an entry about a total says otherwise of editions and rows than the sites have signed")
    if {one.site for one in held} != set(content["editions"]):
        raise ProtocolError("an entry about a total is about other sites than have signed it")
    return said


def require_sums(sums: Mapping[str, Any], configuration: Configuration, groups: int, rows: int) -> None:
    """Raise unless sums are of the families, kinds and grid of a ledger, and of at most so many rows."""
    if tuple(sums) != configuration.families:
        raise ProtocolError(f"a total does not hold the sums {', '.join(configuration.families)}")
    for family, one in sums.items():
        parts = [part for group in one.groups.values() for part in group] if groups else [one]
        if groups and len(parts) != groups:
            raise StatisticError(f"the ledger holds sums of {groups} groups of rows, and these are {len(parts)}")
        question = configuration.questions()[family]
        if not all(question.accepts(part, PLACE) for part in parts):
            raise StatisticError(f"the {family} sums of a total are of another kind, grid or size than the ledger's")
        require_possible(one, rows)
