"""Whatever byte of whatever record is changed, verification names the record."""

import shutil
import sqlite3

import numpy as np
import pytest

from fedrcd.errors import FileError, ProtocolError
from fedrcd.federation.ledger.export import exported, read_export
from fedrcd.federation.ledger.ledger import FILE_KIND, Ledger
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.ledger.verify import verify_entries, verify_ledger
from tests.federation.living import TRIAL, configured, contribution, federation_of, put, sample

FEDERATION = federation_of(2)
CONFIGURATION = configured(FEDERATION, families=("pairs/4",))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A ledger with every kind of entry, and the receipts it gave."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    with Ledger.create(path, CONFIGURATION, TRIAL) as ledger:
        receipts = [put(ledger, contribution(CONFIGURATION, FEDERATION, site, sample(2, 50, 1))) for site in "ab"]
        receipts.append(ledger.record_result("fedrcd-ni", {"weights": "none"}, "text"))
        erased = contribution(CONFIGURATION, FEDERATION, "a", sample(2, 49, 1), version=2, purpose="erase")
        receipts.append(put(ledger, erased))
        receipts += ledger.leave("b")
    return path, receipts


@pytest.fixture
def copied(written, tmp_path):
    return shutil.copy(written[0], tmp_path / "ledger.db"), written[1]


