"""Which sites are there, asked again and again over one connection: a command of Flower takes a second each time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from fedrcd.errors import FedrcdError
from fedrcd.federation.flower.coordinator import SETTINGS, Coordinator
from fedrcd.federation.surroundings import REAL, Surroundings

EVERY = 3.0
"""Seconds between two questions."""


class SeenNode(NamedTuple):
    """Whether a node is there, and since when it is or is not, as Flower writes times; empty if it never was."""

    is_online: bool
    since: str


class SeenNodes(NamedTuple):
    """Whether the coordinator runs, and what is known of its nodes, by their numbers."""

    is_running: bool
    nodes: dict[int, SeenNode]


NOBODY = SeenNodes(is_running=False, nodes={})


@dataclass(slots=True)
class NodeWatch:
    """Looks after the nodes of the coordinator in a folder, whenever somebody asks and it is time."""

    folder: Path
    surroundings: Surroundings = REAL
    _seen: SeenNodes = NOBODY
    _asked: float = -EVERY
    _client: Any = None
    _process: int = 0
    _lock: Any = field(default_factory=Lock)

    def look(self) -> SeenNodes:
        """What is known, at most a few seconds old."""
        with self._lock:
            now = self.surroundings.monotonic()
            if now - self._asked >= EVERY:
                self._asked, self._seen = now, self._look_now()
            return self._seen

    def close(self) -> None:
        """Let go of the connection."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.close()

    def _look_now(self) -> SeenNodes:
        if not (self.folder / SETTINGS).exists():
            return NOBODY
        try:
            coordinator = Coordinator.read(self.folder)
        except FedrcdError:  # it is being written
            return self._seen
        if not coordinator.is_running:
            self.close()
            return NOBODY
        if coordinator.process != self._process:
            self.close()
        try:
            self._client, self._process = self._client or _connected(coordinator), coordinator.process
            return SeenNodes(is_running=True, nodes=_listed(self._client))
        except Exception:  # whatever Flower's client raises: it is asked again
            self.close()
            return SeenNodes(is_running=True, nodes={})


def _connected(coordinator: Coordinator) -> Any:
    """A client of the coordinator's own port, as Flower's command makes one."""
    from flwr.supercore.control.control_http_client import ControlHttpClient
    from flwr.supercore.interceptors.http.runtime_version import RuntimeVersionHttpInterceptor

    security = coordinator.security
    return ControlHttpClient.from_server_address(
        server_address=f"{coordinator.local_host}:{coordinator.port}",
        insecure=security.insecure,
        root_certificates=security.authority.read_bytes() if security.authority else None,
        interceptors=[RuntimeVersionHttpInterceptor(component_name="flwr CLI")],
    )


def _listed(client: Any) -> dict[int, SeenNode]:
    from flwr.proto.control_pb2 import ListNodesRequest

    said = client.ListNodes(ListNodesRequest())
    return {int(one.node_id): _seen(one) for one in said.nodes_info if one.status != "deleted"}


def _seen(one: Any) -> SeenNode:
    is_online = one.status == "online"
    return SeenNode(is_online, str(one.last_activated_at if is_online else one.last_deactivated_at))
