import time
from dataclasses import asdict

import numpy as np
import pytest
from experiments.pages.ratios import ratios
from experiments.tasks.costs import TimedSite, cost
from experiments.tasks.ladder import depths, drift, ladder
from experiments.tasks.overflow import plain_order, unguarded
from experiments.tasks.recovery import recover

from fedrcd.evaluation.evaluate import DataSetting
from fedrcd.statistics.pair_cumulants import PairCumulants

SETTING = asdict(DataSetting(noise="exponential", seed=0, p=8, sites=2, rows=2000))


def test_depth_is_the_longest_path():
    B = np.zeros((4, 4))
    B[1, 0] = B[2, 1] = B[2, 0] = 1.0
    assert depths(B).tolist() == [0, 1, 2, 0]


def test_row_sums_line_up_with_variance_on_raw_data():
    (row,) = ladder(scaling=0.0, **SETTING)
    assert row["tau4_variance"] > 0.5
    assert {"k3_slope", "k4_slope"} <= set(row)
    assert "k3_slope" not in ladder(scaling=1.0, **SETTING)[0]


def test_drift_starts_with_a_single_step_and_then_compounds():
    rows = drift(**SETTING)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[0]["compounded"] == pytest.approx(rows[0]["single"])
    assert rows[-1]["compounded"] > rows[-1]["single"] > 0


def test_ratios_have_their_targets_and_blow_up_without_skewness():
    skewed = {row["coefficient"]: row for row in ratios(skewness=2.0, rows=4000, repetitions=60, seed=0)}
    for row in skewed.values():
        assert row["median"] == pytest.approx(row["target"], abs=0.05)
    symmetric = {row["coefficient"]: row for row in ratios(skewness=0.0, rows=4000, repetitions=60, seed=0)}
    assert symmetric["published"]["robust"] > 50 * skewed["published"]["robust"]
    assert symmetric["least squares"]["robust"] < 3 * skewed["least squares"]["robust"]


class BusySite:
    """Takes 20 ms of the processor to answer."""

    name = "a"

    def answer(self, question, layout=None):  # noqa: ARG002
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass


def test_a_site_is_charged_for_every_answer_of_its_own():
    site = TimedSite(BusySite())
    site.answer(None)
    assert site.seconds >= 0.02
    site.answer(None)
    assert site.seconds >= 0.04


def test_costs_count_rounds_bytes_and_time():
    (ni,) = cost(method="fedrcd-ni", p=6, rows=200, sites=2, seed=0, repetitions=1)
    (x,) = cost(method="fedrcd-x", p=6, rows=200, sites=2, seed=0, repetitions=1)
    assert (ni["rounds"], x["rounds"]) == (1, 5)
    assert ni["bytes_per_round"] == ni["bytes_per_site"] > x["bytes_per_round"]
    assert min(row[f"{where}_seconds"] for row in (ni, x) for where in ("site", "coordinator")) > 0


def test_without_overflow_the_guard_changes_nothing():
    setting = DataSetting(noise="exponential", seed=2, p=4, sites=2, rows=2000)
    (plain,) = unguarded(scaling=0.0, **asdict(setting))
    (guarded,) = recover(method="fedishc", scaling=0.0, **asdict(setting))
    assert plain == {"accuracy": guarded["accuracy"], "overflowed": False}


def test_after_an_overflow_columns_are_taken_as_they_stand():
    huge = np.full((5, 5), 1e200)
    ones = np.ones((5, 1))
    with np.errstate(all="ignore"):
        order, overflowed = plain_order(PairCumulants(np.full((1, 1), 9), ones, np.eye(5), 1e200 * ones, huge))
    assert overflowed
    assert order == [0, 1, 2, 3, 4]
