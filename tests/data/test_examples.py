import json

import numpy as np

from fedrcd.data import align_tables, read_table
from fedrcd.data.examples import example_paths, example_truth, hospital_model, hospitals, write_examples
from fedrcd.graphs import is_acyclic, varsortability


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
    age, bmi = (hospitals()[0].names.index(name) for name in ("age", "bmi"))
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
