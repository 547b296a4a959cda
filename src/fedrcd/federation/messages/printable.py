"""Texts that come from elsewhere, made fit to be shown and logged: of one line, without control characters, short."""

from __future__ import annotations

LONGEST = 600
"""Characters that are shown of a text."""

LONGEST_NAME = 200
"""Characters of a name of a run, a site or a block that a message may have."""


def printable(text: str, most: int = LONGEST) -> str:
    r"""A text with whatever is not printable written as an escape, and cut.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    cut = text if len(text) <= most else f"{text[:most]}..."
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in cut)


def is_name(text: str) -> bool:
    """Whether a text can be a name or a digest in a message."""
    return len(text) <= LONGEST_NAME and text.isprintable()
