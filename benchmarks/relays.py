"""Whole runs over the services of sites in one process, under masks or replayed, against the same in the clear."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.measure import BenchmarkRow
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame, write_federation
from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import RetryPolicy
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.federation.site.service import SiteService
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.methods.settings import Settings
from fedrcd.protocol.blas import one_blas_thread
from fedrcd.protocol.site import available_threads
from fedrcd.protocol.wire import Packet

ROWS = 4_000
ONCE = [("fedrcd-ni", p, count) for p in (20, 50) for count in (3, 10, 50)]
SEVERAL = [(method, 20, count) for method in ("fedrcd-x", "fed-direct") for count in (3, 10)]


class Measured(NamedTuple):
    """What a run cost: CPU seconds of a site and of the coordinator, messages and bytes to a site and from it."""

    site: float
    coordinator: float
    messages: float
    to_site: float
    from_site: float
    effects: bytes


def run() -> Iterator[BenchmarkRow]:
    """4,000 rows a site, read from a file for every message; CPU time; bytes as they travel; messages have replies."""
    runs = [*ONCE, *SEVERAL]
    with ProcessPoolExecutor(max(1, available_threads() - 1)) as pool:
        for (method, p, count), (clear, masked) in zip(runs, pool.map(_both, runs), strict=True):
            yield from _rows(f"{method}, p = {p}, {count} sites", clear, masked)


def _rows(what: str, clear: Measured, masked: Measured) -> Iterator[BenchmarkRow]:
    yield BenchmarkRow(f"{what}: a site, clear / masked", _pair(clear.site, masked.site, 1000, "ms"))
    yield BenchmarkRow(f"{what}: coordinator", _pair(clear.coordinator, masked.coordinator, 1000, "ms"))
    limit = "<= +2" if "fedrcd-ni" in what else ""
    yield BenchmarkRow(f"{what}: messages a site", _pair(clear.messages, masked.messages), limit)
    yield BenchmarkRow(f"{what}: to a site", _pair(clear.to_site, masked.to_site, 1e-3, "kB"))
    yield BenchmarkRow(f"{what}: from a site", _pair(clear.from_site, masked.from_site, 1e-3, "kB"))
    same = "yes" if clear.effects == masked.effects else "no"
    yield BenchmarkRow(f"{what}: same bits", same, "yes")


def _pair(clear: float, masked: float, scale: float = 1.0, unit: str = "") -> str:
    return f"{clear * scale:,.0f} / {masked * scale:,.0f} {unit}".strip()


def _both(what: tuple[str, int, int]) -> tuple[Measured, Measured]:
    """The same run in the clear and under masks, by sites of their own."""
    with tempfile.TemporaryDirectory() as folder, one_blas_thread():
        first = _Sites.write(Path(folder) / "first", 3, 3)  # what is imported and built once is not measured
        for masked in (False, True):
            first.measured("fedrcd-ni", masked=masked)
        here = _Sites.write(Path(folder) / "measured", *what[1:])
        return here.measured(what[0], masked=False), here.measured(what[0], masked=True)


@dataclass(slots=True)
class _Counting:
    """Carries packets to services of sites, and counts."""

    services: Mapping[str, SiteService]
    seconds: float = 0.0
    messages: int = 0
    to_site: int = 0
    from_site: int = 0

    def deliver(self, packets: Mapping[str, Packet], seconds: float) -> Iterator[tuple[str, Packet]]:  # noqa: ARG002
        """The reply of every site."""
        for site, packet in packets.items():
            began = time.process_time()
            reply = self.services[site].respond(packet)
            self.seconds += time.process_time() - began
            self.messages += 1
            self.to_site += _bytes(packet)
            self.from_site += _bytes(reply)
            yield site, reply


@dataclass(frozen=True, slots=True)
class _Sites:
    """A federation with keys on the disk."""

    folder: Path
    federation: Federation
    keys: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def write(cls, folder: Path, p: int, count: int) -> _Sites:
        """Rows of one chain of effects at so many sites."""
        from cryptography.hazmat.primitives import serialization as form

        folder.mkdir()
        variables, names = tuple(f"x{k}" for k in range(p)), tuple(f"site-{k}" for k in range(count))
        keys = {name: SiteKey.fresh() for name in names}
        federation = Federation(
            variables,
            tuple(SiteEntry(name, variables, (name,), keys[name].public) for name in names),
            tuple(BlockEntry(name, ROWS) for name in names),
            {name: VariableFrame(0.0, 1.0) for name in variables},
        )
        write_federation(folder / "federation.toml", federation)
        rng = np.random.default_rng(p)
        for name, key in keys.items():
            X = rng.laplace(size=(ROWS, p)) / np.sqrt(2)
            for k in range(1, p):
                X[:, k] = 0.6 * X[:, k - 1] + 0.8 * X[:, k]
            write_table(folder / f"{name}.parquet", Table(X, columns=variables, source=name))
            text = key.private.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
            for how in ("clear", "masked"):
                path = folder / how / name / "key"
                path.parent.mkdir(parents=True)
                path.write_bytes(text)
        return cls(folder, federation)

    def measured(self, method: str, *, masked: bool) -> Measured:
        """What a run costs at sites that have answered nothing before."""
        how, file = "masked" if masked else "clear", str(self.folder / "federation.toml")
        services = {
            site.name: SiteService(
                SiteSettings(
                    name=site.name,
                    federation=file,
                    data=str(self.folder / f"{site.name}.parquet"),
                    state=str(self.folder / how / site.name / "state"),
                    key=str(self.folder / how / site.name / "key"),
                    trust_coordinator=not masked,
                )
            )
            for site in self.federation.sites
        }
        plan = RunPlan(
            run=f"run-{how}",
            federation=file,
            folder=str(self.folder / how / "result"),
            settings=Settings.of(method, arithmetic="exact", masked=masked),
            by_key=False,
            wait=0.0,
            retry_policy=RetryPolicy(give_up_after=0.0),
            trust_coordinator=not masked,
        )
        courier, began, sites = _Counting(services), time.process_time(), len(services)
        found = Conductor(plan, self.federation, say=lambda _: None).run(courier, list(services))
        spent = time.process_time() - began
        return Measured(
            courier.seconds / sites,
            spent - courier.seconds,
            courier.messages / sites,
            courier.to_site / sites,
            courier.from_site / sites,
            found.estimate.B.tobytes(),
        )


def _bytes(packet: Packet) -> int:
    """Of a packet as it travels: its header as text, its arrays as they are."""
    return len(repr(packet.header)) + sum(array.nbytes for array in packet.arrays)
