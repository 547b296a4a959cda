"""Statements that cannot all hold: as few as possible of them, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedrcd.graphs.knowledge.statements import Knowledge

PLAIN = ("required_paths", "required", "forbidden", "forbidden_paths", "exogenous", "sinks", "before")
NAMED = 8
"""Statements of one kind that are named before the others are only counted."""

Statement = tuple[str, Any]
"""What kind, and what is stated; of tiers, a variable and the number of its tier."""


def smallest_clash(known: Knowledge, clashes: Callable[[Knowledge], bool]) -> Knowledge:
    """Statements that clash, none of which can be left out; `clashes` tells whether some do."""
    kept = _statements(known)
    size = len(kept)
    while size:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if clashes(_only(known, fewer)):
                kept = fewer
            else:
                start += size
        size //= 2
    return _only(known, kept)


def in_words(known: Knowledge) -> str:
    """All statements in one line, what is required first."""
    must = _told("a path", "paths", known.required_paths, "required")
    must += _told("the edge", "the edges", known.required, "required")
    others = _told("the edge", "the edges", known.forbidden, "forbidden")
    others += _told("a path", "paths", known.forbidden_paths, "forbidden")
    if known.exogenous:
        others.append(f"{_listed(map(repr, known.exogenous))} {_are(known.exogenous)} exogenous")
    if known.sinks:
        others.append(f"{_listed(map(repr, known.sinks))} {'are sinks' if len(known.sinks) > 1 else 'is a sink'}")
    if known.tiers:
        others.append(f"tiers place {' before '.join(_listed(map(repr, tier)) for tier in known.tiers)}")
    others += [f"{first!r} is before {later!r}" for first, later in known.before]
    if not must:
        must, others = others[:1], others[1:]
    return ", but ".join(_enumerated(part) for part in (must, others) if part)


def arrow(cause: str, effect: str) -> str:
    """An edge or a path in words."""
    return f"{cause!r} -> {effect!r}"


def arrows(pairs: Iterable[tuple[str, str]]) -> str:
    """Several of them."""
    return _listed(arrow(*pair) for pair in pairs)


def _statements(known: Knowledge) -> list[Statement]:
    tiers = [("tiers", (k, name)) for k, tier in enumerate(known.tiers) for name in tier]
    return tiers + [(kind, stated) for kind in reversed(PLAIN) for stated in dict.fromkeys(getattr(known, kind))]


def _only(known: Knowledge, statements: Sequence[Statement]) -> Knowledge:
    """Knowledge with some of its statements."""
    stated: dict[str, list[Any]] = {kind: [item for each, item in statements if each == kind] for kind in PLAIN}
    placed = [item for kind, item in statements if kind == "tiers"]
    tiers = [[name for tier, name in placed if tier == k] for k in range(len(known.tiers))]
    return replace(known, **stated, tiers=[tier for tier in tiers if tier])


def _told(one: str, several: str, pairs: Sequence[tuple[str, str]], how: str) -> list[str]:
    return [f"{several if len(pairs) > 1 else one} {arrows(pairs)} {_are(pairs)} {how}"] if pairs else []


def _enumerated(phrases: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(phrases[:-1]), phrases[-1]]))


def _are(several: Sequence[Any]) -> str:
    return "are" if len(several) > 1 else "is"


def _listed(words: Iterable[str]) -> str:
    every = list(words)
    named, others = every[:NAMED], len(every) - NAMED
    return ", ".join(named) + (f" and {others} more" if others > 0 else "")
