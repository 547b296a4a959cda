"""A site's record of what left."""

import json
import multiprocessing

import pytest

from fedrcd.errors import FileError
from fedrcd.federation.site.log import Entry, SiteLog


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
    return Entry(**{**defaults, **fields})


def filled(path, count=4):
    log = SiteLog(path)
    for number in range(count):
        with log.locked():
            log.append(entry(round=number, numbers=10 * number, sources=(1, 2) if number else None))
    return log


def test_a_log_that_is_not_there_is_empty(tmp_path):
    assert SiteLog(tmp_path / "log.jsonl").entries() == []


def test_entries_come_back_in_order(tmp_path):
    entries = filled(tmp_path / "log.jsonl").entries()
    assert [one.round for one in entries] == [0, 1, 2, 3]
    assert [one.sources for one in entries] == [None, (1, 2), (1, 2), (1, 2)]
    assert entries[3].numbers == 30


def test_long_lines_are_followed_too(tmp_path):
    log = SiteLog(tmp_path / "log.jsonl")
    for number in range(5):
        with log.locked():
            log.append(entry(round=number, detail="x" * 3000 * number))
    assert len(log.entries()) == 5


def changed(lines):
    first = json.loads(lines[1])
    first["numbers"] = 1
    return [lines[0], json.dumps(first, separators=(",", ":")), *lines[2:]]


@pytest.mark.parametrize(
    "tamper",
    [changed, lambda lines: [lines[0], *lines[2:]], lambda lines: lines[::-1], lambda lines: lines[1:]],
    ids=["changed", "taken out", "reordered", "beginning cut"],
)
def test_tampering_shows(tmp_path, tamper):
    log = filled(tmp_path / "log.jsonl")
    lines = log.path.read_text().splitlines()
    log.path.write_text("\n".join(tamper(lines)) + "\n")
    with pytest.raises(FileError, match="changed or taken out"):
        log.entries()


def test_something_else_is_no_log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("hello\n")
    with pytest.raises(FileError, match="line 1: not a line"):
        SiteLog(path).entries()


def append_many(path):
    filled(path, 20)


def test_processes_that_append_together_leave_a_whole_chain(tmp_path):
    path = tmp_path / "log.jsonl"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=append_many, args=(path,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len(SiteLog(path).entries()) == 60


def test_a_log_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(FileError, match="cannot write"):
        SiteLog(tmp_path / "log.jsonl").append(entry())
