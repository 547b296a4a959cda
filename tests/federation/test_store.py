"""What a site remembers: whole, its own, and on the disk before anything leaves."""

import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fedrcd.errors import ConfigError, FileError, ProtocolError
from fedrcd.federation.site.approvals import Pending
from fedrcd.federation.site.log import START, LogEntry, chained, parsed
from fedrcd.federation.site.store import FILE, Store, owner_of

SITE = "hospital-a"


def entry(**fields):
    defaults = {
        "time": "t",
        "run": "r",
        "round": 1,
        "federation": "f",
        "digest": "d",
        "question": "w",
        "outcome": "answered",
    }
    return LogEntry(**{**defaults, **fields})


def filled(folder, count=4):
    """A store to which entries were added one by one."""
    with Store(folder, SITE, wait=60.0) as store:
        for number in range(count):
            store.append([entry(round=number, numbers=10 * number, sources=(1, 2) if number else None)])
    return folder


def entries(folder):
    with Store(folder, SITE) as store:
        return store.entries()


def test_a_log_of_a_new_store_is_empty(tmp_path):
    assert entries(tmp_path) == []


def test_entries_come_back_in_order(tmp_path):
    found = entries(filled(tmp_path))
    assert [one.round for one in found] == [0, 1, 2, 3]
    assert [one.sources for one in found] == [None, (1, 2), (1, 2), (1, 2)]
    assert found[3].numbers == 30


def test_long_lines_are_followed_too(tmp_path):
    with Store(tmp_path, SITE) as store:
        for number in range(5):
            store.append([entry(round=number, detail="x" * 3000 * number)])
        assert len(store.entries()) == 5


def test_lines_are_those_of_a_chain(tmp_path):
    with Store(filled(tmp_path), SITE) as store:
        assert store.lines() == [line.text for line in chained(store.entries(), START)]
        assert parsed(store.lines(), "here") == store.entries()


def changed(lines):
    first = json.loads(lines[1])
    first["numbers"] = 1
    return [lines[0], json.dumps(first, separators=(",", ":")), *lines[2:]]


def rewrite(folder, tamper):
    """Change the log behind the back of the store, as somebody with the file can."""
    connection = sqlite3.connect(folder / FILE)
    with connection:
        connection.execute("DROP TRIGGER log_stays")
        connection.execute("DROP TRIGGER log_keeps")
        rows = connection.execute("SELECT text, hash FROM log ORDER BY number").fetchall()
        connection.execute("DELETE FROM log")
        hashes = dict(rows)
        for text in tamper([text for text, _ in rows]):
            connection.execute("INSERT INTO log (text, hash) VALUES (?, ?)", (text, hashes.get(text, "0" * 64)))
    connection.close()


@pytest.mark.parametrize(
    "tamper",
    [changed, lambda lines: [lines[0], *lines[2:]], lambda lines: lines[::-1], lambda lines: lines[1:]],
    ids=["changed", "taken out", "reordered", "beginning cut"],
)
def test_tampering_shows(tmp_path, tamper):
    rewrite(filled(tmp_path), tamper)
    with pytest.raises(FileError, match="changed or taken out"):
        entries(tmp_path)


@pytest.mark.parametrize("statement", ["DELETE FROM log WHERE number = 2", "UPDATE log SET text = 'x'"])
def test_the_file_itself_refuses_to_change_its_log(tmp_path, statement):
    filled(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE)
    with pytest.raises(sqlite3.IntegrityError, match="the log stays"):
        connection.execute(statement)
    connection.close()


def test_something_else_is_no_log(tmp_path):
    rewrite(filled(tmp_path), lambda _: ["hello"])
    with pytest.raises(FileError, match="line 1: not a line"):
        entries(tmp_path)


def append_many(folder):
    for number in range(30):
        with Store(folder, SITE, wait=60.0) as store:
            store.append([entry(round=number)])


def test_processes_that_append_together_leave_a_whole_chain(tmp_path):
    filled(tmp_path, 0)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=append_many, args=(tmp_path,)) for _ in range(5)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0, 0, 0]
    assert len(entries(tmp_path)) == 150


def test_a_store_that_is_open_elsewhere_is_not_opened_twice(tmp_path):
    with Store(tmp_path, SITE), pytest.raises(ProtocolError, match="in use by another process"):
        Store(tmp_path, SITE, wait=0.01)


