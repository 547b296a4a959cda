import itertools
import json

import numpy as np
import pytest

from fedrcd import discover
from fedrcd.api.federation import federation_tables
from fedrcd.data import align_tables, read_table
from fedrcd.data.examples import (
    EXAMPLES,
    example_paths,
    example_truth,
    hospital_federation,
    hospital_model,
    hospitals,
    sachs_tables,
    sachs_truths,
    vertical_federation,
    visits_model,
    write_examples,
    write_sachs,
    write_vertical,
    write_visits,
)
from fedrcd.data.federation import read_federation
from fedrcd.errors import SitesWarning
from fedrcd.graphs import ancestral_accuracy, is_acyclic, shd, varsortability


def test_the_bundled_files_are_what_the_generator_writes(tmp_path):
    bundled = example_paths()[0].parent
    for path in write_examples(tmp_path):
        assert path.read_bytes() == (bundled / path.name).read_bytes(), path.name


def test_the_bundled_files_are_small():
    assert sum(path.stat().st_size for path in example_paths()) < 400_000


def test_the_bundled_tables_are_the_model_s_to_five_digits():
    tables = align_tables([read_table(path) for path in example_paths()])
    for table, exact in zip(tables, hospitals(), strict=True):
        assert table.source == exact.source
        np.testing.assert_allclose(table.values, exact.values, rtol=5e-5)


def test_all_values_are_possible_measurements():
    X = np.vstack([table.values for table in hospitals()])
    age, bmi = (hospitals()[0].columns.index(name) for name in ("age", "bmi"))
    assert X.min() > 1
    assert 18 < X[:, age].min() < X[:, age].max() < 100
    assert 15 < X[:, bmi].min() < X[:, bmi].max() < 60


def test_the_truth_is_the_graph_of_the_model():
    truth, model = example_truth(), hospital_model()
    assert truth.names == model.names
    np.testing.assert_array_equal(truth.B, model.B)
    assert is_acyclic(truth.B)


def test_the_truth_file_speaks_of_causes_and_effects():
    stored = json.loads((example_paths()[0].parent / "truth.json").read_text(encoding="utf-8"))
    assert {"cause": "crp", "effect": "length_of_stay", "weight": 0.25} in stored["edges"]


def test_sorting_by_variance_would_not_find_the_order():
    model = hospital_model()
    cov = model.mixing @ np.diag(model.noise_cumulants.variance) @ model.mixing.T
    assert varsortability(np.diag(cov), model.B) < 0.6


def test_the_federation_of_the_hospitals_tells_units_and_fits_the_tables():
    federation = hospital_federation()
    assert federation.frame["glucose"].unit == "mg/dL"
    tables = {path.stem: read_table(path) for path in example_paths()}
    for site, block in zip(federation.sites, federation.blocks, strict=True):
        assert tables[site.name].values.shape == (block.rows, len(site.columns))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_a_federation_whose_files_say_what_it_says(name, tmp_path):
    paths = EXAMPLES[name].write(tmp_path)
    assert sorted(path.name for path in paths) == sorted(path.name for path in tmp_path.iterdir())
    federation = read_federation(tmp_path / "federation.toml")
    tables = federation_tables(federation, sorted(tmp_path.glob("*.csv")))
    assert [table.site for table in tables] == [site.name for site in federation.sites]


def test_local_units_change_three_columns_of_one_hospital_and_nothing_else(tmp_path):
    (tmp_path / "common").mkdir()
    (tmp_path / "local").mkdir()
    write_examples(tmp_path / "common")
    write_examples(tmp_path / "local", local_units=True)
    ratios = {
        name: read_table(tmp_path / "common" / f"{name}.csv").values
        / read_table(tmp_path / "local" / f"{name}.csv").values
        for name in ("hospital_a", "hospital_c")
    }
    assert (ratios["hospital_a"] == 1).all()
    expected = {"glucose": 18.0, "cholesterol": 38.67, "creatinine": 88.4}
    for j, name in enumerate(hospital_model().names):
        np.testing.assert_allclose(ratios["hospital_c"][:, j], expected.get(name, 1.0), rtol=2e-4)


def test_local_units_are_mended_by_scaling_within_sites(tmp_path):
    write_examples(tmp_path, local_units=True)
    truth, tables = example_truth(), sorted(tmp_path.glob("*.csv"))

    def distance(within):
        found = discover(tables, "fedrcd-s", within=within)
        return shd(found.adjacency.loc[list(truth.names), list(truth.names)].to_numpy(), truth.B)

    assert distance("standardise") == 0
    with pytest.warns(SitesWarning, match="other values than at the other sites in 'glucose'"):
        assert distance("none") >= 3


def test_the_columns_of_the_vertical_example_are_together_in_pairs_and_nowhere_all():
    layout = vertical_federation().layout()
    assert layout.first_missing(2) is None
    assert layout.complete_rows() == 0


def test_the_vertical_example_is_ordered_well_from_pairs(tmp_path):
    write_vertical(tmp_path)
    federation = read_federation(tmp_path / "federation.toml")
    found = discover(federation_tables(federation, sorted(tmp_path.glob("*.csv"))), variables=federation.variables)
    truth = example_truth()
    assert found.method == "fedrcd-sp"
    assert ancestral_accuracy([truth.names.index(name) for name in found.order], truth.B) > 0.9


def test_the_cells_of_sachs_are_all_there_and_change_where_a_condition_ends():
    tables = sachs_tables()
    assert [len(table.values) for table in tables] == [853, 902, 911, 723, 810, 799, 848, 913, 707]
    logs = [np.log(table.values) for table in tables]
    pooled = np.concatenate(logs).std(axis=0)
    for one, other in itertools.pairwise(logs):
        jump = np.abs(one[-150:].mean(axis=0) - other[:150].mean(axis=0)) / pooled
        assert jump.sum() > 1.5


def test_the_inhibited_proteins_of_sachs_are_where_they_should_be():
    means = {
        table.site: dict(zip(table.columns, np.log(table.values).mean(axis=0), strict=True)) for table in sachs_tables()
    }
    assert min(means, key=lambda site: means[site]["PIP2"]) == "cd3cd28_psitect"  # which inhibits PIP2
    assert min(means, key=lambda site: means[site]["Erk"]) == "cd3cd28_u0126"  # which inhibits Mek, its cause


def test_the_graphs_of_sachs_have_their_edges_and_contradict_each_other():
    names = sachs_tables()[0].columns
    truths = sachs_truths(names)
    assert {title: int(B.sum()) for title, B in truths.items()} == {"bnlearn": 17, "consensus": 20}
    assert all(is_acyclic(B) for B in truths.values())
    pip3, plcg = names.index("PIP3"), names.index("Plcg")
    assert truths["bnlearn"][pip3, plcg] == truths["consensus"][plcg, pip3] == 1


def test_the_source_of_sachs_is_told_beside_the_tables(tmp_path):
    write_sachs(tmp_path)
    told = (tmp_path / "SOURCE.txt").read_text(encoding="utf-8")
    assert "Science 308 (2005)" in told
    assert "licence" in told


def test_the_visits_tell_what_acts_within_a_visit_and_later(tmp_path):
    write_visits(tmp_path)
    model, federation = visits_model(), read_federation(tmp_path / "federation.toml")
    found = discover(federation_tables(federation, sorted(tmp_path.glob("*.csv"))))
    assert found.order == ("dose", "pain", "sleep")
    assert ((found.lagged_effects[1] != 0) == (model.lagged[0] != 0)).all()
    assert np.abs(found.B - model.now.B).max() < 0.15
    assert found.rows == (220 + 180) * 5
