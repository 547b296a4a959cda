"""Pictures of `make_dot`: the text says what lingam's says, files are written as the package graphviz writes them."""

import importlib
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from fedrcd.errors import ConfigError, FileError
from fedrcd.lingam import make_dot

CHAIN = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, -2.0, 0.0]])
CYCLE = np.array([[0.0, 0.7, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0], [0.3, 1.2, 0.0, 0.0], [0.0, 0.0, 0.004, 0.0]])
UNKNOWN = np.array([[0.0, np.nan, 0.0], [np.nan, 0.0, 0.0], [0.4, 0.0, 0.0]])

STATEMENT = re.compile(r'^\s*("[^"]*"|[\w.]+)(?: -> ("[^"]*"|[\w.]+))?(?: \[(.*)\])?;?$')


def statements(source):
    """Nodes and edges with their attributes, whatever order they come in."""
    found = []
    for line in source.splitlines():
        match = STATEMENT.match(line)
        if match and not line.startswith(("digraph", "//")):
            start, end, attributes = match.groups()
            pairs = shlex.split((attributes or "").replace(",", " "))
            found.append((start.strip('"'), (end or "").strip('"'), frozenset(pairs)))
    return sorted(found, key=str)


DRAWN = {
    "plain": (CHAIN, {}),
    "labels": (CHAIN, {"labels": ["dose given", "pain", "sleep"]}),
    "limit": (CHAIN, {"lower_limit": 1.0}),
    "path": (CHAIN, {"path": (0, 2), "path_color": "red"}),
    "part of a path": (CYCLE[:3, :3], {"path": (0, 1)}),
    "no path": (CHAIN, {"path": (2, 0)}),
    "path and cycle": (CYCLE, {"path": (0, 2), "path_color": "blue", "detect_cycle": True}),
    "coefficients": (CHAIN, {"prediction_feature_indices": [0, 1], "prediction_coefs": np.array([0.25, 0.001])}),
    "importance": (
        CHAIN,
        {"prediction_feature_indices": [2, 1], "prediction_feature_importance": np.array([619, 205])},
    ),
    "target": (
        CHAIN,
        {"prediction_feature_indices": [0], "prediction_target_label": "y", "prediction_line_color": "#0000FF"},
    ),
    "earlier": (np.hstack([CHAIN, CHAIN]), {"labels": list("abcdef"), "ignore_shape": True}),
}


@pytest.mark.reference
@pytest.mark.parametrize("name", DRAWN)
def test_the_text_says_what_lingams_says(name):
    B, arguments = DRAWN[name]
    theirs = importlib.import_module("lingam.utils").make_dot(B, **arguments)
    assert statements(make_dot(B, **arguments).source) == statements(theirs.source)


@pytest.mark.reference
def test_variables_without_an_order_are_joined_as_in_lingam():
    theirs = importlib.import_module("lingam.utils").make_dot(UNKNOWN).source
    ours = make_dot(UNKNOWN).source
    assert '"x0" -> "x1" [dir="both"];' in ours
    assert "x0 -> x1 [dir=both]" in theirs
    assert '{ rank=same; "x0"; "x1"; }' in ours
    assert "rank=same" in theirs


def test_paths_are_marked():
    lines = make_dot(CYCLE, path=(0, 2), path_color="red").source.splitlines()
    assert '  "x0" [fontcolor="red", color="red", peripheries="2"];' in lines
    assert '  "x1" [fontcolor="red", color="red"];' in lines
    assert '  "x0" -> "x1" [label="0.50", penwidth="2", fontcolor="red", color="red"];' in lines
    assert '  "x1" -> "x0" [label="0.70"];' in lines
    assert '  "x3";' in lines


def test_paths_of_a_dense_graph_are_found_at_once():
    B = np.tril(np.ones((60, 60)), -1)
    source = make_dot(B, path=(1, 58)).source
    assert source.count('penwidth="2"') == 58 * 57 / 2


def test_cycles_are_dashed():
    source = make_dot(CYCLE, detect_cycle=True).source
    assert source.count('style="dashed"') == 2
    assert '"x0" -> "x1" [label="0.50", style="dashed"];' in source


def test_a_prediction_is_one_more_node():
    source = make_dot(CHAIN, prediction_feature_indices=[0, 1], prediction_coefs=[0.25, 0.001]).source
    assert '"Y(pred)" [color="red", fontcolor="red"];' in source
    assert '"x0" -> "Y(pred)" [label="0.25", fontcolor="red", color="red", style="dashed"];' in source
    assert '"x1" -> "Y(pred)"' not in source


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": 3}, "path must be the numbers of two variables"),
        ({"path": (0, 3)}, "path must hold numbers of variables, 0 to 2, got 3"),
        ({"path": (True, 1)}, "path must hold numbers"),
        ({"prediction_coefs": [1.0]}, "one entry for each of prediction_feature_indices"),
        ({"prediction_feature_indices": [0], "prediction_feature_importance": [1, 2]}, "one entry for each of"),
        ({"prediction_feature_indices": ["x0"]}, "prediction_feature_indices must hold numbers of variables"),
    ],
)
def test_what_cannot_be_drawn_is_named(arguments, message):
    with pytest.raises(ConfigError, match=message):
        make_dot(CHAIN, **arguments)