def test_a_store_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot make the folder"):
        Store(tmp_path / "file", SITE)
    (tmp_path / "state" / FILE).mkdir(parents=True)
    with pytest.raises(FileError, match="there is no store of a site"):
        Store(tmp_path / "state", SITE)


def test_a_file_of_something_else_is_no_store(tmp_path):
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("CREATE TABLE log (text TEXT)")
    connection.close()
    with pytest.raises(FileError, match="not a store of a site"):
        Store(tmp_path, SITE)


def test_what_is_done_with_the_log_is_done_with_it_or_not_at_all(tmp_path):
    pending = Pending(digest="d", time="t", run="r", round=1, question="q", numbers=3, numbers_per_row=0.1)

    def fail():
        raise RuntimeError("the disk is full")

    with Store(tmp_path, SITE) as store:
        with pytest.raises(RuntimeError):
            store.append([entry()], fail)
        assert store.entries() == []
        store.approvals.hold(pending)
        assert store.approvals.held() == [pending]
        store.append([entry()], lambda: None)
        assert len(store.entries()) == 1


def test_a_store_belongs_to_one_site(tmp_path):
    filled(tmp_path)
    assert owner_of(tmp_path) == SITE
    with pytest.raises(ConfigError, match="store of site 'hospital-a', not of 'hospital-b'"):
        Store(tmp_path, "hospital-b")
    assert len(entries(tmp_path)) == 4


def test_only_its_owner_reads_a_store(tmp_path):
    filled(tmp_path / "state")
    assert (tmp_path / "state" / FILE).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0


READ = """
import os, sys
os.setgid(65534), os.setuid(65534)
try:
    print(len(open(sys.argv[1], "rb").read()))
except PermissionError:
    print("refused")
"""


def read_by_nobody(path):
    done = subprocess.run([sys.executable, "-S", "-c", READ, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be other accounts")
def test_other_accounts_do_not_read_a_store_which_without_its_rights_they_would():
    with tempfile.TemporaryDirectory() as folder:  # those of pytest are closed to others already
        Path(folder).chmod(0o755)
        store = filled(Path(folder) / "state") / FILE
        assert read_by_nobody(store) == "refused"
        store.parent.chmod(0o755)
        assert read_by_nobody(store) == "refused"
        store.chmod(0o644)
        assert int(read_by_nobody(store)) > 0


def test_secrets_stay_and_are_no_other_sites(tmp_path):
    with Store(tmp_path / "one", SITE) as one, Store(tmp_path / "two", SITE) as two:
        secret, key = one.secret, one.marker.key
        assert len({secret, key, two.secret, two.marker.key}) == 4
    with Store(tmp_path / "one", SITE) as again:
        assert (again.secret, again.marker.key) == (secret, key)


def test_a_store_that_was_never_finished_is_named(tmp_path):
    filled(tmp_path, 0)
    connection = sqlite3.connect(tmp_path / FILE)
    with connection:
        connection.execute("DELETE FROM settings WHERE name = 'key'")
    connection.close()
    with pytest.raises(FileError, match="never finished"):
        Store(tmp_path, SITE)


@pytest.mark.parametrize("name", ["log.jsonl", "secret", "approvals"])
def test_a_folder_of_the_first_release_is_not_begun_anew(tmp_path, name):
    (tmp_path / name).write_text("")
    command = f"`fedrcd site migrate --name {SITE} --state {tmp_path}`"
    with pytest.raises(FileError) as caught:
        Store(tmp_path, SITE)
    assert command in str(caught.value)
    with pytest.raises(FileError, match="fedrcd site migrate"):
        owner_of(tmp_path)
    assert not (tmp_path / FILE).exists()


def test_others_can_remember_how_far_the_log_goes_and_learn_nothing_of_it(tmp_path):
    entries = [LogEntry(time="t", round=number, outcome="refused") for number in (1, 2)]
    with Store(tmp_path / "one", "site") as one, Store(tmp_path / "two", "site") as two:
        assert one.head() == ""
        told = []
        for entry in entries:
            for store in (one, two):
                store.append([entry])
            told.append(one.head())
        assert all(one.has_head(head) for head in told)
        assert one.lines() == two.lines()
        assert not any(two.has_head(head) for head in told)  # the same content, another secret
