"""The network between coordinator and sites: messages are lost, doubled, late, damaged, of another time; or arrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.federation.coordinator.gather import Fault
from fedrcd.federation.ledger.refresh_messages import LedgerNews
from fedrcd.federation.messages.envelope import is_message, unpack_message
from fedrcd.federation.messages.masked import MaskedAsk
from fedrcd.federation.messages.requests import pack_reply, unpack_reply
from fedrcd.protocol.wire import Packet
from simulation.disk import Killed
from simulation.events import COORDINATOR, DISKS, Trouble

if TYPE_CHECKING:
    from simulation.world import World

MOST = 400
"""Messages after which a run is taken to go on for ever."""

OLDER = "fedrcd-federation/0"


@dataclass
class Network:
    """Carries packets to the sites of a world, as a courier does, and meets the troubles of an event."""

    world: World
    troubles: list[Trouble] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    delivered: int = 0
    late: list[tuple[str, Packet]] = field(default_factory=list)
    earlier: dict[str, list[Packet]] = field(default_factory=dict)
    twist: Callable[[str, Packet], Packet] | None = None
    """What a coordinator that lies sends instead."""
    altered: set[str] = field(default_factory=set)
    """Sites whose replies were changed on the way in this event."""

    def begin(self, troubles: tuple[Trouble, ...]) -> None:
        """What goes wrong from here on."""
        self.troubles = [one for one in troubles if one.what not in DISKS]
        self.sent, self.delivered, self.altered, self.twist = {}, 0, set(), None

    def deliver(self, packets: Mapping[str, Packet], seconds: float) -> Iterator[tuple[str, Packet | Fault]]:
        """The reply of every site, in any order; a fault for each that does not reply."""
        for site, packet in self.late:
            if self.world.rng.random() < 0.5:
                self.world.told("late", site)
                self.world.respond(site, packet)
        self.late.clear()
        names = list(packets)
        for k in self.world.rng.permutation(len(names)).tolist():
            site = names[k]
            self.delivered += 1
            if self.delivered > MOST:
                self.world.judge.wrong(f"ends: {MOST} messages and no end")
                raise Killed(COORDINATOR)
            self._meet("stop", COORDINATOR, self.delivered)
            self.sent[site] = self.sent.get(site, 0) + 1
            what = self._met(site)
            if what:
                self.world.covered(what)
            got = self._carried(site, packets[site], what)
            if isinstance(got, Fault):
                self.world.told(f"{what or 'no reply'}: {got.name.lower()}", site)
                if got is Fault.SILENT:
                    self.world.edges.wait(seconds)
            yield site, got

    def _meet(self, what: str, machine: str, at: int) -> None:
        for one in list(self.troubles):
            if one == (what, machine, at):
                self.troubles.remove(one)
                self.world.covered(what)
                raise Killed(machine)

    def _met(self, site: str) -> str:
        for one in list(self.troubles):
            if one.machine == site and one.what == "partition" and self.sent[site] >= one.at:
                return "partition"
            if one.machine == site and one.at == self.sent[site]:
                self.troubles.remove(one)
                return one.what
        return ""

    def _told(self, site: str, packet: Packet) -> Packet:
        """What the coordinator sends indeed; of the truth, what lies to come are made of is kept."""
        if self.twist is not None:
            return self.twist(site, packet)
        if is_message(packet) and _kind(packet) == "ledger-news/1":
            self.world.news[site].append(unpack_message(packet, LedgerNews))
        if is_message(packet) and _kind(packet) == "masked-ask/1":
            calls = unpack_message(packet, MaskedAsk).roll_calls
            if calls not in self.world.roll_calls:
                self.world.roll_calls.append(calls)
        return packet

    def _carried(self, site: str, packet: Packet, what: str) -> Packet | Fault:
        packet = self._told(site, packet)
        if what in ("drop-request", "partition"):
            return Fault.SILENT
        if what == "delay":
            self.late.append((site, packet))
            return Fault.SILENT
        if what == "flip-request":
            packet = flipped(packet, self.world.rng)
        if what == "older-request":
            packet = older(packet)
        if what == "duplicate":
            self.world.respond(site, packet)
        reply = self.world.respond(site, packet)
        if isinstance(reply, Fault):
            return reply
        before = self.earlier.setdefault(site, [])
        before.append(reply)
        if what == "drop-reply":
            return Fault.SILENT
        if what == "stale":
            alike = [one for one in before[:-1] if _kind(one) == _kind(reply)] or [reply]
            return alike[int(self.world.rng.integers(len(alike)))]
        if what in ("flip-reply", "truncate", "older-reply", "twice-the-rows"):
            self.altered.add(site)
            change: Any = {"flip-reply": flipped, "truncate": cut, "older-reply": lambda one, _: older(one)}.get(
                what, doubled
            )
            changed: Packet = change(reply, self.world.rng)
            return changed
        return reply


def flipped(packet: Packet, rng: np.random.Generator) -> Packet:
    """A packet of which one number or one character is another."""
    header = json.loads(json.dumps(packet.header))
    places = list(_leaves(header))
    arrays = [array for array in packet.arrays if array.size and array.dtype != bool]
    if arrays and rng.random() < 0.5:
        which = int(rng.integers(len(arrays)))
        changed = arrays[which].copy()
        flat = changed.reshape(-1)
        flat[int(rng.integers(flat.size))] += 1
        return Packet(header, tuple(changed if one is arrays[which] else one for one in packet.arrays))
    if places:
        inside, key = places[int(rng.integers(len(places)))]
        inside[key] = _other(inside[key], rng)
    return Packet(header, packet.arrays)


def cut(packet: Packet, rng: np.random.Generator) -> Packet:
    """A packet that ends too early."""
    if packet.arrays and rng.random() < 0.7:
        last = packet.arrays[-1]
        return Packet(packet.header, (*packet.arrays[:-1], last[: len(last) // 2]))
    header = json.loads(json.dumps(packet.header))
    if isinstance(header, dict) and header:
        del header[list(header)[int(rng.integers(len(header)))]]
    return Packet(header, packet.arrays)


def older(packet: Packet) -> Packet:
    """A packet as a version before this one would have sent it."""
    header = json.loads(json.dumps(packet.header))
    header["fedrcd"] = OLDER
    return Packet(header, packet.arrays)


def doubled(packet: Packet, rng: np.random.Generator) -> Packet:
    """An answer as if every row of it were there twice."""
    del rng
    if is_message(packet):
        return packet
    reply = unpack_reply(packet)
    return pack_reply(replace(reply, blocks=tuple((label, sums and sums + sums) for label, sums in reply.blocks)))


def _kind(packet: Packet) -> object:
    return packet.header["message"]["kind"] if is_message(packet) else len(packet.arrays)


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(inside):
        if isinstance(one, dict | list):
            yield from _leaves(one)
        elif one is not None:
            yield value, key


def _other(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if not value:
        return "x"
    at = int(rng.integers(len(value)))
    return value[:at] + chr(ord(value[at]) ^ (1 << int(rng.integers(4)))) + value[at + 1 :]
