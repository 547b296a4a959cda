import doctest
import importlib

import pytest

MODULES = [
    "fedrcd.graphs.dag",
    "fedrcd.graphs.exports",
    "fedrcd.graphs.metrics",
    "fedrcd.data.names",
    "fedrcd.data.simulate.noise",
    "fedrcd.suggest",
    "fedrcd.data.simulate.topologies",
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_documentation_run(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried
    assert not failed
