"""Methods with options, written as one word for tables: `fedishc[coefficient=corrected, update=marginal]`."""

from __future__ import annotations

import re
from typing import NamedTuple


class Variant(NamedTuple):
    """A method of the registry with some of its options set."""

    method: str
    options: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> Variant:
        """Read a variant.

        Examples
        --------
        >>> Variant.parse("fedishc[coefficient=corrected]").options
        {'coefficient': 'corrected'}
        """
        match = re.fullmatch(r"([^\[]+)(?:\[(.*)\])?", text)
        if match is None:
            return cls(text, {})
        pairs = [pair.split("=", 1) for pair in (match[2] or "").split(",") if "=" in pair]
        return cls(match[1], {name.strip(): value.strip() for name, value in pairs})
