"""Graphs of eight standard Bayesian networks.

Source: the bnlearn Bayesian network repository, https://www.bnlearn.com/bnrepository/, Marco Scutari. Only the
graphs are kept; the conditional probability tables are not used  [P, App. C.2]. `bnlearn.json` holds, for every
network, its variables in the repository's order and the direct causes of each.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.suggest import did_you_mean
from fedrcd.typing import BoolMatrix

TOPOLOGIES: tuple[str, ...] = (
    "asia",
    "sachs",
    "child",
    "insurance",
    "water",
    "mildew",
    "alarm",
    "barley",
)
"""Names of the networks, from 8 to 48 variables."""


class Topology(NamedTuple):
    """A named graph: `dag[i, j]` is True iff ``names[j]`` causes ``names[i]``."""

    names: tuple[str, ...]
    dag: BoolMatrix


def topology(name: str) -> Topology:
    """Variables and graph of a standard network.

    Parameters
    ----------
    name : str
        One of `TOPOLOGIES`.

    Examples
    --------
    >>> names, dag = topology("asia")
    >>> int(dag.sum())
    8
    """
    if name not in TOPOLOGIES:
        known = ", ".join(TOPOLOGIES)
        raise ConfigError(f"no topology {name!r}; known are {known}{did_you_mean(name, TOPOLOGIES)}")
    text = files("fedrcd.data.simulate").joinpath("bnlearn.json").read_text(encoding="utf-8")
    causes_of: dict[str, list[str]] = json.loads(text)[name]
    index = {variable: i for i, variable in enumerate(causes_of)}
    dag = np.zeros((len(index), len(index)), dtype=np.bool_)
    for effect, causes in causes_of.items():
        dag[index[effect], [index[cause] for cause in causes]] = True
    return Topology(tuple(index), dag)
