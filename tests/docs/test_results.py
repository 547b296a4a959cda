"""docs/results.md is what the results beside it say, and the results are what a rerun gives."""

import math
from pathlib import Path

import pandas as pd
import pytest
from experiments.harness.cells import Scale
from experiments.harness.store import ResultsStore
from experiments.pages.figures import draw
from experiments.pages.results_page import page
from experiments.studies import EXPERIMENTS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_follows_from_the_results(tmp_path):
    text = "\n".join(page(DOCS / "results", DOCS / "results.md", tmp_path))
    written = (DOCS / "results.md").read_text(encoding="utf-8")
    figures = {path.name for path in tmp_path.iterdir()}
    assert figures <= {path.name for path in (DOCS / "figures").iterdir()}
    assert _without_figures(text) == _without_figures(written)


def _without_figures(text):
    return [line for line in text.strip().splitlines() if not line.startswith("![")]


def test_every_experiment_has_results():
    missing = [name for name in EXPERIMENTS if not ResultsStore(DOCS / "results", name).results.exists()]
    assert missing == []


def test_the_papers_default_setting_has_ten_seeds():
    for name in ("noise", "ablation", "stratification", "per-noise"):
        frame = pd.read_parquet(DOCS / "results" / f"{name}.parquet")
        default = frame[(frame["p"] == 20) & (frame["sites"] == 10) & (frame["rows"] == 2000)]
        assert sorted(default["seed"].unique()) == list(range(10))


@pytest.mark.parametrize("name", ["noise", "stratification"])
def test_measuring_again_gives_the_same_numbers(name):
    frame = pd.read_parquet(DOCS / "results" / f"{name}.parquet").set_index("cell")
    # Not fedishc: it multiplies rounding from step to step, so that its float64 orders are those of one machine.
    quick = {"fedrcd-x", "fedrcd-ni", "fedhc", "fedrcd-def", "fedrcd-s"}
    cells = [cell for cell in EXPERIMENTS[name].cells(Scale(seeds=10)) if cell.settings.get("method") in quick]
    for cell in cells[7 :: len(cells) // 8]:
        kept = frame.loc[cell.key]
        for measured, value in cell.measure()[0].items():
            assert math.isclose(kept[measured], value, rel_tol=1e-9), (cell.settings, measured)


def test_a_figure_is_drawn_the_same_again(tmp_path):
    frame = ResultsStore(DOCS / "results", "noise").frame()
    (figure,) = EXPERIMENTS["noise"].figures(frame)
    assert draw(figure, tmp_path / "a").read_bytes() == draw(figure, tmp_path / "b").read_bytes()
