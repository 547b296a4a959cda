"""The experiments behind docs/trust.md, on one data set each."""

from pathlib import Path

import numpy as np
import pytest
from experiments.trust import alarms, calibration, coverage, known, selection
from experiments.trust.__main__ import _page, _read, sections

from fedrcd.evaluation.evaluate import DataSetting
from fedrcd.methods.registry import METHODS

DOCS = Path(__file__).parents[2] / "docs"


def test_coverage_counts_every_pair_the_order_allows():
    covered = coverage.simulate(3)
    pairs = coverage.P * (coverage.P - 1) // 2
    assert [len(part) for part in covered[1:]] == [pairs] * 4
    assert covered.direct.mean() > 0.8


def test_valid_models_raise_few_alarms():
    valid = alarms.simulate_valid(3)
    assert set(alarms.CHECKS) < set(valid.verdicts)
    assert len(valid.independence) == alarms.P * (alarms.P - 1) // 2
    assert len(alarms.simulate_gaussian(0)) == alarms.P


@pytest.mark.parametrize("what", alarms.STRENGTHS)
def test_what_is_very_wrong_is_seen(what):
    assert alarms.simulate_wrong((what, alarms.STRENGTHS[what][-1], 0))


def test_tiers_do_not_hurt():
    gains = known.simulate(DataSetting(noise="laplace", seed=1, p=5, sites=2, rows=200))
    assert [gain.method for gain in gains] == list(METHODS)
    assert np.mean([gain.accuracy[1] - gain.accuracy[0] for gain in gains]) >= 0


def test_probabilities_are_paired_with_the_truth(monkeypatch):
    monkeypatch.setattr(calibration, "REPLICATES", 5)
    edges = calibration.simulate(calibration.CalibrationJob(2, 10, 500, "bic", 4))
    assert edges.probability.shape == edges.true.shape == (calibration.P * (calibration.P - 1),)
    assert edges.probability[edges.true].mean() > edges.probability[~edges.true].mean()


def test_every_selection_has_a_distance(monkeypatch):
    monkeypatch.setattr(selection, "REPLICATES", 5)
    distances = selection.simulate(selection.SelectionJob(500, 0.5, 4))
    assert len(distances) == len(selection.CHOICES)
    assert distances[0] > min(distances)


def test_sections_of_the_page_can_be_renewed_one_by_one(tmp_path):
    page = tmp_path / "trust.md"
    assert _read(page) == {}
    page.write_text(_page({"speed": "## Speed\n", "alarms": "## Alarms\n\ntext\n"}, ["alarms", "speed"]))
    assert _read(page) == {"speed": "## Speed\n", "alarms": "## Alarms\n\ntext\n"}


def test_the_page_has_all_sections_and_its_figures():
    text = (DOCS / "trust.md").read_text(encoding="utf-8")
    assert list(_read(DOCS / "trust.md")) == list(sections(DOCS))
    for figure in ("calibration", "power"):
        assert f"figures/{figure}.svg" in text
        assert (DOCS / "figures" / f"{figure}.svg").exists()
