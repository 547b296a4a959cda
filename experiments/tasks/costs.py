"""Rounds, bytes and processor time of a method, at the sites and at the coordinator."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from experiments.harness.cells import Row
from fedrcd.data.simulate.models import random_model
from fedrcd.methods.registry import build
from fedrcd.methods.weights import Weights
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.site import LocalSite, Site
from fedrcd.protocol.transport import InProcess
from fedrcd.statistics.coverage import Layout
from fedrcd.typing import IntVector, Matrix

DEGREE = 2.0
"""Graphs do not get denser with p, so that times do not depend on scores that overflow."""


@dataclass(slots=True)
class TimedSite:
    """A site that counts the processor time of its answers."""

    inner: Site
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.inner.name

    def answer(self, question: Question[S], layout: Layout | None = None) -> S | None:
        """What the site answers."""
        start = time.process_time()
        answer = self.inner.answer(question, layout)
        self.seconds += time.process_time() - start
        return answer


@dataclass(frozen=True, slots=True)
class OrderOnly:
    """In place of the weights, which are the same for all methods and not in the paper's table."""

    shape: tuple[int, int] = field(default=(0, 0))

    def along(
        self,
        order: IntVector,  # noqa: ARG002
        cov: Matrix,
        rows: int,  # noqa: ARG002
        constraints: None,  # noqa: ARG002
        *,
        doubted: bool,  # noqa: ARG002
    ) -> Matrix:
        """No effects."""
        return np.zeros_like(cov)


def cost(*, method: str, p: int, rows: int, sites: int, seed: int, repetitions: int) -> list[Row]:
    """Least processor time over repetitions, of one site and of the coordinator; rounds and bytes."""
    rng = np.random.default_rng([seed, p, rows * sites])
    model = random_model(p, noise="laplace", degree=DEGREE, rng=rng)
    # Unit variances: powers of variables far down a long graph would leave the range of numbers.
    X = model.sample(rows * sites, rng)
    embedded = embed(np.split(X / X.std(axis=0), sites), model.names)
    parts = replace(build(method), weights=cast("Weights", OrderOnly()))
    at_site, at_coordinator = [], []
    transport: Any = None
    for _ in range(repetitions):
        timed = [TimedSite(replace(cast("LocalSite", site), threads=1)) for site in embedded.sites]
        transport = InProcess(timed, embedded.setting)
        start = time.process_time()
        run(parts.rounds(transport.setting), transport)
        total = time.process_time() - start
        at_site.append(sum(site.seconds for site in timed) / sites)
        at_coordinator.append(total - sum(site.seconds for site in timed))
    rounds, sent = transport.traffic.rounds, transport.traffic.bytes_sent / sites
    return [
        {
            "rounds": rounds,
            "bytes_per_site": sent,
            "bytes_per_round": sent / rounds,
            "site_seconds": min(at_site),
            "coordinator_seconds": min(at_coordinator),
        }
    ]
