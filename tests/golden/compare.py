"""List golden runs that came out differently: `python -m tests.golden.compare BEFORE.json AFTER.json`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden.record import read


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The fields of a run that are not the same in two records."""
    return [field for field in {**before, **after} if before.get(field) != after.get(field)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    chosen = parser.parse_args()
    first, second = (read(path) for path in (chosen.before, chosen.after))
    if first["machine"] != second["machine"]:
        print(f"recorded on different machines: {first['machine']} and {second['machine']}")
    before, after = ({run["name"]: run for run in one["runs"]} for one in (first, second))
    same, changed, fields = Counter(), Counter(), Counter()
    for name in before.keys() & after.keys():
        way = before[name]["transport"]
        (changed if differing(before[name], after[name]) else same)[way] += 1
    for name in before:
        if name in after and (found := differing(before[name], after[name])):
            fields.update(found)
            frame = "" if before[name]["frame"] == "declared" else f" ({before[name]['frame']} frame)"
            print(f"{name}{frame}: {', '.join(found)}")
            for field in ("refused", "message", "rows", "rounds", "bytes"):
                if field in found:
                    print(f"    {field}: {before[name].get(field)!r} -> {after[name].get(field)!r}")
    for one, other, where in ((before, after, "before"), (after, before, "after")):
        for name in one.keys() - other.keys():
            print(f"only {where}: {name}")
    for way in dict.fromkeys(run["transport"] for run in first["runs"]):
        print(f"{way}: {same[way]} identical, {changed[way]} differ")
    print(f"{same.total()} identical, {changed.total()} differ {dict(fields) or ''}")
    sys.exit(bool(changed.total()))


if __name__ == "__main__":
    main()
