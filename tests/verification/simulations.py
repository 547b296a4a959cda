"""Whole federations in one process, each drawn from a seed; and bugs that are planted in the code."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from experiments.harness.parallel import as_done
from simulation.planted import listed
from simulation.play import lives
from simulation.search import search

from fedrcd.protocol.site import available_threads
from tests.verification.claims import Claim, claims, counted

LIVES, PIECE = 10_000, 10
MOST = 2000
"""Seeds within which a planted bug must be found."""

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
    """Each of the planted bugs, in processes of its own."""
    del seed
    names = [bug.name for bug in listed()]
    searched = search(names, MOST, available_threads())
    found = {one.name: one.after for one, _ in zip(searched, counted(names, "planted bugs"), strict=True)}
    missed = [name for name in names if not found[name]]
    yield Claim(
        f"every bug of simulation/planted.toml is found within {MOST} lives",
        len(names),
        "after so many lives: " + ", ".join(f"{name} {found[name] or 'NOT FOUND'}" for name in names),
        not missed,
    )
