"""The page as its readers have it: in Chromium, without network."""

import csv
import itertools
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report import results
from tests.report.browser import place_of
from tests.report.conftest import SCREENSHOTS

A4 = {"width": 794 - 2 * 53, "height": 1123 - 2 * 53}
"""What the margins leave of a sheet, in CSS pixels."""
VISIBLE_EDGES = "fedrcd.cy.edges().length"


def wait_for(page, condition, seconds=10):
    """Wait for a condition; the page's own policy forbids the browser to evaluate text for us."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def node(name):
    return f'node[name = "{name}"]'


@pytest.mark.parametrize(
    "name", ["hospitals", "hospitals_by_scale", "compared", "large", "told", "lonely", "empty", "beside_a_hidden_cause"]
)
def test_the_page_loads_without_network_or_complaint(open_page, keep, name):
    page = open_page(name)
    assert page.evaluate("fedrcd.cy.nodes().length") == len(page.locator(".order li").all())
    keep(page, name, full_page=True)


def test_names_from_a_table_cannot_run_code(open_page):
    page = open_page("hostile")
    assert page.locator(".order button").first.inner_text() == results.hostile().names[0]
    assert page.locator("img").count() == 0


def test_the_slider_hides_weak_edges_on_screen_and_on_paper(open_page):
    page = open_page("hospitals")
    before = page.evaluate(VISIBLE_EDGES)
    strengths = sorted(abs(value) for value in page.evaluate("fedrcd.cy.edges().map(e => e.data('strength'))"))
    page.locator("#threshold").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
        (strengths[4] + strengths[5]) / 2,
    )
    assert page.evaluate(VISIBLE_EDGES) == before - 5
    assert f"{before - 5} of {before} edges" in page.locator("#shown").inner_text()
    page.emulate_media(media="print")
    assert page.locator(".static-graph path.edge:visible").count() == before - 5


def test_the_slider_obeys_the_keyboard(open_page):
    page = open_page("hospitals")
    page.locator("#threshold").focus()
    page.keyboard.press("End")
    assert page.evaluate(VISIBLE_EDGES) == 1


def test_pointing_at_an_edge_shows_its_weight(open_page, keep):
    page = open_page("hospitals")
    edge = results.hospitals().edges()[0]
    page.mouse.move(*place_of(page, f'edge[id = "{edge_id(edge)}"]'))
    page.wait_for_selector("#tip:not([hidden])")
    told = page.locator("#tip").inner_text()
    assert f"{edge.cause} → {edge.effect}" in told
    assert f"weight {edge.weight:.3g}" in told
    keep(page, "pointing-at-an-edge")


def test_a_hidden_cause_is_a_line_that_leads_nowhere(open_page, keep):
    page = open_page("beside_a_hidden_cause")
    page.mouse.move(*place_of(page, "edge[?shared]"))
    page.wait_for_selector("#tip:not([hidden])")
    assert "smoking ↔ diet" in page.locator("#tip").inner_text()
    keep(page, "a-hidden-cause")
    page.mouse.move(*place_of(page, node("smoking")))
    wait_for(page, "fedrcd.cy.nodes('.down').length == 1")
    assert page.evaluate("fedrcd.cy.nodes('.down').map(n => n.data('name'))") == ["lungs"]
    assert page.evaluate("fedrcd.cy.nodes('.up').length") == 0
    page.locator("#threshold").focus()
    page.keyboard.press("End")
    assert page.evaluate("fedrcd.cy.edges('[?shared]').length") == 1
    assert "1 of 2 edges" in page.locator("#shown").inner_text()


def edge_id(edge):
    names = results.hospitals().names
    return f"{names.index(edge.cause)}-{names.index(edge.effect)}"


def test_confidence_is_shown_where_it_is_known(chromium, tmp_path):
    found = results.chain()
    replace(found, confidence=(found.B != 0) * 0.97, state_id="3f2a").report(tmp_path / "sure.html")
    page = chromium.new_page(reduced_motion="reduce")
    page.goto((tmp_path / "sure.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    page.mouse.move(*place_of(page, 'edge[id = "1-2"]'))
    page.wait_for_selector("#tip:not([hidden])")
    assert "confidence 97 %" in page.locator("#tip").inner_text()
    assert page.locator("#edge-table th", has_text="Confidence").count() == 1
    assert "3f2a" in page.locator(".facts").inner_text()
    page.close()


def test_pointing_at_a_variable_lights_up_its_ancestors_and_descendants(open_page, keep):
    page = open_page("hospitals")
    page.mouse.move(*place_of(page, node("creatinine")))
    wait_for(page, "fedrcd.cy.$('node.chosen').length === 1")
    assert set(page.evaluate("fedrcd.cy.$('node.up').map(n => n.data('name'))")) == {
        "age",
        "bmi",
        "blood_pressure",
        "glucose",
    }
    assert page.evaluate("fedrcd.cy.$('node.down').map(n => n.data('name'))") == ["length_of_stay"]
    assert set(page.evaluate("fedrcd.cy.$('node.faded').map(n => n.data('name'))")) == {"crp", "cholesterol"}
    keep(page, "pointing-at-a-variable")


@pytest.mark.parametrize(("name", "variable"), [("hospitals", "age"), ("large", "gene_017")])
def test_variables_can_be_dragged_and_put_back(open_page, name, variable):
    page = open_page(name)
    where = f"fedrcd.cy.$('{node(variable)}').position()"
    before = page.evaluate(where)
    x, y = place_of(page, node(variable))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.up()
    moved = page.evaluate(where)
    assert moved["x"] - before["x"] > 20
    page.locator("#reset").click()
    assert page.evaluate(where) == before


def test_the_wheel_scrolls_the_page_until_the_graph_is_clicked(open_page):
    page = open_page("hospitals")
    page.locator("#cy").scroll_into_view_if_needed()
    box = page.locator("#cy").bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    before = page.evaluate("fedrcd.cy.zoom()")
    page.mouse.wheel(0, -200)
    page.wait_for_timeout(150)
    assert page.evaluate("fedrcd.cy.zoom()") == before
    box = page.locator("#cy").bounding_box()  # the page has scrolled
    page.mouse.click(box["x"] + 10, box["y"] + 10)
    for _ in range(6):  # the library watches the first few turns to tell a wheel from a touch pad
        page.mouse.wheel(0, -200)
    wait_for(page, f"fedrcd.cy.zoom() > {before}")


def test_search_filters_the_table(open_page):
    page = open_page("hospitals")
    page.locator("#search").fill("GLUCOSE")
    rows = page.locator("#edge-table tbody tr:visible")
    wanted = [edge for edge in results.hospitals().edges() if "glucose" in (edge.cause, edge.effect)]
    assert rows.count() == len(wanted)
    assert all("glucose" in row for row in rows.all_inner_texts())
    assert page.locator("#matches").inner_text() == f"{len(wanted)} edges of {len(results.hospitals().edges())}"


def test_a_search_without_a_match_says_so(open_page):
    page = open_page("hospitals")
    page.locator("#search").fill("glukose")
    assert page.locator("#matches").inner_text() == "No edge has “glukose” in its cause or effect."
    assert page.locator("#edge-table tbody tr").count() == 0


def test_the_search_box_finds_parts_of_names_and_says_when_there_is_none(open_page, keep):
    page = open_page("hospitals")
    page.locator("#find").fill("OL")
    assert page.locator("#found button").all_inner_texts() == ["cholesterol"]
    assert page.evaluate("fedrcd.cy.$('node.chosen').data('name')") == "cholesterol"
    page.locator("#find").fill("l")  # in five names; one begins with it
    found = page.locator("#found button").all_inner_texts()
    assert found[0] == "length_of_stay"
    assert set(found) == {name for name in results.hospitals().names if "l" in name}
    page.keyboard.press("Enter")
    assert page.evaluate("fedrcd.cy.$('node.chosen').data('name')") == found[1]
    page.locator("#found button").nth(2).click()
    assert page.evaluate("fedrcd.cy.$('node.chosen').data('name')") == found[2]
    keep(page, "found-by-a-part")
    page.locator("#find").fill("<b>xyz")
    assert page.locator("#found").inner_text() == "No variable has “<b>xyz” in its name."
    assert page.evaluate("fedrcd.cy.$('.chosen').length") == 0


def test_the_neighbourhood_of_a_variable_can_be_shown_alone(open_page, keep):
    page = open_page("large")
    page.locator("#find").fill("gene_017")
    page.locator("#reach").select_option("1")
    found = results.large()
    i = found.names.index("gene_017")
    wanted = {"gene_017"} | {found.names[k] for k in range(100) if found.B[i, k] or found.B[k, i]}
    assert set(page.evaluate("fedrcd.cy.nodes().map(n => n.data('name'))")) == wanted
    keep(page, "neighbourhood")
    y = page.evaluate("Object.fromEntries(fedrcd.cy.nodes().map(n => [n.data('name'), n.position('y')]))")
    for cause, effect in ((found.names[j], found.names[i]) for i, j in zip(*found.B.nonzero(), strict=True)):
        if {cause, effect} <= wanted:
            assert y[cause] < y[effect]  # causes stand above effects, here as well
    page.locator("#reach").select_option("all")
    assert page.evaluate("fedrcd.cy.nodes().length") == 100


def test_a_graph_of_a_thousand_variables_shows_those_around_one(open_page, keep):
    page = open_page("huge")
    found = results.huge()
    around = page.evaluate("fedrcd.cy.nodes().length")
    assert around == 1 + max(int((found.B[i] != 0).sum() + (found.B[:, i] != 0).sum()) for i in range(1000))
    page.locator("#find").fill("e_0500")
    assert page.evaluate("fedrcd.cy.$('node.chosen').data('name')") == "gene_0500"
    total = found.total_effects()["gene_0500"].abs().drop("gene_0500").idxmax()
    assert page.locator("#totals-of tr td").first.inner_text() == total
    page.locator("#search").fill("gene_0500")
    rows = int((found.B[500] != 0).sum() + (found.B[:, 500] != 0).sum())
    assert page.locator("#edge-table tbody tr").count() == rows
    page.locator("#search").fill("")
    assert page.locator("#edge-table tbody tr").count() == 500
    page.locator("#more").click()
    assert page.locator("#edge-table tbody tr").count() == 1000
    with page.expect_download() as download:
        page.locator("#csv").click()
    assert len(download.value.path().read_text(encoding="utf-8").splitlines()) == 5001
    keep(page, "huge")


def test_the_certificate_prints_within_the_sheet(open_page, keep):
    page = open_page("certificate")
    page.set_viewport_size(A4)
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= A4["width"]
    keep(page, "certificate-print", full_page=True)
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    keep(page, "certificate-phone", full_page=True)


def test_the_table_sorts_by_every_column(open_page):
    page = open_page("hospitals")
    page.locator("#edge-table th button", has_text="Cause").click()
    causes = page.locator("#edge-table tbody tr td:first-child").all_inner_texts()
    assert causes == sorted(causes)
    page.locator("#edge-table th button", has_text="Weight").click()
    weights = [abs(edge.weight) for edge in results.hospitals().edges()]
    shown = page.locator("#edge-table tbody tr td:nth-child(3)").evaluate_all(
        "cells => cells.map(c => c.dataset.value)"
    )
    assert [abs(float(value)) for value in shown] == weights
    assert page.locator("#edge-table th[aria-sort=descending]").inner_text().startswith("Weight")


def test_the_table_can_be_downloaded(open_page):
    page = open_page("hospitals")
    with page.expect_download() as download:
        page.locator("#csv").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    edges = {(edge.cause, edge.effect): edge.weight for edge in results.hospitals().edges()}
    assert {(row["Cause"], row["Effect"]): float(row["Weight"]) for row in rows} == edges


def test_pictures_can_be_downloaded(open_page):
    page = open_page("hospitals")
    with page.expect_download() as download:
        page.locator("#svg").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "var(" not in text
    with page.expect_download() as download:
        page.locator("#png").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


def test_the_keyboard_goes_through_the_order_and_says_what_it_finds(open_page):
    page = open_page("chain")
    page.locator("#cy").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#said").text_content() == "pain\ncaused by: dose\ncauses: sleep"
    page.keyboard.press("Escape")
    assert page.evaluate("fedrcd.cy.$('.chosen').length") == 0


def test_every_control_has_a_name_for_screen_readers(open_page):
    page = open_page("compared")
    session = page.context.new_cdp_session(page)
    tree = session.send("Accessibility.getFullAXTree")["nodes"]
    controls = [
        one for one in tree if one.get("role", {}).get("value") in {"button", "slider", "searchbox", "combobox"}
    ]
    assert len(controls) > 15
    assert [one["role"]["value"] for one in controls if not one["name"]["value"]] == []
    levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert max(later - earlier for earlier, later in itertools.pairwise(levels)) == 1


AXE = "axe.run().then(found => found.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.target.join(' '))]))"


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [
        ("hospitals", "light", 1200),
        ("told", "dark", 1200),
        ("compared", "light", 360),
        ("huge", "dark", 360),
        ("empty", "light", 1200),
        ("certificate", "light", 1200),
    ],
)
def test_axe_finds_nothing_serious(open_page, name, scheme, width):
    package = pytest.importorskip("axe_playwright_python", reason="axe is not installed: make setup")
    page = open_page(name, color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate(Path(package.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
    assert [one for one in page.evaluate(AXE) if one[0] in ("serious", "critical")] == []


CONTRAST = """names => {
    const probe = document.createElement("span"); document.body.append(probe);
    const light = name => {
        probe.style.color = `var(--${name})`;
        const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map(v => v / 255);
        const [r, g, b] = parts.map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const card = light("card");
    return names.map(name => (Math.max(light(name), card) + 0.05) / (Math.min(light(name), card) + 0.05));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible_in_light_and_dark(open_page, keep, scheme):
    page = open_page("hospitals", color_scheme=scheme)
    contrasts = page.evaluate(CONTRAST, ["text", "soft", "accent", "positive", "negative", "up", "down"])
    assert min(contrasts) > 4.5
    keep(page, f"hospitals-{scheme}")


def test_the_theme_can_be_set_against_that_of_the_system(open_page):
    page = open_page("hospitals", color_scheme="light")
    page.locator("#theme").click()
    page.locator("#theme").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate("fedrcd.cy.nodes()[0].style('background-color')") == "rgb(24,33,42)"


@pytest.mark.parametrize("name", ["hospitals", "large", "compared"])
def test_a_phone_shows_the_page_without_scrolling_sideways(open_page, keep, name):
    page = open_page(name, has_touch=True, is_mobile=True)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for part in ("#cy", "#sort"):
        box = page.locator(part).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    heat = page.locator(".heat svg").bounding_box()
    assert heat["width"] <= 340
    page.locator("#sort").select_option("effect")
    effects = page.locator("#edge-table tbody tr td:nth-child(2)").all_inner_texts()
    assert effects == sorted(effects)
    keep(page, f"{name}-phone", full_page=True)


@pytest.mark.parametrize("name", ["hospitals", "large", "compared", "lonely", "empty"])
def test_the_printed_graph_is_whole(open_page, keep, name):
    page = open_page(name)
    page.set_viewport_size(A4)
    page.emulate_media(media="print")
    assert not page.locator("#cy").is_visible()
    outer = page.locator(".static-graph svg").bounding_box()
    assert outer["width"] <= A4["width"] + 1
    assert outer["height"] <= A4["height"]
    inside = page.locator(".static-graph svg").evaluate(
        "svg => { const b = svg.getBBox(), v = svg.viewBox.baseVal; "
        "return b.x >= -1 && b.y >= -1 && b.x + b.width <= v.width + 1 && b.y + b.height <= v.height + 1; }"
    )
    assert inside
    keep(page, f"{name}-print", full_page=True)


def test_the_page_prints_to_a_pdf_with_every_variable_in_one_picture(open_page):
    pypdf = pytest.importorskip("pypdf")
    page = open_page("hospitals", color_scheme="dark")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.pdf(path=SCREENSHOTS / "hospitals.pdf", format="A4")
    sheets = [sheet.extract_text() for sheet in pypdf.PdfReader(SCREENSHOTS / "hospitals.pdf").pages]
    assert "<svg" not in "".join(sheets)
    with_graph = next(text for text in sheets if "Causes stand above" in text)
    assert [name for name in results.hospitals().names if name not in with_graph] == []
