"""Write docs/speed.md from what benchmarks measured: `python -m benchmarks.document RECORD`, by `make bench`."""

from __future__ import annotations

import sys
from pathlib import Path

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


def main(source: str) -> None:
    TARGET.write_text(page(read(Path(source))), encoding="utf-8")
    print(f"wrote docs/{TARGET.name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
