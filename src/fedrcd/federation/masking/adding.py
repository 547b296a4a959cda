"""The total of masked answers, and whether it can be one of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedrcd.errors import StatisticError
from fedrcd.federation.masking.answers import Masked, MaskedQuestion, Position, added
from fedrcd.federation.masking.site_run import agreed, transcript_of
from fedrcd.federation.masking.statements import Signed, SiteKeys
from fedrcd.federation.masking.vectors import Shape


def total(
    roll_calls: Sequence[Signed],
    answers: Mapping[str, Masked],
    roster: SiteKeys,
    question: MaskedQuestion,
    shape: Shape,
    position: Position | None = None,
) -> Any:
    """The sums over all sites, judged as far as a total can be; in the first round, unless a position is given."""
    said = agreed(roll_calls, roster, question.ring)
    here = position or Position.first(transcript_of(said))
    sums = shape.pooled(added(answers, [one.site for one in said], here, roster, question))
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