def test_more_rows_than_columns_are_refused():
    with pytest.raises(ConfigError, match="more rows than columns"):
        make_dot(np.zeros((3, 2)), ignore_shape=True)


def test_a_tutorial_saves_pictures(lingam, graphviz, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dot = lingam.utils.make_dot(CHAIN, labels=["a", "b", "c"])
    assert dot.render("dag") == "dag.pdf"
    dot.format = "png"
    assert dot.render("dag") == "dag.png"
    assert {one.name for one in tmp_path.iterdir()} == {"dag", "dag.pdf", "dag.png"}
    assert (tmp_path / "dag").read_text() == dot.source
    assert (tmp_path / "dag.png").read_text() == f"png of {dot.source}"


RENDERINGS = {
    "default": {},
    "name": {"filename": "dag.gv"},
    "folder": {"filename": "dag", "directory": "pictures/today"},
    "format": {"filename": "dag", "format": "svg"},
    "cleanup": {"filename": "dag", "format": "png", "cleanup": True},
    "outfile": {"outfile": "dag.png"},
    "outfile alone": {"outfile": "dag.svg", "cleanup": True},
    "engine": {"filename": "dag", "engine": "neato", "quiet": True},
}
WRITTEN = {
    "default": ("Digraph.gv.pdf", {"Digraph.gv", "Digraph.gv.pdf"}),
    "name": ("dag.gv.pdf", {"dag.gv", "dag.gv.pdf"}),
    "folder": ("pictures/today/dag.pdf", {"pictures/today/dag", "pictures/today/dag.pdf"}),
    "format": ("dag.svg", {"dag", "dag.svg"}),
    "cleanup": ("dag.png", {"dag.png"}),
    "outfile": ("dag.png", {"dag.png", "dag.gv"}),
    "outfile alone": ("dag.svg", {"dag.svg"}),
    "engine": ("dag.pdf", {"dag", "dag.pdf"}),
}


@pytest.mark.parametrize("name", RENDERINGS)
def test_files_are_named_as_graphviz_names_them(lingam, graphviz, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path, files = WRITTEN[name]
    assert lingam.utils.make_dot(CHAIN).render(**RENDERINGS[name]) == path
    assert {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()} == files


def test_a_name_is_kept_for_the_next_time(lingam, graphviz, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dot = lingam.utils.make_dot(CHAIN)
    assert dot.save("dag", directory="pictures") == "pictures/dag"
    assert dot.filepath == "pictures/dag"
    assert dot.render() == "pictures/dag.pdf"


def test_pictures_come_without_files(lingam, graphviz):
    dot = lingam.utils.make_dot(CHAIN)
    assert dot.pipe() == f"pdf of {dot.source}".encode()
    assert dot.pipe("svg", encoding="utf-8") == f"svg of {dot.source}"
    dot.format = "PNG"
    assert dot.format == "png"


def test_a_picture_is_opened(graphviz, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    rendered = make_dot(CHAIN).view(tmp_path / "dag")
    assert opened == [Path(rendered).as_uri()]


def test_a_notebook_shows_what_graphviz_draws(graphviz):
    dot = make_dot(CHAIN)
    assert dot._repr_svg_() == f"svg of {dot.source}"


def test_what_the_program_says_is_told_in_a_line(graphviz, tmp_path):
    with pytest.raises(FileError, match=r'^dot could not draw the graph: Format: "wrong" not recognized\.$'):
        make_dot(CHAIN).render(tmp_path / "dag", format="wrong")
    assert not list(tmp_path.iterdir())


def test_without_graphviz_one_line_says_so(no_graphviz, tmp_path):
    with pytest.raises(FileError, match=r"^Graphviz is not installed, .*; format='svg' works without$"):
        make_dot(CHAIN).render(tmp_path / "dag")
    with pytest.raises(FileError, match=r"is not on the path$"):
        make_dot(CHAIN, path=(0, 2)).pipe("svg")
    assert not list(tmp_path.iterdir())


def test_without_graphviz_plain_graphs_are_drawn_as_ours(no_graphviz, tmp_path):
    dot = make_dot(CHAIN, labels=["dose", "pain", "sleep"])
    rendered = Path(dot.render(tmp_path / "dag", format="svg"))
    assert rendered.read_text(encoding="utf-8") == dot._repr_svg_()
    assert ">sleep</text>" in dot._repr_svg_()


@pytest.mark.parametrize("drawn", ["path", "path and cycle", "target"])
def test_without_graphviz_marked_graphs_are_not_drawn(no_graphviz, drawn):
    B, arguments = DRAWN[drawn]
    assert make_dot(B, **arguments)._repr_svg_() is None


def test_names_of_formats_and_files_are_checked(tmp_path):
    dot = make_dot(CHAIN)
    for wrong in ("", "p/ng", 3):
        with pytest.raises(ConfigError, match="format must be a name that Graphviz knows"):
            dot.format = wrong
    with pytest.raises(ConfigError, match=r"outfile must end in a format, as in graph\.png"):
        dot.render(outfile="dag")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot write"):
        dot.save(tmp_path / "file" / "dag")


def test_a_picture_does_not_replace_its_text(graphviz, tmp_path):
    with pytest.raises(ConfigError, match="outfile must be another file"):
        make_dot(CHAIN).render(tmp_path / "dag.svg", outfile=tmp_path / "dag.svg")
