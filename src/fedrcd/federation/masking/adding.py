"""What whoever adds masked answers up must verify: that they belong together, and that the total can be one of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fedrcd.errors import ProtocolError, StatisticError
from fedrcd.federation.masking.ring import Words
from fedrcd.federation.masking.site_run import ONLY_ROUND, MaskedQuestion, agreed, transcript_of
from fedrcd.federation.masking.statements import MaskedAnswer, Signed, SiteKeys, vector_digest
from fedrcd.federation.masking.vectors import Shape


class Masked(NamedTuple):
    """What a site answered: the signed statement, and the numbers under masks."""

    statement: Signed
    vector: bytes


def require_answer(answer: Masked, site: str, transcript: bytes, roster: SiteKeys, question: MaskedQuestion) -> Words:
    """The masked numbers of a site; `ProtocolError` unless they are its answer to this question in this run."""
    said = answer.statement.read(MaskedAnswer, roster[site])
    wanted = MaskedAnswer(
        transcript=transcript.hex(),
        before=transcript.hex(),
        site=site,
        round=ONLY_ROUND,
        question=question.digest,
        length=question.length,
        vector=vector_digest(answer.vector),
    )
    if said != wanted:
        raise ProtocolError(f"site {site!r} answered another run or question, or its numbers were changed on the way")
    return question.ring.from_bytes(answer.vector, question.length)


def total(
    roll_calls: Sequence[Signed],
    answers: Mapping[str, Masked],
    roster: SiteKeys,
    question: MaskedQuestion,
    shape: Shape,
) -> Any:
    """The sums over all sites, judged as far as a total can be."""
    said = agreed(roll_calls, roster, question.ring)
    transcript = transcript_of(said)
    vector = question.ring.zeros(question.length)
    for one in said:
        if one.site not in answers:
            raise ProtocolError(f"site {one.site!r} has not answered: without it nothing can be read")
        vector = question.ring.add(vector, require_answer(answers[one.site], one.site, transcript, roster, question))
    sums = shape.pooled(vector)
    require_possible(sums, sum(one.rows for one in said))
    return sums


def require_possible(sums: Any, rows: int) -> None:
    """Raise unless some rows, of at most so many, can have these sums: bounds, parity, moments."""
    try:
        _require_sums(sums, rows)
    except StatisticError as problem:
        raise StatisticError(
            f"the masked total cannot be used: {problem}; some site sent what are no sums of its rows, and under masks "
            "nobody can tell which"
        ) from None


def _require_sums(sums: Any, rows: int) -> None:
    sums.check()
    whole = sums.total()
    if whole.most_rows > rows:
        raise StatisticError("there are more rows than the sites said at the roll call")
    whole.check()
    whole.check_possible()
