"""Noise: an auditor who knows the table, and rows that try to exceed the bound."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fedrcd.statistics.privacy_loss import composed, delta_of, epsilon_of
from tests.federation.noise.crashes import crashes, problems_after
from tests.statistics.test_noise import changes
from tests.statistics.test_noise_audit import audit
from tests.verification.claims import Claim, claims, counted

TRIES, ROWS, RELEASES = 100, 5000, 50

ACCOUNTING = Path(__file__).parents[2] / ".venv-accounting" / "bin" / "python"
"""Of the environment that has dp-accounting, and nothing of ours."""

CLOSE = 1e-4
"""How far two ways to add up losses may differ, relatively: the other one works on a grid."""


@claims(seed=0)
def right_noise_passes(seed: int) -> Iterator[Claim]:
    """Fresh noise every time."""
    rejected = sum(bool(audit()) for _ in counted(range(TRIES), "audits"))
    yield Claim(
        "an auditor who knows the table finds nothing wrong with noise of the right size",
        TRIES,
        f"{rejected} rejected",
        rejected == 0,
    )


@claims(seed=18)
def rows_keep_to_the_bound(seed: int) -> Iterator[Claim]:
    """Rows near and far, under whitenings of any stretch."""
    largest = max(one for k in counted(range(ROWS), "rows") for one in changes([seed, k]))
    yield Claim(
        "no row changes a released degree by more than noise is calibrated for",
        ROWS,
        f"{largest:.4f} of the bound at most",
        largest <= 1,
    )


@claims(seed=21)
def losses_compose_as_others_compose_them(seed: int) -> Iterator[Claim]:
    """Releases of several losses each, as a site that answers several runs has them, against dp-accounting."""
    rng, releases = np.random.default_rng(seed), []
    for _ in range(RELEASES):
        losses = np.exp(rng.uniform(math.log(0.02), math.log(0.5), rng.integers(1, 9))).tolist()
        releases.append((losses, 10.0 ** -int(rng.integers(4, 9)), float(rng.uniform(0.1, 3))))
    command = [str(ACCOUNTING), str(Path(__file__).with_name("composed_losses.py"))]
    done = subprocess.run(command, input=json.dumps(releases), capture_output=True, text=True, check=True)
    worst = 0.0
    for (losses, delta, epsilon), (their_epsilon, their_delta) in zip(releases, json.loads(done.stdout), strict=True):
        loss = composed(losses)
        worst = max(worst, abs(epsilon_of(loss, delta) - their_epsilon) / max(their_epsilon, CLOSE))
        if their_delta > 1e-10:  # below, their grid ends
            worst = max(worst, abs(delta_of(loss, epsilon) - their_delta) / their_delta)
    yield Claim(
        "epsilon and delta of mixed releases are those of dp-accounting",
        RELEASES,
        f"largest relative difference {worst:.0e}",
        worst < CLOSE,
    )


@claims(seed=22)
def a_site_never_forgets_what_it_spent(seed: int) -> Iterator[Claim]:
    """Killed at every write, in the middle of every write, and with a full disk from every write on."""
    with TemporaryDirectory() as folder:
        whole, *reports = crashes(Path(folder), ["kill", "tear", "full"], lambda writes: range(1, writes + 1))
        problems = [one for report in counted([whole, *reports], "faults") for one in problems_after(report)]
    yield Claim(
        "a site that is killed, or whose disk is full, never forgets what it spent, and never draws noise twice",
        len(reports),
        f"{len(problems)} problems",
        not problems,
    )
