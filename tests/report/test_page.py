"""The text of the page; what it does is tested in a browser."""

import datetime
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from fedrcd import compare
from fedrcd.errors import FileError
from fedrcd.report.page import write_page
from tests.report import results


def data_of(page):
    """What the script of a page reads."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_same_result_gives_the_same_page():
    day = datetime.date(2026, 1, 2)
    assert write_page(results.chain(), written=day) == write_page(results.chain(), written=day)
    assert "2026-01-02" in write_page(results.chain(), written=day)


def test_the_page_is_written_to_a_file(tmp_path):
    text = results.chain().report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    with pytest.raises(FileError, match="cannot write"):
        results.chain().report(tmp_path / "nowhere" / "page.html")


def test_the_page_asks_nobody_for_anything():
    page = results.hospitals().report()
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r"""(?:src|href)=["'](?!#)""", markup) == []
    assert "default-src 'none'" in markup
    assert "url(http" not in markup
    assert "@import" not in markup


def test_the_licence_of_the_graph_library_comes_with_the_page_and_the_package():
    from importlib.resources import files

    assert "Copyright (c) 2016-2026, The Cytoscape Consortium" in results.chain().report()
    licence = files("fedrcd.report").joinpath("assets", "vendor", "cytoscape.LICENSE").read_text(encoding="utf-8")
    assert "Permission is hereby granted" in licence


def test_edges_carry_weight_and_strength_in_standard_deviations():
    edges = {edge["id"]: edge for edge in data_of(results.chain().report())["edges"]}
    assert edges["1-2"]["weight"] == -3
    assert edges["1-2"]["strength"] == pytest.approx(-3 * np.sqrt(5) / np.sqrt(50))


def test_without_variances_strength_is_the_weight():
    bare = results.by_hand([[0, 0], [2.0, 0]], ["a", "b"])
    page = bare.report()
    assert data_of(page)["edges"][0]["strength"] == 2
    assert "Variance ladder" not in page


def test_the_page_tells_where_scale_decided():
    page = results.hospitals_by_scale().report()
    assert "the order is another one: units decide part of it" in page
    assert "With every variable divided by its standard deviation the order is the same" in results.hospitals().report()
    assert "was not checked" in results.chain().report()


def test_the_page_tells_rows_and_columns_of_sites():
    page = results.chain().report()
    assert "2 of 3" in page
    assert "The pair with the fewest rows is dose with sleep: 600." in page
    assert "is not known here" in results.lonely().report()


def test_the_state_is_told_only_where_there_is_one():
    assert "<dt>State</dt>" not in results.chain().report()
    assert "<dd>3f2a</dd>" in replace(results.chain(), state_id="3f2a").report()


def test_everything_that_is_known_of_an_edge_stands_in_its_row():
    page = results.told().report()
    row = re.search(r'<tr data-edge="0-1">(.*?)</tr>', page, re.DOTALL)[1]
    cells = re.findall(r">([^<]*)</td>", row)
    assert cells == ["dose", "pain", "2", "points per mg", "0.894", "1.02", "2.98", "0.97"]
    assert "95% by the delta method" in page


def test_units_stand_in_the_picture_and_in_the_table_of_total_effects():
    page = results.told().report()
    assert "dose (mg)</text>" in page
    assert "points per mg</title>" in page
    assert page.count("<td>points per mg</td>") == 1
    assert "units per points" in page  # sleep has none
    assert " per " not in results.chain().to_svg()


def test_what_is_open_earlier_left_out_and_verified_is_told():
    page = results.told().report()
    for words in ("dose → sleep", "Steps before", "Rows left out", "clinic, home made the result again"):
        assert words in page
    bare = results.chain().report()
    for words in ("is not told here: between machines it stays at the site", "nobody has signed it or made it again"):
        assert words in bare


def test_a_large_graph_has_no_picture_of_everything():
    page = results.large(400, 900).report()
    assert data_of(page)["large"]
    assert "<svg" not in page.split('id="scale"')[0].split("<body>")[1]
    assert page.count("<tr data-edge") == 500
    assert len(data_of(page)["edges"]) == 900


def test_settings_are_told_with_the_options():
    page = replace(results.chain(), settings={"trim": 8.0, "knowledge": {"sinks": ["sleep"]}}).report()
    for text in ("trim", "8.0", "knowledge", "{&#34;sinks&#34;: [&#34;sleep&#34;]}"):
        assert f">{text}</" in page


def test_one_variable_and_no_edge_are_told():
    assert "There is one variable" in results.lonely().report()
    assert "No effect passed the selection of edges" in results.empty().report()


def test_names_are_escaped_everywhere():
    for text in (results.hostile().report(), results.hostile().to_svg(), results.hostile()._repr_html_()):
        shown = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
        assert "<img" not in shown
        assert "<script>alert" not in text
    assert [*results.hostile().names] == data_of(results.hostile().report())["names"]


def test_a_page_about_changes_marks_them():
    page = compare(results.hospitals(), results.hospitals_by_scale(), titles=("one", "two")).report()
    assert "What changed: one → two" in page
    changes = {edge["change"] for edge in data_of(page)["edges"]}
    assert {"added", "reversed", "changed"} <= changes


def test_edges_that_are_gone_are_drawn_without_a_weight():
    before = results.by_hand([[0, 0], [2.0, 0]], ["a", "b"])
    after = results.by_hand(np.zeros((2, 2)), ["a", "b"])
    edges = data_of(compare(before, after).report())["edges"]
    assert [(edge["weight"], edge["before"], edge["change"]) for edge in edges] == [(None, 2.0, "removed")]
