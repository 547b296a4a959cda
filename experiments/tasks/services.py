"""Whole runs over the services of sites with keys, all in this process: the messages of machines without a network."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame, write_federation
from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import RetryPolicy
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.masking.statements import forget_verified
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.federation.site.service import SiteService
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.methods.settings import Settings
from fedrcd.protocol.wire import Packet
from fedrcd.runs.finding import Finding


@dataclass(slots=True)
class CountingCourier:
    """Carries packets to services, and counts messages, bytes and the seconds of the processor that services take."""

    services: Mapping[str, SiteService]
    seconds: float = 0.0
    messages: int = 0
    to_sites: int = 0
    from_sites: int = 0

    def deliver(self, packets: Mapping[str, Packet], seconds: float) -> Iterator[tuple[str, Packet]]:  # noqa: ARG002
        """The reply of every site."""
        for site, packet in packets.items():
            forget_verified()  # a site on a machine of its own has verified nothing yet
            began = time.process_time()
            reply = self.services[site].respond(packet)
            self.seconds += time.process_time() - began
            self.messages += 1
            self.to_sites += _bytes(packet)
            self.from_sites += _bytes(reply)
            yield site, reply


def _bytes(packet: Packet) -> int:
    """Of a packet as it travels: its header as text, its arrays as they are."""
    return len(repr(packet.header)) + sum(array.nbytes for array in packet.arrays)


class Conducted(NamedTuple):
    """What a run found, what it took to carry it, and the seconds of the processor that the coordinator took."""

    finding: Finding
    courier: CountingCourier
    coordinator: float


@dataclass(frozen=True, slots=True)
class Services:
    """A federation with a key of every site, in a folder."""

    folder: Path
    federation: Federation

    @classmethod
    def write(cls, folder: Path, tables: Sequence[Table], frame: Mapping[str, VariableFrame]) -> Services:
        """A site for every table."""
        from cryptography.hazmat.primitives import serialization as form

        (folder / "keys").mkdir(parents=True)
        variables, keys = tables[0].columns, {f"site-{k}": SiteKey.fresh() for k in range(len(tables))}
        for (name, key), table in zip(keys.items(), tables, strict=True):
            write_table(folder / f"{name}.parquet", Table(table.values, columns=variables, source=name))
            text = key.private.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
            (folder / "keys" / name).write_bytes(text)
        federation = Federation(
            variables,
            tuple(SiteEntry(name, variables, (name,), key.public) for name, key in keys.items()),
            tuple(BlockEntry(name, len(table.values)) for name, table in zip(keys, tables, strict=True)),
            frame,
        )
        write_federation(folder / "federation.toml", federation)
        return cls(folder, federation)

    def run(self, method: str, *, masked: bool) -> Conducted:
        """A run at sites that have answered nothing before; in the clear they trust their coordinator."""
        own = self.folder / f"{method}-{'masked' if masked else 'clear'}"
        file, services = str(self.folder / "federation.toml"), {}
        for site in self.federation.sites:
            key = own / site.name / "key"  # of its own: the witness of its store lies beside it
            key.parent.mkdir(parents=True)
            key.write_bytes((self.folder / "keys" / site.name).read_bytes())
            services[site.name] = SiteService(
                SiteSettings(
                    name=site.name,
                    federation=file,
                    data=str(self.folder / f"{site.name}.parquet"),
                    state=str(own / site.name / "state"),
                    key=str(key),
                    trust_coordinator=not masked,
                )
            )
        plan = RunPlan(
            run=f"run-{own.name}",
            federation=file,
            folder=str(own / "result"),
            settings=Settings.of(method, arithmetic="exact", masked=masked),
            by_key=False,
            wait=0.0,
            accept_differing=tuple(services),
            retry_policy=RetryPolicy(give_up_after=0.0),
            trust_coordinator=not masked,
        )
        courier, began = CountingCourier(services), time.process_time()
        found = Conductor(plan, self.federation, say=lambda _: None).run(courier, list(services))
        return Conducted(found, courier, time.process_time() - began - courier.seconds)
