"""The third step of a transport: what all sites sent becomes one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from fedrcd.errors import ProtocolError
from fedrcd.protocol.gather import Answer
from fedrcd.protocol.questions import Question, S
from fedrcd.statistics.coverage import Layout

Pooling: TypeAlias = Callable[[Question[Any], Layout | None, Iterable[Answer], Callable[[Any], None]], Any]
"""What becomes of the accepted answers to a question, under a layout; it tells what travelled for each of them."""


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


def in_the_clear(
    question: Question[Any],  # noqa: ARG001 - of those that change what travels
    layout: Layout | None,  # noqa: ARG001
    answers: Iterable[Answer],
    count: Callable[[Any], None],
) -> Any:
    """The sum of all answers, each of which travels as it is."""

    def counted() -> Iterator[Any]:
        for answer in answers:
            count(answer.sums)
            yield answer.sums

    return combine(counted())
