"""Write docs/speed.md from what benchmarks measured: `python -m benchmarks.document RECORD`, by `make bench`.

Sections of benchmarks that were not measured stay as they are.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from benchmarks.measure import BenchmarkRow
from benchmarks.record import BenchmarkRecord, read

TARGET = Path(__file__).parents[1] / "docs" / "speed.md"
HEAD = """# Speed

Written by `make bench`; do not edit. Ratios are taken within one run, because machines are noisy; seconds are those
of the machine it ran on. A figure without a limit is there to be read.
"""


def page(records: list[BenchmarkRecord]) -> str:
    """The page: a section with a table for each benchmark, then where they ran."""
    parts = [HEAD]
    for record in records:
        lines = [f"| {row.what} | {row.figure} | {row.limit} |" for row in record.rows]
        parts += [f"## {record.name}\n", f"{record.about}\n", "| what | figure | limit |\n|---|---|---|", *lines, ""]
    parts += ["## Where it ran\n"]
    for where in dict.fromkeys(record.environment for record in records):
        names = ", ".join(record.name for record in records if record.environment == where)
        parts.append(f"- {names}: {where}")
    return "\n".join(parts) + "\n"


SECTION = re.compile(r"^## (.+)\n\n(.+)\n\n\| what .*\n\|---.*\n((?:\|.*\n)*)", re.MULTILINE)


def records_of(text: str) -> list[BenchmarkRecord]:
    """What a page was written from."""
    ran = re.findall(r"^- ([^:]+): (.+)$", text.partition("## Where it ran")[2], re.MULTILINE)
    where = {name: place for names, place in ran for name in names.split(", ")}
    return [
        BenchmarkRecord(name, about, where.get(name, ""), [_row(line) for line in lines.splitlines()])
        for name, about, lines in SECTION.findall(text)
    ]


def renewed(before: list[BenchmarkRecord], measured: list[BenchmarkRecord]) -> list[BenchmarkRecord]:
    """Records of before, with those that were measured in their places or at the end."""
    return list(({one.name: one for one in before} | {one.name: one for one in measured}).values())


def _row(line: str) -> BenchmarkRow:
    return BenchmarkRow(*(part.strip() for part in line.strip().strip("|").split("|")))


def main(source: str) -> None:
    before = records_of(TARGET.read_text(encoding="utf-8"))
    TARGET.write_text(page(renewed(before, read(Path(source)))), encoding="utf-8")
    print(f"wrote docs/{TARGET.name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
