import json

import numpy as np
import pytest

import fedrcd
from fedrcd.cli.main import app
from fedrcd.errors import ConfigError
from fedrcd.methods import costs
from fedrcd.methods.auto import Circumstances, choose
from fedrcd.methods.costs import Job
from fedrcd.methods.registry import METHODS

P, ROWS = 9, 900


@pytest.fixture
def little_memory(monkeypatch, tmp_path):
    """A machine with 4 MB left."""
    file = tmp_path / "meminfo"
    file.write_text("MemTotal: 4000 kB\nMemAvailable: 4000 kB\n")
    monkeypatch.setattr(costs, "MEMORY_FILE", file)


@pytest.mark.parametrize("method", [name for name, card in METHODS.items() if not card.one_table and not card.private])
def test_the_bytes_that_are_estimated_are_sent_within_a_factor_of_two(method):
    X = np.random.default_rng(0).laplace(size=(ROWS, P))
    sent = fedrcd.discover(X, method).bytes_sent
    assert sent / 2 < METHODS[method].cost(Job(P, ROWS)).sent < sent * 2


@pytest.mark.parametrize("method", METHODS)
def test_more_variables_and_more_rows_cost_more(method):
    cost = METHODS[method].cost
    small, wide, long = cost(Job(20, 5000)), cost(Job(30, 5000)), cost(Job(20, 50_000))
    assert all(one > two for one, two in zip(wide, small, strict=True))
    assert long.seconds > small.seconds


def test_a_slower_machine_takes_longer():
    slow, fast = (METHODS["fedrcd-s"].cost(Job(30, 5000, speed=speed)).seconds for speed in (1e9, 1e10))
    assert slow == pytest.approx(10 * fast)


def test_too_little_memory_is_said_before_anything_starts(little_memory):
    X = np.random.default_rng(0).laplace(size=(100, 40))
    with pytest.raises(
        ConfigError, match=r"fedrcd-s needs about \d+ MB of memory for 40 variables and 4 MB are free; take auto"
    ):
        fedrcd.discover(X, "fedrcd-s")


def test_auto_takes_another_method_where_memory_is_little():
    known = Circumstances(p=60, rows=5000)
    assert choose(known).method == "fedrcd-se"
    method, reason = choose(Circumstances(p=60, rows=5000, memory=1e7))
    assert (method, reason) == ("fedrcd-sx", "there is too little memory for the full tensor of 60 variables")


def test_the_command_prints_an_estimate_for_every_method(capsys):
    app(["methods", "--p", "200", "--rows", "50000", "--sites", "5"], standalone_mode=False)
    printed = capsys.readouterr().out
    assert all(f"{name} " in printed for name in METHODS)
    assert "200 variables and 50,000 rows at 5 sites" in printed


def test_the_estimates_as_json(capsys):
    app(["methods", "--p", "20", "--json"], standalone_mode=False)
    found = {line["name"]: line for line in json.loads(capsys.readouterr().out)}
    assert found.keys() == METHODS.keys()
    assert found["fedrcd-s"]["sent"] == 8 * 10626
