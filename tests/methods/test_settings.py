"""Settings are spelt out once: functions, commands, the estimator, plans and records take them from one class."""

import inspect
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from typer.main import get_command

import fedrcd
from fedrcd.cli.main import app
from fedrcd.errors import ConfigError
from fedrcd.methods.settings import ARGUMENTS, DEFAULTS, NAMES, OF_TABLES, Settings, flags

OTHER = {
    "method": "fedrcd-x",
    "weights": "bic",
    "penalty": 0.5,
    "options": {"estimator": "unbiased"},
    "variables": ("b", "a"),
    "drop": ("id",),
    "trim": 8.0,
    "within": "centre",
    "missing": "available",
    "missing_codes": (-9.0,),
    "arithmetic": "exact",
    "frame": {"a": (0.0, 1.0), "b": (1.0, 2.0)},
    "stack": True,
    "masked": True,
    "lags": 2,
    "waves": True,
    "time": "day",
    "subject": "who",
    "hidden": True,
    "knowledge": fedrcd.Knowledge(forbidden=[("a", "b")]),
}
"""Something else than the default for every setting."""


def test_every_setting_has_another_value_here():
    assert set(OTHER) == set(NAMES)


@pytest.mark.parametrize("function", [fedrcd.discover, fedrcd.bootstrap, fedrcd.check])
def test_functions_show_every_setting_with_its_default(function):
    shown = inspect.signature(function).parameters
    assert list(shown)[:2] == ["tables", "method"]
    assert {name: shown[name].default for name in ARGUMENTS} == {name: DEFAULTS[name] for name in ARGUMENTS}


def test_the_estimator_shows_its_settings_and_can_be_cloned():
    shown = inspect.signature(fedrcd.FedLiNGAM).parameters
    expected = {"method", "weights", "penalty", "prior_knowledge", "options", "random_state", *OF_TABLES}
    assert set(shown) == expected == set(fedrcd.FedLiNGAM().get_params())
    changed = fedrcd.FedLiNGAM("fedrcd-x", weights="bic", trim=8.0, drop=["id"])
    assert clone(changed).get_params() == changed.get_params()
    assert fedrcd.FedLiNGAM().set_params(within="centre").within == "centre"
    with pytest.raises(TypeError, match="colour"):
        fedrcd.FedLiNGAM(colour="red")


@pytest.mark.parametrize("command", ["discover", "bootstrap", "check"])
def test_commands_have_an_option_for_every_setting(command):
    options = {name for one in get_command(app).commands[command].params for name in one.opts}
    assert {f"--{flag.name.replace('_', '-')}" for flag in flags().values()} <= options
    assert set(flags()) == set(NAMES) - {"variables", "frame"}  # which a federation file has


@pytest.mark.parametrize("name", OTHER)
def test_json_brings_settings_back(name):
    settings = replace(Settings(), **{name: OTHER[name]})
    assert Settings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings


def test_arguments_make_the_same_settings():
    settings = Settings(**OTHER)
    assert Settings.of(**settings.arguments()) == settings


@pytest.mark.parametrize("name", [*OF_TABLES, "knowledge"])
def test_what_a_result_records_is_recalled(name):
    settings = replace(Settings(), **{name: OTHER[name]})
    record = json.loads(json.dumps(settings.recorded()))
    assert list(record) == [name]
    assert Settings.recalled({**record, "bootstrap": {"n_sampling": 3}}).recorded() == settings.recorded()


def test_defaults_are_not_recorded():
    assert Settings().recorded() == {}


def test_one_missing_code_need_not_be_a_list():
    assert Settings(missing_codes=-9).recorded() == {"missing_codes": [-9]}


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_setting_is_named(name):
    settings = replace(Settings(), **{name: OTHER[name]})
    along = {"method"} if name == "hidden" else set()  # one that can look for hidden causes is taken
    assert set(settings.changed(set(NAMES) - {"options"})) == {name} - {"options"} | along


def test_knowledge_may_be_a_matrix():
    assert Settings(knowledge=np.full((2, 2), -1)).changed(["knowledge"]) == ["knowledge"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"within": "median"}, "within must be one of none, centre, standardise, auto, got 'median'"),
        ({"missing": "zero"}, "missing must be one of complete, expected, available, got 'zero'"),
        ({"arithmetic": "decimal"}, "arithmetic must be one of float, exact, compact, got 'decimal'"),
        ({"trim": -1}, "trim must be a number above 0, got -1"),
        ({"stack": 1}, "stack must be True or False, got 1"),
        ({"method": 3}, "method must be a name"),
        ({"method": "a.csv"}, "several tables go in one list"),
        ({"method": "fedrcd-q"}, "there is no method 'fedrcd-q'"),
        ({"options": {"moods": 1}}, "auto has no option 'moods'; its options: weights, penalty"),
        ({"missing": "expected", "arithmetic": "exact"}, "it needs arithmetic='float'"),
    ],
)
def test_what_is_wrong_is_told(change, message):
    with pytest.raises(ConfigError) as caught:
        Settings(**change).check()
    assert message in str(caught.value)


def test_settings_are_known_without_anything_heavy():
    code = (
        "import sys, fedrcd.cli.main; print([m for m in ('numpy', 'scipy', 'pandas', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
