"""The file that states prior knowledge.

::

    tiers = [["age", "sex"], ["bmi", "dose"], ["outcome"]]  # earliest first
    exogenous = ["sex"]                                     # no causes among the others
    sinks = ["outcome"]                                     # no effects on the others
    required = [["dose", "outcome"]]                        # cause, effect: a direct edge
    forbidden = [["sex", "dose"]]
    required_paths = [["age", "outcome"]]                   # directly or through others
    forbidden_paths = [["bmi", "dose"]]
    before = [["dose", "bmi"]]                              # which of two comes first

Every key is optional. Names are checked against the variables when a method runs.
"""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

from fedrcd.data.toml_file import read_toml
from fedrcd.errors import ConfigError
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.suggest import did_you_mean


def read_knowledge(path: str | os.PathLike[str]) -> Knowledge:
    """The knowledge that a TOML file states; mistakes name the file and the key."""
    content = read_toml(Path(path))
    keys = [each.name for each in fields(Knowledge)]
    for key in content:
        if key not in keys:
            hint = did_you_mean(key, keys) or f"; the keys are {', '.join(keys)}"
            raise ConfigError(f"{path}: there is no key {key!r}{hint}")
    try:
        return Knowledge(**content)
    except ConfigError as problem:
        raise ConfigError(f"{path}: {problem}") from None
