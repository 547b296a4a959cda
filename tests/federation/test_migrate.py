"""What earlier versions kept of a site comes into its one store, whole, or not at all."""

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict, replace
from datetime import date

import numpy as np
import pytest
from typer.testing import CliRunner

from fedrcd.cli.main import app
from fedrcd.data.rows import is_complete
from fedrcd.errors import ConfigError, DataError, FileError
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request
from fedrcd.federation.site.approvals import Pending
from fedrcd.federation.site.editions.row_marks import Marker
from fedrcd.federation.site.log import START, chained
from fedrcd.federation.site.migrate import FIRST_KIND, Former, _former_marks, former_tag, migrate
from fedrcd.federation.site.store import FILE, OLDER_KIND, Store
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.wire import to_bytes
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.living import federation_of, frame_of, sample
from tests.federation.sites import NAMES, horizontal, logged
from tests.federation.test_site_service import identified
from tests.federation.test_store import entry

SITE = "a"
BLOCK = "block-a"
KEY, SECRET = bytes(range(32)), bytes(range(100, 132))
OLD_TABLES = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE versions (block TEXT, version INTEGER, time TEXT NOT NULL, purpose TEXT NOT NULL, "
    "rows INTEGER NOT NULL, commitment TEXT NOT NULL, toggled BLOB NOT NULL, receipt TEXT, "
    "PRIMARY KEY (block, version))",
    "CREATE TABLE present (block TEXT PRIMARY KEY, ids BLOB NOT NULL, marks BLOB NOT NULL)",
    "CREATE TABLE struck (block TEXT, mark BLOB, reason TEXT NOT NULL, due TEXT NOT NULL, version INTEGER, "
    "PRIMARY KEY (block, mark))",
    "CREATE TABLE outbox (block TEXT PRIMARY KEY, payload BLOB NOT NULL)",
    "CREATE TABLE withdrawn (block TEXT PRIMARY KEY, time TEXT NOT NULL)",
)
"""As the first release made them."""

CONTENT = ("versions", "present", "struck", "outbox", "withdrawn")
HELD = [
    Pending(digest="aa", time="1", run="r", round=1, question="q", numbers=3, numbers_per_row=0.1, decision="approved"),
    Pending(digest="bb", time="2", run="r", round=2, question="q", numbers=3, numbers_per_row=0.1),
]
ENTRIES = [entry(round=k, numbers=k, sources=(1, 2) if k else None) for k in range(4)]


