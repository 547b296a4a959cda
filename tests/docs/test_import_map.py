"""The picture of the folders shows all of them, and no import that the layers forbid."""

from pathlib import Path

import networkx as nx
from tools import import_map

SOURCE = Path(__file__).parents[2] / "src" / "fedrcd"


def test_every_folder_of_the_package_is_in_a_box_that_says_what_it_holds():
    packages = [path.parent.relative_to(SOURCE) for path in SOURCE.glob("*/__init__.py")]
    packages += [path.parent.relative_to(SOURCE) for path in SOURCE.glob("federation/*/__init__.py")]
    folders = {import_map.folder_of(".".join(("fedrcd", *path.parts, "module"))) for path in packages}
    assert folders <= set(import_map.HOLDS)
    assert {name for edge in import_map.imports() for name in edge} == set(import_map.HOLDS)


def test_site_and_coordinator_do_not_reach_each_other():
    graph = nx.DiGraph(import_map.imports())
    site, coordinator = "federation/site", "federation/coordinator"
    assert not nx.has_path(graph, site, coordinator)
    assert not nx.has_path(graph, coordinator, site)


def test_an_arrow_over_layers_passes_through_a_place_in_each():
    text = import_map.drawing([("cli", "api"), ("api", "data"), ("cli", "graphs"), ("data", "graphs")])
    assert text.count("<path d=") == 1 + 4  # the tip of all arrows, and the arrows
    assert text.count(" V") == 2
