"""Run benchmarks by name, all of them by default, and print one table."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = ("startup", "pairs", "tensors", "erasure", "sites", "page", "lingam")


def main(names: list[str]) -> None:
    unknown = set(names) - set(NAMES)
    if unknown:
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    for name in names or NAMES:
        for row in import_module(f"benchmarks.{name}").run():
            print(f"{name:8} {row.what:52} {row.figure:>16}  {row.limit}", flush=True)


main(sys.argv[1:])
