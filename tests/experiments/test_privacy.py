"""The experiment on privacy: its tasks repeat, and its text stands on every axis."""

import pytest
from experiments.harness.cells import Scale
from experiments.studies.privacy import PRIVACY
from experiments.tasks.privacy import discover_under_noise, infer_membership, private_baseline, rebuild_outlier, yearly

DATA = {"noise": "laplace", "seed": 0, "p": 5, "rows": 3000}


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        (discover_under_noise, {"epsilon": 3.0}),
        (private_baseline, {"epsilon": 3.0, "baseline": "Gaussian score search", "standardised": True}),
        (yearly, {"epsilon": 3.0, "years": 3}),
    ],
)
def test_rows_depend_on_settings_alone(task, settings):
    assert task(**DATA, **settings) == task(**DATA, **settings)


def test_a_member_is_found_without_noise_and_hardly_with_it():
    small = {"noise": "laplace", "seed": 1, "p": 10, "rows": 100}
    (without,), (under,) = (infer_membership(**small, epsilon=epsilon) for epsilon in (None, 1.0))
    assert without["auc"] > 0.8
    assert under["auc"] < 0.65


def test_an_outlier_is_rebuilt_without_noise_and_not_with_it():
    (without,), (under,) = (rebuild_outlier(**{**DATA, "rows": 1000}, epsilon=epsilon) for epsilon in (None, 3.0))
    assert without["off"] < 0.5 < under["off"]


def test_every_axis_has_cells():
    tasks = {cell.name for cell in PRIVACY.cells(Scale(full=False, seeds=1))}
    mine = (discover_under_noise, infer_membership, private_baseline, rebuild_outlier, yearly)
    assert tasks == {task.__name__ for task in mine}
