"""Whole federations in one process, each drawn from a seed; and bugs that are planted in the code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.harness.parallel import as_done
from simulation.planted import listed
from simulation.play import lives

from tests.verification.claims import Claim, claims, counted

LIVES, PIECE = 10_000, 10
MOST = 2000
"""Seeds within which a planted bug must be found."""

ROOT = Path(__file__).parents[2]
FAULTS = ("kill", "tear", "full", "power")


@claims(seed=26)
def federations_live(seed: int) -> Iterator[Claim]:
    """Lives from seed 0 on, judged after every event."""
    del seed  # a life has its own
    began, wrong, hours, played = time.monotonic(), [], 0.0, 0
    coverage: Counter[str] = Counter()
    pieces = [(first, PIECE) for first in range(0, LIVES, PIECE)]
    for (_, some), _ in zip(as_done(lives, pieces), counted(pieces, "lives, in tens"), strict=True):
        for one in some:
            played += 1
            coverage.update(one.coverage)
            hours += one.seconds / 3600
            wrong += [f"seed {one.seed}: {problem}" for problem in one.problems]
    faults = sum(number for what, number in coverage.items() if what.startswith(FAULTS))
    rate = played / (time.monotonic() - began)
    yield Claim(
        "lives of two to four sites, a coordinator and a ledger in one process, under faults of disks, clocks and "
        "network, older stores and ledgers, and lies: results are those of the rows behind them, what was "
        "acknowledged is kept, erased persons are in nothing, no budget is exceeded, no mask is used twice, no rule "
        "is bypassed, and runs end",
        played,
        f"{len(wrong)} problems; {hours:,.0f} hours of theirs, {rate:.1f} lives a second, {faults} faults of disks, "
        f"{len(coverage)} kinds of happenings" + "".join(f"; {one}" for one in wrong[:10]),
        not wrong,
    )


@claims(seed=27)
def planted_bugs_are_found(seed: int) -> Iterator[Claim]:
    """Each of the planted bugs, in a process of its own."""
    del seed
    bugs = listed()
    found: dict[str, Any] = {}
    for (number, said), _ in zip(
        as_done(_found, [bug.name for bug in bugs]), counted(bugs, "planted bugs"), strict=True
    ):
        found[bugs[number].name] = said
    missed = [name for name, said in found.items() if not said]
    yield Claim(
        f"every bug of simulation/planted.toml is found within {MOST} lives",
        len(bugs),
        ", ".join(f"{name} {found[name] or 'not found'}" for name in found),
        not missed,
    )


def _found(name: str) -> int:
    """After how many lives a planted bug is found; 0 if it is not."""
    command = [sys.executable, "-m", "simulation", "--plant", name, "--seeds", str(MOST)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ, check=False)
    said = json.loads(done.stdout.splitlines()[-1])
    return int(said["seeds"]) if said["problem"] else 0
