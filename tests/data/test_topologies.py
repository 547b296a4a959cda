import json
from importlib.resources import files

import pytest

from fedrcd.data import TOPOLOGIES, topology
from fedrcd.errors import ConfigError
from fedrcd.graphs import is_acyclic

SIZES = {
    "asia": (8, 8),
    "sachs": (11, 17),
    "child": (20, 25),
    "insurance": (27, 52),
    "water": (32, 66),
    "mildew": (35, 46),
    "alarm": (37, 46),
    "barley": (48, 84),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_network_has_the_published_size_and_no_cycle(name):
    names, dag = topology(name)
    assert (len(names), int(dag.sum())) == SIZES[name]
    assert len(set(names)) == len(names)
    assert dag.shape == (len(names), len(names))
    assert is_acyclic(dag)


def test_an_edge_is_stored_at_effect_then_cause():
    names, dag = topology("asia")
    assert dag[names.index("lung"), names.index("smoke")]
    assert not dag[names.index("smoke"), names.index("lung")]


def test_every_stored_network_is_offered():
    stored = json.loads(files("fedrcd.data.simulate").joinpath("bnlearn.json").read_text(encoding="utf-8"))
    assert tuple(stored) == TOPOLOGIES


def test_a_mistyped_network_brings_the_nearest_one():
    with pytest.raises(ConfigError, match="did you mean 'barley'"):
        topology("barly")
