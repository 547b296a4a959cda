"""What a run costs in time, memory and bytes, before it starts: estimates within a factor of two or so.

Seconds are those of one process that holds all tables. The constants were measured where a product of float64 matrices
makes `REFERENCE` multiply-adds a second on one processor; `measured_speed` says how many this machine makes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import lru_cache
from math import comb
from pathlib import Path
from typing import NamedTuple

import numpy as np

REFERENCE = 33e9
START = 0.013
"""Seconds before and after all sums, with few variables."""

PAIR_WORK, TENSOR_WORK = 1.3, 1.6
"""Time of sums over that of bare products of the same arithmetic."""

QUESTION = 8e-4
"""Seconds of a question to a site, beside its sums."""

ENTROPY = 4.6e-9
"""Seconds of one element of an entropy sum."""

SMALLEST_MEMORY = 3e6
MEMORY_FILE = Path("/proc/meminfo")


class Job(NamedTuple):
    """What is to be run: variables, rows over all sites, sites, and the machine it runs on."""

    p: int
    rows: int
    sites: int = 1
    threads: int = 1
    speed: float = REFERENCE


class RunCost(NamedTuple):
    """Seconds, bytes of memory beside the tables, and bytes that each site sends."""

    seconds: float
    memory: float
    sent: float


CostEstimate = Callable[[Job], RunCost]


def of_pairs(order: int) -> CostEstimate:
    """One round of pair sums of some order."""

    def estimate(job: Job) -> RunCost:
        p = job.p
        at_sites = (order * p**2 / REFERENCE * PAIR_WORK + 2e-9 * p) * job.rows
        return _cost(job, at_sites, 1, 1.2e-9 * p**3, _pair_bytes(p, order), 40 * 8 * p**2)

    return estimate


def of_pair_fit(job: Job, largest: int = 40) -> RunCost:
    """Pair sums, and a fit of all of them at once up to so many variables."""
    seconds, memory, sent = of_pairs(4)(job)
    if job.p > largest:
        return RunCost(seconds, memory, sent)
    fit = 27 * job.p**6 / REFERENCE + 0.1
    return RunCost(seconds + fit * REFERENCE / job.speed, memory + 14 * 8 * (1.5 * job.p**2) ** 2, sent)


def of_residuals(job: Job) -> RunCost:
    """A round of pair sums of residuals for each variable but the last."""
    p = job.p
    products = (4 * PAIR_WORK / 3 + 0.5) * p**3 / REFERENCE
    at_sites = (products + 5e-9 * p**2) * job.rows
    sent = sum(_pair_bytes(u, 4) for u in range(2, p + 1))
    return _cost(job, at_sites, p - 1, 4e-8 * p**3 + 8e-4 * p, sent, 60 * 8 * p**2)


def of_entropies(*, lazily: bool) -> CostEstimate:
    """A round of entropy sums of all pairs for each variable, or a few questions with fewer pairs."""

    def estimate(job: Job) -> RunCost:
        p = job.p
        elements, questions = p**3 / 3 * (0.43 if lazily else 1.0), p * (7 if lazily else 1)
        at_sites = (ENTROPY * elements + 5e-9 * p * questions) * job.rows
        sent = 16 * (p**3 / 3)
        return _cost(job, at_sites, questions, 1e-7 * p**3, sent, 200 * p**2)

    return estimate


def of_tensor(*, refined: bool) -> CostEstimate:
    """One round of tensor sums, and exact deflation; with or without refinement."""

    def estimate(job: Job) -> RunCost:
        p = job.p
        size = 8.0 * comb(p + 4, 4)
        at_sites = TENSOR_WORK * size / 8 / REFERENCE * job.rows
        coordinator = (3.5e-8 if refined else 1.2e-8) * p**4 + 1e-3 * p
        return _cost(job, at_sites, 1, coordinator, size, size * (1.7 * job.threads + 3.2))

    return estimate


def of_climb(job: Job) -> RunCost:
    """The round of the tensor, a few passes of entropies of all residuals that single moves meet, and one of tests."""
    p, passes = job.p, 3
    seconds, memory, sent = of_tensor(refined=True)(job)
    at_sites = (ENTROPY + 2 * p / REFERENCE) * 2 * p**2 * job.rows / job.threads
    tests = (3e-7 * p + 8 * p**2 / REFERENCE) * job.rows / job.threads
    more = (passes * (at_sites + 2e-5 * p**2) + tests + 1e-3 * p) * REFERENCE / job.speed
    return RunCost(seconds + more, memory, sent + passes * 16 * 2 * p**2)


def of_directions(whitenings: int) -> CostEstimate:
    """Rounds of whitening, and one of the tensor of directions."""

    def estimate(job: Job) -> RunCost:
        p, pairs = job.p, job.p * (job.p + 1) // 2
        seconds, memory, sent = of_tensor(refined=True)(job)
        whitening = whitenings * (2 * p**2 / REFERENCE + 1e-8 * p) * job.rows / job.threads
        more = (whitening + 6e-8 * p**4) * REFERENCE / job.speed
        return RunCost(seconds + more, memory + 7 * 8 * pairs**2, sent + whitenings * _pair_bytes(p, 2))

    return estimate


def _cost(job: Job, at_sites: float, rounds: int, coordinator: float, sent: float, memory: float) -> RunCost:
    """A cost from seconds at all sites on one processor, and of the coordinator."""
    shared = at_sites / min(job.threads, max(job.rows // 2048, 1))
    seconds = START + 2.5e-4 * job.p + shared + rounds * job.sites * QUESTION + coordinator
    rows = 2 * 8 * min(job.rows, 8192 * job.threads) * job.p
    return RunCost(seconds * REFERENCE / job.speed, SMALLEST_MEMORY + rows + memory, sent)


def _pair_bytes(p: int, order: int) -> float:
    """Bytes of pair sums of complete rows."""
    return 8.0 * (1 + order * p + {1: 0, 2: 1, 3: 3, 4: 6}[order] * p * (p - 1) / 2)


@lru_cache(maxsize=1)
def measured_speed() -> float:
    """Multiply-adds a second of a product of float64 matrices on one processor, here and now."""
    from threadpoolctl import threadpool_limits

    size, best = 400, float("inf")
    a = np.random.default_rng(0).standard_normal((size, size))
    with threadpool_limits(1, user_api="blas"):
        for _ in range(10):
            start = time.perf_counter()
            a @ a
            best = min(best, time.perf_counter() - start)
    return size**3 / best


def available_memory() -> float:
    """Bytes that a process may still take, as far as the system tells; infinite where it does not."""
    known = [float("inf")]
    try:
        lines = MEMORY_FILE.read_text(encoding="ascii").splitlines()
        known += [1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        pass
    if os.name == "posix":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        known += [float(limit)] if limit != resource.RLIM_INFINITY else []
    return min(known)
