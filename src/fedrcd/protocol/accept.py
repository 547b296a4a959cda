"""The second step of a transport: whether what a site sent can be used."""

from __future__ import annotations

from typing import Any

from fedrcd.errors import StatisticError
from fedrcd.protocol.gather import Answer
from fedrcd.protocol.questions import Question, S


def accept(question: Question[S], answer: Answer) -> S:
    """The sums of an answer; `StatisticError`, with the site's name, if they cannot be added."""
    require_usable(question, answer.sums, answer.site)
    sums: S = answer.sums
    return sums


def require_usable(question: Question[Any], sums: Any, site: str) -> None:
    """Raise `StatisticError`, with the site's name, if sums cannot be added."""
    try:
        sums.check(question.variables)
    except StatisticError as problem:
        raise StatisticError(f"the sums of {site} cannot be used: {problem}; look for extreme values there") from None
