"""The nearest valid word to a mistyped one, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Clause that ends an error message, or nothing when no choice is near.

    Examples
    --------
    >>> did_you_mean("laplce", ["laplace", "logistic"])
    "; did you mean 'laplace'?"
    """
    near = difflib.get_close_matches(word, list(choices), n=3)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
