"""Run benchmarks by name, all of them by default, and print one table; `--record` keeps it for docs/speed.md.

`python -m benchmarks rows --rows 1e6 1e7 1e8` makes folders of up to 17 GB under TMPDIR, and removes them.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.record import BenchmarkRecord, environment, keep

NAMES = (
    "startup",
    "pairs",
    "tensors",
    "erasure",
    "editions",
    "sites",
    "rows",
    "masks",
    "relays",
    "dominance",
    "liar",
    "robust",
    "page",
    "loopback",
    "layers",
    "costs",
    "console",
    "variables",
    "lingam",
    "over_time",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--record", type=Path, help="add what was measured to this file")
    parser.add_argument("--rows", type=float, nargs="+", help="numbers of rows, for rows and editions")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time, for the same and over_time")
    arguments = parser.parse_args()
    sizes: dict[str, Any] = {"sizes": list(map(int, arguments.rows))} if arguments.rows else {}
    given = {name: {"jobs": arguments.jobs, **sizes} for name in ("rows", "editions")}
    given["over_time"] = {"jobs": arguments.jobs}
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    for name in arguments.names or NAMES:
        module, rows = import_module(f"benchmarks.{name}"), []
        for row in module.run(**given.get(name, {})):
            print(f"{name:8} {row.what:52} {row.figure:>16}  {row.limit}", flush=True)
            rows.append(row)
        if arguments.record:
            keep(arguments.record, BenchmarkRecord(name, f"{module.__doc__} {module.run.__doc__}", environment(), rows))


if __name__ == "__main__":
    main()
