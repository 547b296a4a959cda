"""What may still leave a site, what methods cost, and a person's word that it may be more."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from fedrcd.errors import ConfigError
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.budget import budgets, costs, renew
from fedrcd.federation.site.log import RENEWED
from fedrcd.statistics.grid import ARITHMETIC
from tests.cli.test_federation_commands import call, site
from tests.federation.sites import NAMES, horizontal, logged

A = NAMES[0]
TIGHT = Rules(share=0.05)
"""20 numbers for each of 5 columns, of 400 rows."""


@pytest.fixture
def disk(tmp_path):
    return horizontal(tmp_path, identified=True)


def asked(disk, arithmetic="exact"):
    question = disk.in_process(arithmetic=arithmetic).setting.pairs(4)
    return disk.service(A, rules=TIGHT).reply(Request(arithmetic, 1, disk.digest, A, NAMES, question))


def budget(disk):
    with disk.door(A, rules=TIGHT) as (door, tables):
        [one] = budgets(door, tables)
        return one


def renewed(disk, numbers, reason="the second study; agreed on by the board"):
    with disk.door(A, rules=TIGHT) as (door, tables):
        return renew(door, tables, numbers, reason)


def test_it_says_what_is_spent_and_what_is_left(disk):
    assert budget(disk).allowance == (0, 100)
    assert asked(disk).refusal is None
    assert budget(disk).allowance == (81, 100)
    assert budget(disk).allowance.left == 19


def test_a_person_can_allow_more_and_it_is_in_the_log(disk):
    asked(disk)
    assert asked(disk, "compact").refusal is Refusal.BUDGET
    assert renewed(disk, 65).allowance == (81, 165)
    entry = next(one for one in logged(disk.service(A)) if one.outcome == RENEWED)
    assert (entry.numbers, entry.detail) == (65, "the second study; agreed on by the board")
    assert asked(disk, "compact").refusal is None
    assert budget(disk).allowance.spent > 100


@pytest.mark.parametrize(("numbers", "reason"), [(101, "more"), (0, "none"), (-5, "less"), (50, " ")])
def test_never_as_many_as_the_rows_have_values_and_never_without_a_reason(disk, numbers, reason):
    asked(disk)
    with pytest.raises(ConfigError):
        renewed(disk, numbers, reason)
    assert budget(disk).allowance.allowed == 100


def test_however_often_more_is_allowed_it_is_at_most_as_many_again(disk):
    asked(disk)
    renewed(disk, 60)
    with pytest.raises(ConfigError, match="at most 40 further numbers"):
        renewed(disk, 60)
    assert renewed(disk, 40).allowance.allowed == 200


def test_rows_that_nothing_left_about_need_no_more(disk):
    with pytest.raises(ConfigError, match="nothing left about these rows yet"):
        renewed(disk, 10)


def test_new_rows_bring_a_budget_of_their_own_and_the_old_ones_keep_what_was_allowed(disk):
    asked(disk)
    renewed(disk, 30)
    rows = pd.read_parquet(disk.data(A))
    more = rows.iloc[:200].copy()
    more["id"] = [f"new {k}" for k in range(200)]
    more.iloc[:, 1:] += 1e-3
    pd.concat([rows, more]).to_parquet(disk.data(A), index=False)
    now = budget(disk)
    assert now.rows == 600
    assert now.allowance == (81, 180)


def test_what_methods_cost_is_what_they_then_release(disk):
    with disk.door(A) as (door, tables):
        found = {one.method: one for one in costs(door, tables)}
    assert found["fedrcd-s"][1:] == (126, True, "")
    assert found["fedrcd-ni"].numbers == 81
    disk.service(A).reply(
        Request("r", 1, disk.digest, A, NAMES, replace(disk.in_process().setting.tensor(), grid=ARITHMETIC["exact"]))
    )
    assert logged(disk.service(A))[-1].numbers == 126


def test_the_command_shows_and_renews(disk):
    assert "0 numbers released of 1,000" in call("site", "budget", *site(disk)).output
    disk.service(A).reply(Request("r", 1, disk.digest, A, NAMES, disk.in_process().setting.pairs(4)))
    said = json.loads(
        call("site", "budget", *site(disk, "--renew", 500, "--reason", "a second study", "--json")).output
    )
    assert (said["blocks"][0]["left"], said["blocks"][0]["allowance"]) == (1419, {"spent": 81, "allowed": 1500})
    assert "budget: a person here allowed 500 further numbers" in call("site", "log", "--state", disk.state(A)).output
    with pytest.raises(ConfigError, match="--reason"):
        call("site", "budget", *site(disk, "--reason", "x"))
