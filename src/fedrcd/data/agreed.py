"""What all sites agreed on for runs of several rounds, in the federation file: `[agreed]`.

Knowledge, options and ways to express rows choose which residuals are asked for. So nobody but the people of all sites
decides them: they stand in the file, or a person at each site approves every answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from fedrcd.errors import ConfigError
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.suggest import did_you_mean

WAYS = ("none", "centre", "standardise")
"""Ways to express rows that can be agreed on."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """Prior knowledge, options of the method, and how sites express their rows, in runs of several rounds."""

    knowledge: Knowledge | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    within: str = "none"

    def __post_init__(self) -> None:
        if self.within not in WAYS:
            raise ConfigError(f"[agreed] within: must be one of {', '.join(map(repr, WAYS))}, got {self.within!r}")
        for name, value in self.options.items():
            if type(value) not in (str, int, float, bool):
                raise ConfigError(f"[agreed] options: {name!r} must be a string, a number, true or false")

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Agreed:
        """What the values of the table say."""
        stated = values.get("knowledge")
        keys = [each.name for each in fields(Knowledge)]
        for key in stated or ():
            if key not in keys:
                hint = did_you_mean(key, keys) or f"; the keys are {', '.join(keys)}"
                raise ConfigError(f"[agreed] knowledge has an unknown key {key!r}{hint}")
        return cls(**{**values, "knowledge": None if stated is None else Knowledge(**stated)})

    def lines(self) -> Iterator[str]:
        """Lines of the file."""
        yield from ("", "[agreed]", f"within = {json.dumps(self.within)}")
        yield f"options = {_table(self.options)}"
        if self.knowledge is not None:
            stated = {name: value for name, value in asdict(self.knowledge).items() if value}
            yield f"knowledge = {_table(stated)}"


def _table(content: Mapping[str, Any]) -> str:
    """An inline table; JSON writes its values alike, but for one character."""
    parts = (f"{json.dumps(name)} = {json.dumps(value, ensure_ascii=False)}" for name, value in content.items())
    return "{" + ", ".join(parts).replace("\x7f", "\\u007f") + "}"
