"""What `make bench` writes."""

import re
from pathlib import Path

from benchmarks.__main__ import NAMES
from benchmarks.document import HEAD, page, records_of, renewed
from benchmarks.measure import BenchmarkRow
from benchmarks.record import BenchmarkRecord, environment, keep, read

ROOT = Path(__file__).parents[2]
FIRST = BenchmarkRecord(
    "startup",
    "Waiting.",
    "Python 1; 2 processors",
    [BenchmarkRow("import", "0.1 s", "< 0.5 s"), BenchmarkRow("help", "1 s")],
)
SECOND = BenchmarkRecord(
    "lingam", "Orders.", "Python 2, lingam 3; 2 processors", [BenchmarkRow("a / b", "12.0", ">= 10")]
)


def test_runs_in_two_environments_add_to_one_record(tmp_path):
    path = tmp_path / "build" / "speed.jsonl"
    keep(path, FIRST)
    keep(path, SECOND)
    assert read(path) == [FIRST, SECOND]


def test_the_page_has_every_figure_with_its_limit_and_where_it_was_measured():
    text = page([FIRST, SECOND])
    assert text.startswith(HEAD)
    for line in (
        "| import | 0.1 s | < 0.5 s |",
        "| help | 1 s |  |",
        "| a / b | 12.0 | >= 10 |",
        "- startup: Python 1; 2 processors",
        "- lingam: Python 2, lingam 3; 2 processors",
    ):
        assert line in text.splitlines()


def test_what_was_not_measured_anew_stays():
    assert records_of(page([FIRST, SECOND])) == [FIRST, SECOND]
    again = SECOND._replace(rows=[BenchmarkRow("a / b", "13.0", ">= 10")])
    assert renewed(records_of(page([SECOND, FIRST])), [again]) == [again, FIRST]


def test_where_it_ran_is_versions_and_processors():
    assert re.fullmatch(r"Python [\d.]+, fedrcd \S+, numpy \S+(, [\w-]+ \S+)*; \d+ processors?", environment())


def test_make_bench_runs_every_benchmark():
    recipe = re.search(r"^bench:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]
    runs = re.findall(r"-m benchmarks --record \S+ (.*)", recipe)
    assert sorted(" ".join(runs).split()) == sorted(NAMES)


def test_the_page_is_written_by_the_command_alone():
    assert (ROOT / "docs" / "speed.md").read_text(encoding="utf-8").startswith(HEAD)
