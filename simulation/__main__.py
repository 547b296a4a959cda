"""Play many lives, one in words, or lives with planted bugs: `python -m simulation --help`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from simulation.planted import listed, plant

PIECE = 10
"""Lives that a worker plays at a time."""

HOUR = 3600.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Play; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many lives")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    parser.add_argument("--seconds", type=float, default=0.0, help="begin no further lives after so many seconds")
    parser.add_argument("--jobs", type=int, default=0, help="processes; by default one a core")
    parser.add_argument("--seed", type=int, help="play one, and tell its story")
    parser.add_argument("--traces", action="store_true", help="print the digest of every trace")
    parser.add_argument("--shorten", action="store_true", help="print lives that fail, shortened, as tests keep them")
    parser.add_argument("--planted", nargs="*", metavar="NAME", help="find planted bugs; all by default")
    parser.add_argument("--plant", metavar="NAME", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.planted is not None:
        return _find(asked)
    if asked.plant:
        plant(asked.plant)
    if asked.seed is not None:
        return _tell(asked.seed)
    return _until_found(asked.first, asked.seeds) if asked.plant else _many(asked)


def _tell(seed: int) -> int:
    """The story of one life in words."""
    from simulation.events import life_of
    from simulation.play import play

    played = play(life_of(seed))
    life = played.life
    print(f"seed {seed}: a {life.kind} federation of {', '.join(life.sites)}; {len(life.events)} events")
    print("\n".join(played.story))
    for problem in played.problems:
        print(f"WRONG: {problem}")
    print(f"trace {played.trace}")
    return bool(played.problems)


def _pieces(first: int, count: int) -> list[tuple[int, int]]:
    return [(begin, min(PIECE, first + count - begin)) for begin in range(first, first + count, PIECE)]


def _many(asked: Any) -> int:
    """Many lives on all cores, counted."""
    from experiments.harness.parallel import as_done

    from simulation.play import lives

    began = time.monotonic()
    coverage: Counter[str] = Counter()
    checks: Counter[str] = Counter()
    wrong: dict[int, list[str]] = {}
    traces: dict[int, str] = {}
    seconds = 0.0
    with closing(as_done(lives, _pieces(asked.first, asked.seeds), asked.jobs or None)) as done:
        for _, some in done:
            for seed, problems, trace, happened, checked, lived in some:
                coverage.update(happened)
                checks.update(checked)
                traces[seed] = trace
                seconds += lived
                if problems:
                    wrong[seed] = problems
            if asked.seconds and time.monotonic() - began > asked.seconds:
                break
    for seed in sorted(traces) if asked.traces else ():
        print(seed, traces[seed])
    took = time.monotonic() - began
    for name, counted in (("happened", coverage), ("checked", checks)):
        print(f"{name}: " + ", ".join(f"{what} {number}" for what, number in sorted(counted.items())))
    for seed, problems in sorted(wrong.items()):
        print(f"seed {seed}: {'; '.join(problems)}")
        if asked.shorten:
            print(_shortened(seed))
    print(
        f"{len(traces)} lives, {len(wrong)} with problems, {seconds / HOUR:,.0f} hours of theirs in {took:.0f} s: "
        f"{len(traces) / took:.1f} a second"
    )
    return bool(wrong)


def _shortened(seed: int) -> str:
    from simulation.events import life_of
    from simulation.play import play
    from simulation.shorten import shortened

    kind = play(life_of(seed)).problems[0].split(":")[0]
    return shortened(life_of(seed), lambda life: any(one.startswith(kind) for one in play(life).problems)).text()


def _until_found(first: int, count: int) -> int:
    """Lives one after the other until something is wrong, for a bug that was planted."""
    from simulation.play import lives

    for seed in range(first, first + count):
        [(_, problems, *_)] = lives((seed, 1))
        if problems:
            print(json.dumps({"seeds": seed - first + 1, "problem": problems[0]}))
            return 1
    print(json.dumps({"seeds": count, "problem": ""}))
    return 0


def _find(asked: Any) -> int:
    """Look for planted bugs."""
    from fedrcd.protocol.site import available_threads
    from simulation.search import search

    bugs = {bug.name: bug for bug in listed() if not asked.planted or bug.name in asked.planted}
    jobs = asked.jobs or available_threads()
    missed = []
    for one in search(list(bugs), asked.seeds, jobs, asked.first, asked.seconds):
        how = f"after {one.after} lives: {one.problem}" if one.after else f"NOT FOUND in {one.played} lives"
        print(f"{one.name} ({bugs[one.name].what}): {how}", flush=True)
        missed += [one.name] if not one.after else []
    print(f"{len(bugs) - len(missed)} of {len(bugs)} planted bugs found" + "".join(f"; not {name}" for name in missed))
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
