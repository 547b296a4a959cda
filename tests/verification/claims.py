"""What a claim is. To add one, write a function under `@claims` in the file of its subject.

Such a function takes its seed and yields what is claimed, over how many cases, what came out, and whether that is what
was claimed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

WITH_FLOWER = Path(__file__).parents[2] / ".venv" / "bin" / "python"
"""Of the environment that has Flower: the one of the reference packages does not."""


class Claim(NamedTuple):
    """What is claimed, over how many cases, what came out, and whether the claim holds."""

    claim: str
    count: int
    result: str
    holds: bool


Verify = Callable[[int], Iterator[Claim]]
CLAIMS: list[tuple[Verify, int]] = []


def claims(seed: int) -> Callable[[Verify], Verify]:
    """Enter a function that yields claims, with the seed it is given."""

    def enter(verify: Verify) -> Verify:
        CLAIMS.append((verify, seed))
        return verify

    return enter


def counted(items: Iterable[Any], label: str) -> Iterator[Any]:
    """The items, with a line that counts them."""
    listed = list(items)
    for k, item in enumerate(listed, start=1):
        print(f"\r{label}: {k} of {len(listed)} ", end="", flush=True, file=sys.stderr)
        yield item
    print(end="\r\x1b[K", file=sys.stderr)
