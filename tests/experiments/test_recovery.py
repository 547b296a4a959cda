from dataclasses import asdict, replace

import numpy as np
import pytest
from experiments.tasks.population import population
from experiments.tasks.recovery import FAMILY, paper_settings, recover, recovery_cells

from fedrcd.errors import ConfigError
from fedrcd.evaluation.evaluate import DataSetting, variances
from fedrcd.evaluation.variants import Variant
from fedrcd.graphs.metrics import varsortability

SMALL = DataSetting(noise="laplace", seed=1, p=5, sites=3, rows=300)


def test_the_settings_are_the_papers():
    settings = paper_settings(2)
    assert len(settings) == 22
    assert {(s.p, s.sites, s.rows) for s in settings} == {(20, 10, 2000)}


def test_data_do_not_depend_on_the_method_or_on_how_rows_are_cut():
    model, tables = SMALL.draw()
    cut = replace(SMALL, sites=9, rows=100)
    model_cut, tables_cut = cut.draw()
    np.testing.assert_array_equal(model.B, model_cut.B)
    np.testing.assert_array_equal(np.sort(np.concatenate(tables), axis=0), np.sort(np.concatenate(tables_cut), axis=0))
    np.testing.assert_array_equal(SMALL.model.B, model.B)


def test_a_spread_changes_the_noise_alone():
    plain, equal, wide = (replace(SMALL, spread=spread).model for spread in (None, 1.0, 1e4))
    np.testing.assert_array_equal(plain.B, wide.B)
    np.testing.assert_allclose(equal.noise_sd, 1)
    assert wide.noise_sd.max() / wide.noise_sd.min() > 4
    assert (np.argsort(plain.noise_sd) == np.argsort(wide.noise_sd)).all()


def test_a_topology_is_used():
    model = DataSetting(noise="laplace", seed=0, p=8, topology="asia", sites=1, rows=10).model
    assert len(model.names) == 8
    assert np.count_nonzero(model.B) == 8


def test_standardised_data_have_no_varsortability():
    model, tables = SMALL.draw()
    assert varsortability(variances(tables, 1.0), model.B) == 0.5


def test_recovery_measures_what_it_says():
    (row,) = recover(method="fedrcd-s", scaling=1.0, **asdict(SMALL))
    assert row["accuracy"] == 1.0
    assert row["varsortability"] == 0.5
    assert row["failed"] is False


def test_exact_methods_recover_the_population_and_others_need_not():
    exact = population(method="fedrcd-s", scaling=1.0, **asdict(SMALL))[0]
    assert exact["accuracy"] == 1.0
    assert population(method="fed-direct", scaling=1.0, **asdict(SMALL)) == [{"failed": True}]
    wrong = [population(method="fedrcd-ni", scaling=1.0, **asdict(s))[0]["accuracy"] for s in paper_settings(1)]
    assert np.mean(wrong) < 0.9


def test_slow_baselines_see_few_data_sets():
    cells = list(recovery_cells(paper_settings(3, p=4), ["fedhc", "NOTEARS"], slow=1))
    assert len(cells) == 33 + 11
    assert {cell.settings["seed"] for cell in cells if cell.settings["method"] == "NOTEARS"} == {0}


def test_keys_tell_settings_apart_and_nothing_else():
    cells = list(recovery_cells(paper_settings(2), FAMILY, scalings=(0.0, 1.0)))
    assert len({cell.key for cell in cells}) == len(cells)
    assert cells[0].key == next(recovery_cells(paper_settings(1), FAMILY)).key


@pytest.mark.parametrize(
    ("text", "method", "options"),
    [
        ("fedhc", "fedhc", {}),
        ("fedishc[coefficient=corrected, update=all]", "fedishc", {"coefficient": "corrected", "update": "all"}),
    ],
)
def test_variants_are_read(text, method, options):
    assert Variant.parse(text) == (method, options)


def test_an_unknown_option_of_a_variant_is_refused():
    with pytest.raises(ConfigError, match="no option 'colour'"):
        recover(method="fedishc[colour=red]", scaling=0.0, **asdict(SMALL))
