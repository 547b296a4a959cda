import re
import xml.etree.ElementTree as ET

import pytest

from fedrcd.errors import ConfigError
from fedrcd.report.drawing import draw
from tests.report import results


@pytest.mark.parametrize("name", ["hospitals", "large", "chain", "lonely", "empty", "hostile"])
def test_the_picture_is_xml_and_everything_lies_within_it(name):
    found = getattr(results, name)()
    root = ET.fromstring(found.to_svg())
    width, height = (float(root.get(side)) for side in ("width", "height"))
    drawing = draw(found)
    for x, y, box in zip(drawing.placement.x, drawing.placement.y, drawing.widths, strict=True):
        assert 0 <= x - box / 2 <= x + box / 2 <= width + 1
        assert 15 <= y <= height - 15
    for line in drawing.lines:
        assert (line.points() >= 0).all()
        assert (line.points() <= (width + 1, height + 1)).all()


def test_every_edge_is_a_line_from_the_border_of_its_cause_to_that_of_its_effect():
    found = results.chain()
    drawing = draw(found)
    assert {(line.cause, line.effect) for line in drawing.lines} == {(0, 1), (0, 2), (1, 2)}
    for line in drawing.lines:
        assert drawing.placement.y[line.cause] < line.start[1] < line.end[1] < drawing.placement.y[line.effect]


def test_negative_edges_are_dashed_and_stronger_ones_wider():
    lines = {(line.cause, line.effect): line for line in draw(results.chain()).lines}
    assert lines[1, 2].negative
    assert not lines[0, 1].negative
    assert lines[0, 1].width > lines[0, 2].width
    assert len(re.findall("stroke-dasharray", results.chain().to_svg())) == 1


def test_a_figure_shows_every_name_and_weight(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    ax = results.chain().plot()
    texts = {text.get_text() for text in ax.texts}
    assert {"dose", "pain", "sleep", "\N{MINUS SIGN}3", "2", "0.5"} == texts
    ax.figure.savefig(tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").stat().st_size > 1000
    plt.close(ax.figure)


@pytest.mark.parametrize("name", ["hostile", "lonely", "empty", "large"])
def test_any_graph_can_be_drawn_into_given_axes(name, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    assert getattr(results, name)().plot(right) is right
    assert not left.texts
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)


def test_without_matplotlib_the_plot_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"fedrcd\[plot\]"):
        results.chain().plot()