def tampered(path, table, column, key, change):
    """Change one stored value behind the ledger's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA writable_schema = ON")
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    where = " AND ".join(f"{name} = ?" for name in key)
    query = f"SELECT typeof({column}), CAST({column} AS BLOB) FROM {table} WHERE {where}"
    kind, value = connection.execute(query, tuple(key.values())).fetchone()
    new = f"UPDATE {table} SET {column} = CAST(? AS {kind}) WHERE {where}"
    connection.execute(new, (change(value), *key.values()))
    for _, sql in triggers:
        connection.execute(sql)
    connection.close()


def flipped(position, bit):
    def change(value):
        changed = bytearray(value)
        changed[position % len(changed)] ^= 1 << bit
        return bytes(changed)

    return change


def records(path):
    """Every stored value, the record it belongs to and its size."""
    connection = sqlite3.connect(path)
    for number, *sizes in connection.execute(
        "SELECT number, length(text), length(hash), length(signature) FROM entries"
    ):
        for column, size in zip(("text", "hash", "signature"), sizes, strict=True):
            yield "entries", column, {"number": number}, f"entry {number}", size
    for site, block, size in connection.execute("SELECT site, block, length(payload) FROM contributions"):
        yield "contributions", "payload", {"site": site, "block": block}, "contribution of site 'a'", size
    for name, size in connection.execute("SELECT name, length(value) FROM settings"):
        yield "settings", "value", {"name": name}, f"setting {name!r}", size
    connection.close()


def test_a_ledger_as_it_was_written_is_sound(written):
    path, receipts = written
    assert verify_ledger(path, receipts) == []


def test_any_changed_byte_of_any_record_is_named(written, tmp_path):
    path, _ = written
    rng = np.random.default_rng(0)
    seen, missed = set(), []
    for table, column, key, record, size in records(path):
        for position in sorted({0, size - 1, *rng.integers(0, size, 4).tolist()}):
            copy = shutil.copy(path, tmp_path / "copy.db")
            tampered(copy, table, column, key, flipped(position, int(rng.integers(8))))
            findings = verify_ledger(copy)
            seen.add((table, column))
            if not any(finding.record.startswith(record) for finding in findings):
                missed.append((record, column, position, findings))
    assert missed == []
    assert len(seen) == 5


def test_a_ledger_that_was_changed_is_not_used(copied):
    path, _ = copied
    tampered(path, "entries", "text", {"number": 3}, flipped(20, 0))
    with pytest.raises(FileError, match="entry 3"):
        Ledger.open(path)


@pytest.mark.parametrize(
    ("statement", "record"),
    [
        ("DELETE FROM entries WHERE number = 3", "entry 3"),
        ("DELETE FROM contributions", "contribution of site 'a'"),
        ("DELETE FROM settings WHERE name = 'secret'", "setting 'secret'"),
        ("INSERT INTO settings VALUES ('more', x'00')", "setting 'more'"),
        ("INSERT INTO contributions SELECT 'z', block, payload FROM contributions", "contribution of site 'z'"),
        ("UPDATE contributions SET site = 'z'", "contribution of site 'a'"),
        ("CREATE TABLE more (x)", "tables"),
        ("DROP TRIGGER entries_stay", "tables"),
        ("UPDATE entries SET number = number + 10 WHERE number = 6", "entry 6"),
        ("DELETE FROM entries", "entry 1"),
    ],
)
def test_records_that_come_or_go_are_named(copied, statement, record):
    path, _ = copied
    connection = sqlite3.connect(path, isolation_level=None)
    if "TRIGGER" not in statement:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    if "TRIGGER" not in statement:
        for _, sql in triggers:
            connection.execute(sql)
    connection.close()
    assert any(finding.record.startswith(record) for finding in verify_ledger(path))


def test_entries_cannot_be_changed_by_plain_statements(copied):
    path, _ = copied
    connection = sqlite3.connect(path)
    for statement in ("DELETE FROM entries", "UPDATE entries SET text = ''"):
        with pytest.raises(sqlite3.IntegrityError, match="entries stay"):
            connection.execute(statement)
    connection.close()


def test_a_chain_cut_at_its_end_is_seen_by_the_receipts(copied):
    path, receipts = copied
    connection = sqlite3.connect(path, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    connection.execute("DROP TRIGGER entries_stay")
    connection.execute("DELETE FROM entries WHERE number = 6")
    connection.execute(next(sql for name, sql in triggers if name == "entries_stay"))
    connection.close()
    assert any(finding.record == "entry 6" for finding in verify_ledger(path, receipts))


def test_a_chain_that_was_rewritten_and_signed_anew_is_seen_by_the_receipts(written, tmp_path):
    _, receipts = written
    with Ledger.create(tmp_path / "other.db", CONFIGURATION, TRIAL) as other:
        put(other, contribution(CONFIGURATION, FEDERATION, "a", sample(2, 50, 1)))
    assert verify_ledger(tmp_path / "other.db") == []
    named = [finding.record for finding in verify_ledger(tmp_path / "other.db", receipts)]
    assert named == [f"entry {receipt.entry.number}" for receipt in receipts]


def test_bytes_changed_in_the_file_itself_are_named_or_without_effect(written, tmp_path):
    path, receipts = written
    data = path.read_bytes()
    with Ledger.open(path) as ledger:
        entries, payload = ledger.entries, ledger.payload(("a", "block-a"))
    rng = np.random.default_rng(1)
    named = 0
    for position in rng.integers(0, len(data), 150).tolist():
        copy = tmp_path / "copy.db"
        changed = bytearray(data)
        changed[position] ^= 1 << int(rng.integers(8))
        copy.write_bytes(changed)
        findings = verify_ledger(copy, receipts)
        named += bool(findings)
        if not findings:  # a byte that no record is made of
            with Ledger.open(copy) as ledger:
                assert ledger.entries == entries
                assert ledger.payload(("a", "block-a")) == payload
    assert named > 20


@pytest.mark.parametrize("content", [b"", b"not a database at all, just some text that is long enough", b"\0" * 5000])
def test_other_files_are_no_ledgers(content, tmp_path):
    (tmp_path / "ledger.db").write_bytes(content)
    assert [finding.record for finding in verify_ledger(tmp_path / "ledger.db")] == ["file"]


def test_a_database_of_another_program_is_no_ledger(tmp_path):
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE entries (x)")
    connection.close()
    with pytest.raises(FileError, match="not a ledger"):
        Ledger.open(tmp_path / "other.db")
    assert FILE_KIND != 0


def test_an_export_is_checked_without_the_ledger(written):
    path, receipts = written
    with Ledger.open(path) as ledger:
        text = exported(ledger.entries, ledger.public_key, ledger.configuration)
        secret, payload = ledger.secret, ledger.payload(("a", "block-a"))
    entries, public = read_export(text)
    assert verify_entries(entries, public, receipts) == []
    assert secret.hex() not in text
    assert payload.hex() not in text
    other, _ = read_export(text.replace('\\"rows\\":49', '\\"rows\\":48'))
    assert [finding.record for finding in verify_entries(other, public)] == ["entry 5"]


def test_a_receipt_that_was_changed_is_not_genuine(written):
    _, receipts = written
    receipt = Receipt.from_json(receipts[0].to_json())
    receipt.require_genuine()
    for changed in (
        receipts[0].to_json().replace('\\"rows\\":50', '\\"rows\\":51'),
        receipts[0].to_json().replace(receipt.entry.signature, receipts[1].entry.signature),
        receipts[0].to_json().replace(receipt.entry.hash, receipts[1].entry.hash),
    ):
        with pytest.raises(ProtocolError):
            Receipt.from_json(changed).require_genuine()
