"""Packets over a Grid of Flower: push, poll, match replies to messages by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid

from fedrcd.data.federation import Federation
from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.gather import Fault
from fedrcd.federation.flower.client import ASK, NAME
from fedrcd.federation.flower.records import from_records, to_records
from fedrcd.federation.messages.keys import same_key
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import Packet

POLL = 0.25
"""Seconds between two looks for replies."""

GRACE = 60.0
"""Seconds that a message lives beyond the deadline of its question."""

APP_RAISED, LOAD_FAILED = 2, 3
"""Flower's codes for an app that raised or could not be loaded; whatever else goes wrong, the process is gone."""


@dataclass(frozen=True, slots=True)
class GridCourier:
    """Carries packets to the nodes of a Grid; `nodes` says which node is which site."""

    grid: Grid
    nodes: Mapping[str, int]
    poll: float = POLL
    surroundings: Surroundings = REAL

    def deliver(self, packets: Mapping[str, Packet], seconds: float) -> Iterator[tuple[str, Packet | Fault]]:
        """The reply of every site, as it comes; a fault for each that has not replied in time."""
        messages = {
            site: Message(to_records(packet), self.nodes[site], ASK, ttl=seconds + GRACE)
            for site, packet in packets.items()
        }
        for site, reply in exchange(self.grid, messages, seconds, self.poll, self.surroundings):
            yield site, self._read(site, reply)

    def _read(self, site: str, reply: Message | None) -> Packet | Fault:
        if reply is None:
            return Fault.SILENT
        if reply.has_error():
            return Fault.RAISED if reply.error.code in {APP_RAISED, LOAD_FAILED} else Fault.DIED
        if reply.metadata.src_node_id != self.nodes[site]:
            return Fault.ANOTHER
        try:
            return from_records(reply.content)
        except ProtocolError:
            return Packet(None, ())  # the transport says what is wrong with it


def exchange(
    grid: Grid,
    messages: Mapping[str, Message],
    seconds: float,
    poll: float,
    surroundings: Surroundings = REAL,
) -> Iterator[tuple[str, Message | None]]:
    """The first reply to every message, as it comes; None for each without one in time.

    Replies are told apart by the message they reply to: of a node that died the reply says another source. A second
    reply to a message, and any to a message that is not waited for, is dropped.
    """
    until = surroundings.monotonic() + seconds
    names = list(messages)
    numbers = list(grid.push_messages([messages[name] for name in names]))
    waiting = {number: name for number, name in zip(numbers, names, strict=False) if number}
    unsent = [name for name in names if name not in waiting.values()]
    while waiting:
        for reply in grid.pull_messages(list(waiting)):
            name = waiting.pop(reply.metadata.reply_to_message_id, None)
            if name is not None:
                yield name, reply
        if not waiting or surroundings.monotonic() >= until:
            break
        surroundings.sleep(poll)
    for name in [*unsent, *waiting.values()]:
        yield name, None


def find_nodes(
    grid: Grid, federation: Federation, *, by_key: bool, seconds: float, surroundings: Surroundings = REAL
) -> dict[str, int]:
    """Which node is which site, waiting for all of them for some time.

    By key: a node is the site whose registered key it has. Otherwise it is asked for its name, and believed.
    """
    until = surroundings.monotonic() + seconds
    while True:
        found = _by_key(grid, federation) if by_key else _by_name(grid, federation)
        if len(found) == len(federation.sites) or surroundings.monotonic() >= until:
            return {site.name: found[site.name] for site in federation.sites if site.name in found}
        surroundings.sleep(POLL)


def _by_key(grid: Grid, federation: Federation) -> dict[str, int]:
    keyless = [site.name for site in federation.sites if not site.key]
    if keyless:
        raise ProtocolError(f"the federation file has no key of site {keyless[0]!r}; see `fedrcd keys init`")
    found = {}
    for node in grid.get_nodes():
        for site in federation.sites:
            if same_key(site.key, node.public_key):
                found[site.name] = int(node.node_id)
    return found


def _by_name(grid: Grid, federation: Federation) -> dict[str, int]:
    nodes = [int(node) for node in grid.get_node_ids()]
    empty = ConfigRecord({"name": ""})
    messages = {str(node): Message(RecordDict({"name": empty}), node, NAME, ttl=GRACE) for node in nodes}
    found: dict[str, int] = {}
    for node, reply in exchange(grid, messages, GRACE, POLL):
        name = _name(reply)
        if name in found:
            raise ProtocolError(f"two nodes say they are site {name!r}")
        if name in _names(federation):
            found[name] = int(node)
    return found


def _names(federation: Federation) -> Sequence[str]:
    return [site.name for site in federation.sites]


def _name(reply: Message | None) -> str:
    if reply is None or reply.has_error():
        return ""
    record = reply.content.get("name")
    return str(record.get("name", "")) if isinstance(record, ConfigRecord) else ""
