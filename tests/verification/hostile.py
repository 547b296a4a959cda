"""What arrives may be anything: mutated messages through the path by which records are read."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from itertools import pairwise

from fedrcd.protocol.site import available_threads
from tests.verification.claims import WITH_FLOWER, Claim, claims

COUNT = 1_000_000
MEGABYTES = 300
"""By which reading may make a process grow."""


@claims(seed=74)
def mutated_messages(seed: int) -> Iterator[Claim]:
    """A million of them."""
    workers = available_threads()
    bounds = [COUNT * k // workers for k in range(workers + 1)]
    started = [
        subprocess.Popen(
            [WITH_FLOWER, "-m", "tests.federation.flower.mutations", str(seed), str(first), str(end)],
            stdout=subprocess.PIPE,
        )
        for first, end in pairwise(bounds)
    ]
    parts = [json.loads(one.communicate()[0]) for one in started]
    uncaught, accepted = (sum(part[name] for part in parts) for name in ("uncaught", "accepted"))
    grown = max(part["grown"] for part in parts)
    yield Claim(
        "a mutated reply, roll call or question is understood or refused as it should be, and a refusal is one short "
        f"line; reading them makes no process grow by {MEGABYTES} MB",
        COUNT,
        f"{uncaught} uncaught, {accepted} understood, grown by {grown} MB at most",
        not uncaught and grown < MEGABYTES,
    )