def old_state(folder, entries=ENTRIES, secret=SECRET, held=HELD):
    """The state folder of a site that served under the first release."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.jsonl").write_text("".join(f"{line.text}\n" for line in chained(entries, START)))
    (folder / "secret").write_bytes(secret)
    (folder / "approvals").mkdir()
    for one in held:
        (folder / "approvals" / f"{one.digest}.json").write_text(json.dumps(asdict(one)))
    return folder


def old_contributions(path, content, site=SITE, key=KEY, kind=FIRST_KIND):
    """The file that `fedrcd contribute` of the first release kept beside the table."""
    with closing(sqlite3.connect(path)) as old, old:
        old.execute("PRAGMA journal_mode = WAL")
        old.execute(f"PRAGMA application_id = {kind}")
        for statement in OLD_TABLES:
            old.execute(statement)
        for setting in (("site", site.encode()), ("key", key)):
            old.execute("INSERT INTO settings VALUES (?, ?)", setting)
        for table, rows in content.items():
            for one in rows:
                old.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(one))})", one)
    return path


def some_content():
    marker = Marker(KEY)
    ids = [marker.of_id_in_block(BLOCK, f"r{k}") for k in range(8)]
    return {
        "versions": [
            (BLOCK, 1, "2026-01-01", "rows", 8, "c1", b"".join(ids), None),
            (BLOCK, 2, "2026-01-02", "erase", 7, "c2", ids[0], None),
        ],
        "present": [(BLOCK, b"".join(ids[1:]), b"".join(ids[1:]))],
        "struck": [
            (BLOCK, ids[0], "erased", "2026-01-31", 2),
            (BLOCK, ids[1], "erased", "2026-02-28", None),
        ],
        "outbox": [(BLOCK, b"bytes that were not delivered")],
        "withdrawn": [("another", "2026-01-03")],
    }


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_everything_is_there_afterwards(tmp_path):
    folder = old_state(tmp_path / "state")
    before = (folder / "log.jsonl").read_text().splitlines()
    old = old_contributions(tmp_path / "a.contributions.db", some_content())
    found = migrate(folder, SITE, old, forget=True)
    assert found == {"entries": 4, "approvals": 2, "versions": 2, "struck": 2, "outbox": 1, "withdrawn": 1}
    with Store(folder, SITE) as store:
        assert store.entries() == ENTRIES
        assert store.lines() == before
        assert store.approvals.held() == HELD
        assert {one.digest: one.decision for one in store.approvals.held()} == {"aa": "approved", "bb": ""}
        assert (store.secret, store.marker.key) == (SECRET, KEY)
        assert [(one.version, one.purpose, one.rows, one.commitment) for one in store.sent.all()] == [
            (1, "rows", 8, "c1"),
            (2, "erase", 7, "c2"),
        ]
        assert store.struck.by_block() == {BLOCK: {store.marker.of_id_in_block(BLOCK, f"r{k}") for k in range(2)}}
        assert store.sent.outbox(BLOCK) == b"bytes that were not delivered"
        assert store.sent.is_withdrawn("another")
        store.append([entry(round=9)])  # and the chain goes on
        assert len(store.entries()) == 5
    assert names_in(folder) == ["approvals.old", "log.jsonl.old", "secret.old", FILE]
    assert names_in(tmp_path) == ["a.contributions.db.old", "state"]
    assert (folder / FILE).stat().st_mode & 0o077 == 0


def test_a_site_that_only_served_or_only_contributed_is_brought_over_too(tmp_path):
    assert migrate(old_state(tmp_path / "served"), SITE, forget=True) == {"entries": 4, "approvals": 2}
    old = old_contributions(tmp_path / "a.contributions.db", some_content())
    (tmp_path / "contributed").mkdir()
    assert migrate(tmp_path / "contributed", SITE, old, forget=True)["struck"] == 2
    with Store(tmp_path / "served", SITE) as served, Store(tmp_path / "contributed", SITE) as contributed:
        assert served.secret == SECRET != contributed.secret
        assert len(served.marker.key) == len(contributed.secret) == 32
        assert contributed.entries() == []


def test_a_site_that_never_answered_needs_no_table(tmp_path):
    refused = [entry(round=1, outcome="rows")]
    migrate(old_state(tmp_path / "state", refused), SITE)
    with Store(tmp_path / "state", SITE) as store:
        assert (store.entries(), store.editions.editions()) == (refused, [])


class Served:
    """A site that answered under an earlier version, with identifiers; `rows` are those it has."""

    def __init__(self, folder, kind):
        self.disk = horizontal(folder, rows=(1500, 500, 500))
        self.site = NAMES[0]
        self.rows = self.disk.in_process_rows(self.site)
        identified(self.disk, self.rows)
        self.question = PairQuestion(
            self.disk.federation.variables, self.disk.federation.declared_frame(), 4, grid=ARITHMETIC["exact"]
        )
        service = self.disk.service(self.site)
        self.before = self.ask(GroupedQuestion(self.question, 10))
        self.state = self.disk.state(self.site)
        with service.store() as store:
            secret, key = store.secret, store.marker.key
        tables = self.tables()
        entries = [replace(one, version=former_tag(secret, tables[0])) for one in logged(service)]
        (self.state / FILE).unlink()
        marks = b"".join(sorted(_former_marks(Former(key=key), tables[0])))
        content = {"present": [(self.site, b"", marks)], "struck": []}
        if kind == "files":
            old_state(self.state, entries, secret, [])
            self.contributions = old_contributions(folder / "c.db", content, self.site, key)
        else:
            older_store(self.state / FILE, self.site, secret, key, entries, content)
            self.contributions = None

    def tables(self):
        with self.disk.door(self.site, state=str(self.disk.folder / "elsewhere")) as (_, tables):
            return [table.select(is_complete) for table in tables]

    def ask(self, question=None, run="r1.0"):
        return self.disk.service(self.site).reply(
            Request(run, 1, self.disk.digest, self.site, NAMES, question or self.question)
        )

    def migrate(self, **more):
        given = {"federation": self.disk.federation, "tables": self.tables(), **more}
        return migrate(self.state, self.site, self.contributions, **given)


def older_store(path, site, secret, key, entries, content):
    """The store of a site as it was before there were editions."""
    old_contributions(path, content, site, key, OLDER_KIND)
    with closing(sqlite3.connect(path)) as old, old:
        old.execute("CREATE TABLE log (number INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL)")
        old.execute("CREATE TABLE approvals (digest TEXT PRIMARY KEY, text TEXT NOT NULL)")
        old.execute("INSERT INTO settings VALUES ('secret', ?)", (secret,))
        for line in chained(entries, START):
            old.execute("INSERT INTO log (text, hash) VALUES (?, ?)", line)


@pytest.fixture(params=["files", "store"])
def served(request, tmp_path):
    return Served(tmp_path, request.param)


def test_the_rows_that_were_answered_about_are_the_first_edition(served):
    """Budget, groups and differences go on where they were."""
    assert served.ask().refusal is Refusal.DATA  # not before it is brought over
    served.migrate()
    with Store(served.state, served.site) as store:
        [edition] = store.editions.editions()
    assert (edition.rows, edition.block) == (1500, served.site)
    again = served.ask(GroupedQuestion(served.question, 10), "r2")
    assert to_bytes(again.blocks[0][1]) == to_bytes(served.before.blocks[0][1])
    assert again.version == edition.label
    assert served.ask(GroupedQuestion(served.question, 11), "r3").refusal is Refusal.SPLIT
    identified(served.disk, served.rows[1:], 1)
    assert served.ask(run="r4").refusal is Refusal.EDITION


def test_a_table_that_has_changed_is_not_taken_for_what_was_answered_about(served):
    identified(served.disk, served.rows[1:], 1)
    with pytest.raises(DataError, match="not those that sums left about last"):
        served.migrate()
    assert served.ask().refusal is Refusal.DATA
    with pytest.raises(ConfigError, match="--data"):
        served.migrate(federation=None, tables=[])
    served.migrate(forget=True)
    assert served.ask(run="r2").refusal is None


def test_an_erasure_that_waited_goes_on_waiting(tmp_path):
    served = Served(tmp_path, "store")
    with closing(sqlite3.connect(served.state / FILE)) as old, old:
        [key] = old.execute("SELECT value FROM settings WHERE name = 'key'").fetchone()
        for row, version in (("r3", None), ("nobody", 1)):
            mark = Marker(key).of_id_in_block(served.site, row)
            old.execute("INSERT INTO struck VALUES (?, ?, 'erased', '2026-12-24', ?)", (served.site, mark, version))
    served.migrate()
    with Store(served.state, served.site) as store:
        assert store.struck.pending() == {store.marker.of_id("r3"): date(2026, 12, 24)}
    assert served.ask(run="r2").refusal is Refusal.EDITION
    more = np.concatenate([served.rows, np.random.default_rng(0).normal(size=(60, 5))])
    identified(served.disk, more)
    reply = served.ask(run="r3")
    assert int(reply.blocks[0][1].low.count[0, 0]) == 1559


def test_what_a_crash_left_in_the_write_ahead_log_comes_over_too(tmp_path):
    made = old_contributions(tmp_path / "made.db", {})
    with closing(sqlite3.connect(made, isolation_level=None)) as old:
        old.execute("PRAGMA wal_autocheckpoint = 0")
        old.execute("INSERT INTO struck VALUES (?, ?, 'erased', '2026-01-31', 1)", (BLOCK, bytes(16)))
        for ending in ("", "-wal"):  # as the files lie there when the process is killed
            (tmp_path / f"a.contributions.db{ending}").write_bytes((tmp_path / f"made.db{ending}").read_bytes())
    (tmp_path / "state").mkdir()
    assert migrate(tmp_path / "state", SITE, tmp_path / "a.contributions.db")["struck"] == 1


def test_a_site_is_brought_over_once(tmp_path):
    folder = old_state(tmp_path / "state")
    migrate(folder, SITE, forget=True)
    before = (folder / FILE).read_bytes()
    with pytest.raises(FileError, match="was brought over before"):
        migrate(folder, SITE)
    with pytest.raises(FileError, match="were brought over before"):
        migrate(folder, SITE, old_contributions(tmp_path / "a.contributions.db", some_content()))
    assert (folder / FILE).read_bytes() == before
    with pytest.raises(FileError, match="nothing of an earlier version"):
        migrate(tmp_path / "new", SITE)


def tampered(folder):
    path = folder / "log.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[1].replace('"numbers":1', '"numbers":0'), *lines[2:]]))


def short_secret(folder):
    (folder / "secret").write_bytes(b"1234")


def bad_note(folder):
    (folder / "approvals" / "aa.json").write_text("{}")


def no_line(folder):
    (folder / "log.jsonl").write_text("hello\n")


BROKEN = {
    "a log that was changed": (tampered, FileError, "changed or taken out"),
    "a log that is none": (no_line, FileError, "line 1: not a line"),
    "a secret that is none": (short_secret, ConfigError, "at least 32 bytes"),
    "a note that is none": (bad_note, FileError, "not a note of a waiting answer"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_not_taken_over_and_left_as_it_is(case, tmp_path):
    folder = old_state(tmp_path / "state")
    damage, kind, words = BROKEN[case]
    damage(folder)
    before = names_in(folder)
    with pytest.raises(kind, match=words):
        migrate(folder, SITE)
    assert names_in(folder) == before == ["approvals", "log.jsonl", "secret"]


def test_contributions_of_another_site_or_of_no_kind_are_refused(tmp_path):
    folder = old_state(tmp_path / "state")
    other = old_contributions(tmp_path / "b.contributions.db", some_content(), site="b")
    with pytest.raises(ConfigError, match="log of site 'b', not of 'a'"):
        migrate(folder, SITE, other)
    strange = old_contributions(tmp_path / "x.db", {}, kind=7)
    with pytest.raises(FileError, match="not written by an earlier version"):
        migrate(folder, SITE, strange)
    (tmp_path / "words.db").write_text("words " * 1000)
    with pytest.raises(FileError, match="cannot read"):
        migrate(folder, SITE, tmp_path / "words.db")
    with pytest.raises(FileError, match="there is no file"):
        migrate(folder, SITE, tmp_path / "absent.db")
    assert names_in(folder) == ["approvals", "log.jsonl", "secret"]


def typed(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_the_command_that_a_refusal_names_brings_a_site_over(tmp_path):
    folder = old_state(tmp_path / "state")
    with pytest.raises(FileError) as caught:
        Store(folder, SITE)
    command = str(caught.value).split("`")[1].split()
    assert command == ["fedrcd", "site", "migrate", "--name", SITE, "--state", str(folder)]
    with pytest.raises(FileError, match="fedrcd site migrate"):
        typed("site", "log", "--state", folder)
    with pytest.raises(ConfigError, match="--data"):
        typed(*command[1:])
    assert f"{folder / FILE}: 4 entries, 2 approvals" in typed(*command[1:], "--forget-history")
    assert "4 entries" in typed("site", "log", "--state", folder)


def test_contribute_does_not_begin_anew_beside_an_old_file(tmp_path):
    from fedrcd.data.federation import write_federation

    federation = federation_of(3)
    write_federation(tmp_path / "federation.toml", federation)
    frame_of(sample(3, 300)).to_csv(tmp_path / "a.csv", index=False)
    old = old_contributions(tmp_path / "a.contributions.db", some_content())
    contribute = ("contribute", tmp_path / "a.csv", "--federation", tmp_path / "federation.toml", "--site", SITE)
    contribute += ("--out", tmp_path / "a.parcel", "--state", tmp_path / "state")
    with pytest.raises(FileError) as caught:
        typed(*contribute)
    command = str(caught.value).split("`")[1].split()
    assert command[:4] == ["fedrcd", "site", "migrate", "--name"]
    assert command[-2:] == ["--contributions", str(old)]
    assert not (tmp_path / "state").exists()
    assert "2 struck" in typed(*command[1:], "--forget-history")


def test_a_site_that_serves_does_not_begin_anew_in_an_old_folder(tmp_path):
    disk = horizontal(tmp_path)
    old_state(disk.state(NAMES[0]))
    question = PairQuestion(disk.federation.variables, disk.federation.declared_frame(), 4, grid=ARITHMETIC["exact"])
    reply = disk.service(NAMES[0]).reply(Request("r1.0", 1, disk.digest, NAMES[0], NAMES, question))
    assert reply.refusal is Refusal.DATA
    assert reply.blocks == ()
    assert not (disk.state(NAMES[0]) / FILE).exists()
