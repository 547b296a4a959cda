"""Names of variables: the default ones, what makes names usable, how messages list them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fedrcd.errors import DataError


def default_names(p: int) -> tuple[str, ...]:
    """Names for p variables without names: x1, x2, ..., zero padded so that they sort.

    Examples
    --------
    >>> default_names(3)
    ('x1', 'x2', 'x3')
    >>> default_names(10)[:2]
    ('x01', 'x02')
    """
    width = len(str(p))
    return tuple(f"x{i:0{width}d}" for i in range(1, p + 1))


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse names that are empty, repeated or not printable: results would not say which variable they speak of.

    Parameters
    ----------
    names : sequence of str
        Name of each column.
    source : str
        What the message calls the table.
    """
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"column {position} of {source} has no name; name it or leave it out")
        if not name.isprintable():
            raise DataError(f"the name of column {position} of {source} holds a character that cannot be shown")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"{source} repeats {columns(repeated)}; give every column a name of its own")


def columns(names: Sequence[str], limit: int = 5) -> str:
    """Words that list columns in a message, at most `limit` of them by name.

    Examples
    --------
    >>> columns(["age", "bmi"])
    "columns 'age', 'bmi'"
    """
    listed = ", ".join(repr(name) for name in names[:limit])
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"column{'s' if len(names) > 1 else ''} {listed}{more}"
