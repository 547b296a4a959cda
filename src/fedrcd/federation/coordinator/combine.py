"""Third step of a transport over machines: add what was accepted, in the order of the federation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from fedrcd.federation.messages.requests import Reply
from fedrcd.protocol.combine import combine

BlockSums: TypeAlias = tuple[str, str, Any]
"""Site, block and the sums that it sent for it."""

Combine = Callable[[Iterable[BlockSums]], Any]
"""The total of what the sites sent; raises `NobodyAnswers` if it is nothing."""


def contributions(replies: Iterable[Reply]) -> Iterator[BlockSums]:
    """The sums in replies, block by block; blocks that had nothing to say are left out."""
    for reply in replies:
        for label, sums in reply.blocks:
            if sums is not None:
                yield reply.site, label, sums


def add_in_order(parts: Iterable[BlockSums]) -> Any:
    """The sum of all contributions, added in the order given: float sums keep their bits by it."""
    return combine(sums for _, _, sums in parts)
