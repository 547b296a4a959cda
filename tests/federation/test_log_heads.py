"""The coordinator remembers how far each site's log went, so that one that was cut or deleted is noticed."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from fedrcd.data.federation import write_federation
from fedrcd.errors import FileError
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import RetryPolicy, SiteLost
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.store import FILE
from tests.federation.couriers import Direct
from tests.federation.masking.machines import Relay, keyed, masked_plan
from tests.federation.sites import NAMES, horizontal, logged

A, B, C = NAMES
UNTOLD = Rules(off=frozenset({"history"}))


@pytest.fixture
def disk(tmp_path):
    return horizontal(tmp_path, p=3, rows=(400, 410, 420))


def conducted(disk, number, courier=None, plan=None, **changes):
    folder = str(disk.folder / f"result {number}")
    policy = RetryPolicy(deadline=1.0, give_up_after=0.0, pause=0.01)
    plan = plan or disk.plan("fedrcd-s", retry_policy=policy)
    plan = replace(plan, run=f"r{number}", folder=folder, heads=str(disk.folder / "heads.json"), **changes)
    return Conductor(plan, disk.federation, say=lambda _: None).run(courier or Direct(disk), NAMES)


def deleted(disk):
    shutil.rmtree(disk.state(B))


def delete_after(disk, number):
    """Cut the log after an entry, by hand."""
    with closing(sqlite3.connect(disk.state(B) / FILE)) as database, database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute(f"DELETE FROM log WHERE number > ({number})")


def cut(disk):
    """All but the first entry of the log is gone."""
    delete_after(disk, "SELECT min(number) FROM log")


def exchanged(disk):
    """A store of the same site that was made elsewhere, with a log of its own."""
    elsewhere = disk.apart(disk.folder / "elsewhere")
    conducted(elsewhere, 9)
    shutil.rmtree(disk.state(B))
    shutil.copytree(elsewhere.state(B), disk.state(B))


@pytest.mark.parametrize("harm", [deleted, cut, exchanged])
def test_a_site_whose_history_is_not_the_one_of_before_is_noticed(disk, harm):
    conducted(disk, 1)
    harm(disk)
    with pytest.raises(SiteLost) as caught:
        conducted(disk, 2)
    assert (caught.value.site, caught.value.refusal) == (B, Refusal.HISTORY)


def test_without_the_rule_a_site_that_forgot_its_history_answers_as_if_nothing_had_left(disk):
    trial = replace(disk.federation, trial=True)
    write_federation(disk.file, trial)
    disk.federation = trial
    conducted(disk, 1)
    deleted(disk)
    courier = Direct(disk)
    courier.services[B] = disk.service(B, rules=UNTOLD)
    conducted(disk, 2, courier)
    assert [one.run.split(".")[0] for one in logged(disk.service(B)) if one.outcome == "answered"] == ["r2"]


def test_entries_that_came_after_the_roll_call_count_too(disk):
    conducted(disk, 1)
    delete_after(disk, "SELECT max(number) - 1 FROM log")  # the answer is gone; its roll call is still there
    with pytest.raises(SiteLost, match="was cut, exchanged or deleted"):
        conducted(disk, 2)


def test_a_site_with_a_new_key_begins_anew_and_one_whose_log_went_on_is_well(disk):
    conducted(disk, 1)
    conducted(disk, 3)
    path = disk.folder / "heads.json"
    content = json.loads(path.read_text())
    assert set(content) == set(NAMES)
    content[B]["key"] = "another"
    path.write_text(json.dumps(content))
    deleted(disk)
    conducted(disk, 2)


@pytest.mark.parametrize("text", ["{", '{"hospital-b": 3}', '{"hospital-b": {"key": "", "head": 4}}'])
def test_a_file_that_is_not_ours_is_named(disk, text):
    (disk.folder / "heads.json").write_text(text)
    with pytest.raises(FileError, match=r"heads\.json"):
        conducted(disk, 1)


def test_masked_runs_remember_as_well(tmp_path):
    disk = keyed(tmp_path, p=3, rows=(400, 410, 420))
    conducted(disk, 1, Relay(disk), masked_plan(disk))
    cut(disk)
    (tmp_path / "keys" / B / "key.head").unlink()  # the witness beside the key is gone, too
    with pytest.raises(SiteLost) as caught:
        conducted(disk, 2, Relay(disk), masked_plan(disk))
    assert caught.value.refusal is Refusal.HISTORY
