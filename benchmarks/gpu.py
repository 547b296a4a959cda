"""Orders, tensors and exact sums on one card; orders and sums compared with the processor's.

By hand, on a machine with a card: `PYTHONPATH=src python3 -m benchmarks.gpu FOLDER` from a checkout, with NumPy, SciPy,
threadpoolctl, PyTorch and array-api-compat. It takes under eight minutes, says each figure as it is found, and keeps
them in FOLDER.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import BenchmarkRow
from fedrcd.data.simulate.models import random_model
from fedrcd.errors import ConfigError
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.on_card import on_card
from fedrcd.methods.registry import build
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.statistics.accelerated_sums import (
    entropy_sums_of_pairs,
    exact_pair_sums_on,
    exact_tensor_sums_on,
    pair_sums_on,
    tensor_sums_on,
)
from fedrcd.statistics.accelerator import Accelerator, device_of
from fedrcd.statistics.exact_sums import exact_pair_sums, exact_tensor_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC

SIZES = (5, 8, 12, 16, 20, 25, 30, 40, 60, 100)
SETS = 50
METHODS = ("direct-lingam", "fedrcd-sx", "fedrcd-s")
BUDGET = 420.0
"""Seconds after which nothing long is begun."""


def drawn(p: int, n: int, seed: int) -> Any:
    """A model of p variables with two parents each on average, and n rows of it."""
    rng = np.random.default_rng([seed, p, n])
    model = random_model(p, degree=2, rng=rng)
    return model, model.sample(n, rng)


def case(number: int) -> tuple[int, int, int]:
    """Variables, rows and seed of a data set that orders are compared on."""
    p = SIZES[number % len(SIZES)]
    return p, (1000, 2000, 4000)[number % 3], number


def ready(method: str, X: Any, card: Accelerator | None = None) -> Callable[[], Estimate]:
    """A method about to order one table, without effects, as `discover` with a device would have it."""
    transport = embed([X], tuple(f"x{k}" for k in range(X.shape[1])))
    parts = build(method, weights="none")
    if card is not None:
        sites: Any = transport.sites
        transport = replace(transport, sites=[replace(site, card=card) for site in sites])
        parts = on_card(parts, card, transport.setting, transport.sites)
    return lambda: run(parts.rounds(transport.setting), transport)


def by_processor(number: int) -> dict[str, list[int]]:
    """The orders that the processor finds of a data set."""
    _, X = drawn(*case(number))
    return {method: ready(method, X)().order.tolist() for method in METHODS}


class Bench:
    """The card, and the rows found so far, which are written down one by one."""

    def __init__(self, acc: Accelerator, folder: Path, *, small: bool) -> None:
        self.acc, self.folder, self.small = acc, folder, small
        self.rows, self.started = list[BenchmarkRow](), time.perf_counter()
        folder.mkdir(parents=True, exist_ok=True)

    def say(self, what: str, figure: str, limit: str = "") -> None:
        """Note one figure."""
        self.rows.append(BenchmarkRow(what, figure, limit))
        print(f"{time.perf_counter() - self.started:6.1f} s  {what:64} {figure:>22}  {limit}", flush=True)
        record = ["gpu", (__doc__ or "").split("\n")[0], environment(self.acc), self.rows]
        (self.folder / "gpu.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")

    def time(self, task: Callable[[], Any], repeats: int = 1) -> float:
        """Least seconds of a task, with all it leaves on the card done."""
        best = float("inf")
        for _ in range(repeats):
            self._wait()
            start = time.perf_counter()
            task()
            self._wait()
            best = min(best, time.perf_counter() - start)
        return best

    def _wait(self) -> None:
        self.acc.torch.cuda.synchronize()

    @contextlib.contextmanager
    def part(self, name: str, *, long: bool = False) -> Iterator[None]:
        """A part that may fail without ending the others; a long one must be begun in time."""
        if long and time.perf_counter() - self.started > BUDGET:
            self.say(f"{name}: not measured", "no time left")
            raise _Skipped
        try:
            yield
        except Exception as problem:
            self.say(f"{name}: failed", f"{type(problem).__name__}: {problem}"[:200])


class _Skipped(Exception):
    """No time is left for a part."""


def environment(acc: Accelerator) -> str:
    """Versions and the name of the card."""
    card = acc.torch.cuda.get_device_name()
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, torch {acc.torch.__version__}"
    return f"{versions}; {card}, {os.cpu_count()} processors"


def rates(bench: Bench) -> dict[str, float]:
    """What the card does at most: products of float64, copies on it and from the host."""
    torch, acc = bench.acc.torch, bench.acc
    size = 512 if bench.small else 8192
    a = torch.randn((size, size), dtype=torch.float64, device=acc.device)
    product = 2 * size**3 / bench.time(lambda: a @ a, 5)
    large = torch.empty(2**20 if bench.small else 2**30, dtype=torch.uint8, device=acc.device)
    copy = 2 * large.numel() / bench.time(lambda: large.clone(), 5)
    bench.say("float64 product of 8192 x 8192", f"{product / 1e12:.1f} TFLOP/s")
    bench.say("copy on the card, read and written", f"{copy / 1e12:.2f} TB/s")
    return {"product": product, "copy": copy}


def kernel(bench: Bench) -> None:
    """Elements a second of the kernel of entropies at p = 1000, N = 10000."""
    torch, acc = bench.acc.torch, bench.acc
    n, m = (500, 50) if bench.small else (10_000, 1000)
    z = torch.randn((n, m), dtype=torch.float64, device=acc.device)
    z[:, 1:] += 0.4 * z[:, :-1].clone()
    z = (z - z.mean(0)) / z.std(0, unbiased=False)
    rho, u = z.T @ z / n, z.float()
    found = entropy_sums_of_pairs(acc, u, rho)  # compiled here
    seconds = bench.time(lambda: entropy_sums_of_pairs(acc, u, rho), 5)
    bench.say(
        "kernel of entropies, p = 1000, N = 10000", f"{m * m * n / seconds / 1e12:.2f}e12 elements/s", ">= 0.8e12"
    )
    few = slice(0, 40)
    expected = entropy_sums_of_pairs(Accelerator(acc.xp, "cpu"), z[:, few].cpu(), rho[few, few].cpu())
    off = max(float((one[few, few].cpu() - two).abs().max()) / n for one, two in zip(found, expected, strict=True))
    bench.say("its means, against float64", f"within {off:.1e}")
    from fedrcd.statistics.entropy_kernel import SHAPES, launched

    clean = rho.clone().fill_diagonal_(0.0)
    scale = 1 / torch.sqrt(1 - clean**2)
    for shape in SHAPES:
        with bench.part(f"kernel {tuple(shape)}"):
            launched(torch, u, clean, scale, shape)
            seconds = bench.time(lambda shape=shape: launched(torch, u, clean, scale, shape), 3)
            bench.say(f"kernel with {tuple(shape)}", f"{m * m * n / seconds / 1e12:.2f}e12 elements/s")


def orders(bench: Bench) -> None:
    """Seconds of whole orders."""
    acc = bench.acc
    wanted = (
        ("direct-lingam", 100, 20_000, "<= 0.25 s", 3),
        ("direct-lingam", 1000, 10_000, "<= 6 s", 2),
        ("fedrcd-sx", 1000, 10_000, "<= 1.5 s", 2),
        ("fedrcd-s", 100, 20_000, "<= 2 s", 2),
        ("fedrcd-s", 100, 1_000_000, "", 1),
        ("fedrcd-sx", 2000, 10_000, "measured", 1),
        ("direct-lingam", 2000, 10_000, "measured", 1),
    )
    for name, p, n, limit, repeats in wanted:
        with contextlib.suppress(_Skipped), bench.part(f"{name}, p = {p}, N = {n}", long=p > 1000):
            if bench.small:
                p, n = max(p // 50, 4), 500
            model, X = drawn(p, n, 0)
            ready(name, X[:200, : min(p, 40)], acc)()  # libraries are loaded here
            found, task = list[Estimate](), ready(name, X, acc)
            seconds = bench.time(lambda task=task, found=found: found.append(task()), repeats)
            bench.say(f"{name}, p = {p}, N = {n}", f"{seconds:.3f} s", limit)
            right = ancestral_accuracy(found[-1].order.tolist(), model.B)
            bench.say(f"{name}, p = {p}, N = {n}: ancestors before descendants", f"{right:.4f}")


def tensors(bench: Bench, product: float) -> None:
    """Tensor sums at p = 100, N = 1e6: rows on the card, and from the host."""
    torch, acc = bench.acc.torch, bench.acc
    p, n = (8, 2000) if bench.small else (100, 1_000_000)
    z = torch.randn((n, p), dtype=torch.float64, device=acc.device) ** 3 / 4
    tensor_sums_on(acc, [z[: n // 20]], p)
    seconds = bench.time(lambda: tensor_sums_on(acc, [z], p), 2)
    arithmetic = 2 * n * (p + 1) * (p + 2) * (p + 3) * (p + 4) / 24
    bench.say(f"tensor sums, p = {p}, N = {n}", f"{seconds:.3f} s", "<= 0.6 s")
    bench.say("  of the arithmetic that distinct entries need", f"{arithmetic / seconds / product:.0%} of peak")
    host = z.cpu().pin_memory()
    blocks = list(host.split(2**16))
    bench.say("  with rows from the host", f"{bench.time(lambda: tensor_sums_on(acc, blocks, p)):.3f} s")


def streaming(bench: Bench) -> None:
    """Pair sums at p = 200, N = 1e7 from the host, block after block, against the bare copy of the same blocks."""
    torch, acc = bench.acc.torch, bench.acc
    p, rows, times = (10, 1000, 4) if bench.small else (200, 1_000_000, 10)
    host = torch.randn((rows, p), dtype=torch.float64).pin_memory()
    blocks = list(host.split(2**15)) * times

    def copied() -> None:
        for block in blocks:
            block.to(acc.device, non_blocking=True)

    pair_sums_on(acc, blocks[:4], p)
    copied()
    copy, ours = bench.time(copied, 2), bench.time(lambda: pair_sums_on(acc, blocks, p), 2)
    size = 8 * rows * times * p
    bench.say(f"copy of p = {p}, N = {rows * times} from the host", f"{size / copy / 1e9:.1f} GB/s")
    bench.say("pair sums of the same, as they arrive", f"{ours:.2f} s, {copy / ours:.0%} of the copy", ">= 60 %")


def exact(bench: Bench) -> None:
    """Exact sums against those of the processor, bit for bit."""
    same, tried = 0, 0
    for number in range(20):
        p, n = (3, 6, 10, 16, 24)[number % 5], (500, 5000, 20_000, 9999)[number % 4]
        _, X = drawn(p, n, number)
        frame = Frame(X.mean(axis=0), X.std(axis=0))
        Z = frame.express(X)
        grid = ARITHMETIC["compact" if number % 2 else "exact"]
        assert grid is not None
        halves = [Z[: n // 3], Z[n // 3 :]]
        for card, processor in (
            (exact_pair_sums_on(bench.acc, halves, p, grid), exact_pair_sums([Z.copy()], p, 4, grid)),
            (exact_tensor_sums_on(bench.acc, halves, p, grid), exact_tensor_sums([Z.copy()], p, grid)),
        ):
            tried += 1
            same += card == processor
    bench.say("exact pair and tensor sums, the same to the bit", f"{same} of {tried}", "all")


def compared(bench: Bench, reference: list[dict[str, list[int]]]) -> None:
    """Orders of data sets up to p = 100 against those of the processor, with the margins of where they differ."""
    details = []
    for method in METHODS:
        same = 0
        for number, found in enumerate(reference):
            model, X = drawn(*case(number))
            estimate = ready(method, X, bench.acc)()
            ours = estimate.order.tolist()
            if ours == found[method]:
                same += 1
                continue
            step = next(k for k, (a, b) in enumerate(zip(ours, found[method], strict=True)) if a != b)
            margin = estimate.steps[step].margin if step < len(estimate.steps) else float("nan")
            both = [ancestral_accuracy(one, model.B) for one in (ours, found[method])]
            details.append({"method": method, "case": case(number), "step": step, "margin": margin, "right": both})
        margins = [one["margin"] for one in details if one["method"] == method]
        others = f", the others at margins up to {max(margins):.0e}" if margins else ""
        bench.say(f"{method}: orders equal to the processor's", f"{same} of {len(reference)}{others}", "all but ties")
    (bench.folder / "differing.json").write_text(json.dumps(details, indent=1), encoding="utf-8")
    for one in details[:10]:
        print("  differs:", one, flush=True)


def refusals(bench: Bench) -> None:
    """What is said where it cannot run."""
    with contextlib.suppress(ConfigError):
        bench.acc.takes(1e15, "a tensor of many variables")
        bench.say("too little memory is said before", "no")
        return
    bench.say("too little memory is said before", "yes", "yes")


def main(folder: str, *options: str) -> None:
    """Measure everything; `--small` tries the program itself, with little data."""
    small = "--small" in options
    started, numbers = time.perf_counter(), range(4 if small else SETS)
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    workers = min(max((os.cpu_count() or 2) - 1, 1), 2 if small else 15)
    reference, problem = [], ""
    try:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            reference = list(pool.map(by_processor, numbers))
    except Exception as failed:
        problem = f"{type(failed).__name__}: {failed}"
    card = device_of("cuda").card
    assert card is not None
    bench = Bench(card, Path(folder), small=small)
    bench.say("orders by the processor", f"{time.perf_counter() - started:.0f} s", problem)
    with bench.part("rates"):
        product = rates(bench)["product"]
    for name, part in (("kernel", kernel), ("streaming", streaming)):
        with bench.part(name):
            part(bench)
    with bench.part("tensors"):
        tensors(bench, product)
    with bench.part("exact sums"):
        exact(bench)
    with bench.part("refusals"):
        refusals(bench)
    if reference:
        with bench.part("orders compared"):
            compared(bench, reference)
    orders(bench)


if __name__ == "__main__":
    main(*sys.argv[1:])
