"""The first step of a transport: the answer of every site that has something to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fedrcd.errors import ProtocolError
from fedrcd.protocol.questions import Question
from fedrcd.protocol.site import Site
from fedrcd.statistics.coverage import Layout


class Answer(NamedTuple):
    """What one site sent."""

    site: str
    sums: Any


def gather(question: Question[Any], sites: Sequence[Site], layout: Layout | None) -> Iterator[Answer]:
    """The answers of sites in this process, in their order."""
    if not sites:
        raise ProtocolError("a federation needs at least one site")
    for site in sites:
        sums = site.answer(question, layout)
        if sums is not None:
            yield Answer(site.name, sums)
