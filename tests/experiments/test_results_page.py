"""What the results page says of the data behind results."""

import pandas as pd
import pytest
from experiments.harness.cells import QUICK, Scale
from experiments.pages.results_page import measured_on
from experiments.studies import EXPERIMENTS


def settings(name, scale):
    """What stands in results of an experiment besides what was measured."""
    return pd.DataFrame([dict(cell.settings) for cell in EXPERIMENTS[name].cells(scale)])


@pytest.mark.parametrize(
    ("name", "scale", "words"),
    [
        ("noise", QUICK, "2 seeds, 22 data sets"),
        ("bnlearn", QUICK, "1 seed, 88 data sets"),
        ("scalability", QUICK, "1 or 2 seeds, 132 data sets"),
        ("scalability", Scale(full=True, seeds=3), "3 seeds, 264 data sets"),
        ("stratification", Scale(seeds=10), "5 or 10 seeds, 275 data sets"),
        ("site-effects", Scale(seeds=10), "2 seeds, 44 data sets"),
    ],
)
def test_seeds_are_those_that_were_used_and_not_those_asked_for(name, scale, words):
    assert measured_on(settings(name, scale)) == words


def test_a_table_that_is_cut_into_sites_is_one_data_set():
    assert measured_on(settings("invariance", QUICK)) == "1 seed, 55 data sets"


def test_repetitions_on_two_variables_are_no_data_sets():
    assert measured_on(settings("coefficient", Scale(seeds=1))) == "1 seed, 11 data sets"
