"""The third step of a transport: what all sites sent becomes one answer."""

from __future__ import annotations

from collections.abc import Iterable

from fedrcd.errors import ProtocolError
from fedrcd.protocol.questions import S


class NobodyAnswers(ProtocolError):
    """No site holds what a question is about."""

    def __init__(self) -> None:
        super().__init__("no site can answer: none holds all columns of complete rows")


def combine(answers: Iterable[S]) -> S:
    """The sum of all answers, added in their order; `NobodyAnswers` if there is none."""
    pooled: S | None = None
    for answer in answers:
        pooled = answer if pooled is None else pooled + answer
    if pooled is None:
        raise NobodyAnswers
    return pooled
