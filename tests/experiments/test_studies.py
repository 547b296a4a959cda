import json

import pytest
from experiments.harness.cells import FULL, QUICK, Scale, fingerprint
from experiments.studies import EXPERIMENTS, find_experiment

from fedrcd.errors import ConfigError
from fedrcd.methods.registry import METHODS, PRIVATE


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cells_are_told_apart_and_can_be_written_down(name):
    cells = list(EXPERIMENTS[name].cells(QUICK))
    assert len({cell.key for cell in cells}) == len(cells)
    assert json.loads(json.dumps(dict(cells[0].settings))) == dict(cells[0].settings)


def test_the_full_grid_is_the_papers():
    cells = list(EXPERIMENTS["scalability"].cells(FULL))
    assert {cell.settings["p"] for cell in cells} == {10, 20, 30, 50}
    assert {cell.settings["seed"] for cell in cells if cell.settings["p"] == 50} == set(range(10))
    assert {cell.settings["sites"] for cell in EXPERIMENTS["invariance"].cells(FULL)} == {1, 5, 10, 20, 50}


def test_experiments_share_the_papers_default_data_sets():
    ours = {cell.key for cell in EXPERIMENTS["stratification"].cells(QUICK)}
    for name in ("noise", "per-noise"):
        assert {cell.key for cell in EXPERIMENTS[name].cells(QUICK)} <= ours


@pytest.mark.parametrize(
    ("name", "method", "tasks"),
    [
        ("ablation", "fedrcd-def", {"recover", "drift"}),
        ("ablation", "fedrcd-s", set()),
        ("coefficient", "fedishc", {"recover", "unguarded"}),
        ("stratification", "fedhc", {"recover", "ladder"}),
        ("stratification", "fedrcd-ni", {"recover", "ladder"}),
        ("complexity", "fed-direct", {"recover", "cost"}),
    ],
)
def test_experiments_know_which_tasks_depend_on_a_method(name, method, tasks):
    assert EXPERIMENTS[name].tasks_with(method) == tasks


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cells_that_name_no_method_say_whose_parts_they_run(name):
    cells = [cell for cell in EXPERIMENTS[name].cells(QUICK) if "method" not in cell.settings]
    assert all(set(cell.uses) <= {*METHODS, *PRIVATE} for cell in cells)
    assert {cell.name for cell in cells if not cell.uses} <= {"ratios", "private_baseline"}  # they run no part of any


def test_a_fingerprint_follows_the_cells_and_not_their_order():
    cells = list(EXPERIMENTS["noise"].cells(Scale(seeds=1)))
    assert fingerprint(cells) == fingerprint(cells[::-1]) != fingerprint(cells[1:])


def test_a_mistyped_experiment_is_answered_with_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'stratification'"):
        find_experiment("stratificaton")
