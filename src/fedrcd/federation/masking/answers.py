"""Masked answers, and what whoever adds them up must verify of each: that it belongs to this question in this run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking.derivation import digest
from fedrcd.federation.masking.ring import Ring, Words
from fedrcd.federation.masking.statements import MaskedAnswer, Signed, SiteKeys, vector_digest
from fedrcd.protocol.questions import Question
from fedrcd.protocol.wire import to_bytes


class MaskedQuestion(NamedTuple):
    """What is asked, and the shape that it fixes."""

    digest: str
    length: int
    ring: Ring


def question_name(question: Question[Any], cohort: Iterable[str]) -> str:
    """The digest by which a question to a cohort is known in a masked run."""
    return digest(b"question", to_bytes(question), *(site.encode() for site in cohort)).hex()


class Position(NamedTuple):
    """Where in a run something is answered: `before` is the digest of the round before, of the first the transcript."""

    transcript: str
    before: str
    round: int

    @classmethod
    def first(cls, transcript: bytes) -> Position:
        """That of the first round."""
        return cls(transcript.hex(), transcript.hex(), 1)


class Masked(NamedTuple):
    """What a site answered: the signed statement, and the numbers under masks."""

    statement: Signed
    vector: bytes


def statement_of(site: str, position: Position, question: MaskedQuestion, vector: bytes) -> MaskedAnswer:
    """What a site signs under its masked numbers."""
    return MaskedAnswer(
        transcript=position.transcript,
        before=position.before,
        site=site,
        round=position.round,
        question=question.digest,
        length=question.length,
        vector=vector_digest(vector),
    )


def require_answer(answer: Masked, site: str, position: Position, roster: SiteKeys, question: MaskedQuestion) -> Words:
    """The masked numbers of a site; `ProtocolError` unless they are its answer to this question in this run."""
    said = answer.statement.read(MaskedAnswer, roster[site])
    if said != statement_of(site, position, question, answer.vector):
        raise ProtocolError(f"site {site!r} answered another run or question, or its numbers were changed on the way")
    return question.ring.from_bytes(answer.vector, question.length)


def added(
    answers: Mapping[str, Masked],
    cohort: Sequence[str],
    position: Position,
    roster: SiteKeys,
    question: MaskedQuestion,
) -> Words:
    """The total over a cohort, from answers that were verified one by one."""
    vector = question.ring.zeros(question.length)
    for site in cohort:
        if site not in answers:
            raise ProtocolError(f"site {site!r} has not answered: without it nothing can be read")
        vector = question.ring.add(vector, require_answer(answers[site], site, position, roster, question))
    return vector


def after(position: Position, answers: Mapping[str, Masked], cohort: Sequence[str]) -> Position:
    """The position of the next round: it follows from what all sites signed in this one."""
    said = (answers[site].statement.text.encode() for site in cohort)
    return Position(
        position.transcript, digest(b"round", bytes.fromhex(position.before), *said).hex(), position.round + 1
    )
