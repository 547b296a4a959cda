"""How often Flower's processes tell each other that they are there: a process that is gone is missed in seconds."""

from __future__ import annotations

HEARTBEAT = 10
"""Seconds that Flower takes for one heartbeat to the next, with some to spare: it sends one about every 4."""

PATIENCE = 1.5
"""Times that, after which SuperLink misses a node."""


def be_heard_often() -> None:
    """Make a SuperNode, or the process that answers for it, tell that it is there more often than Flower would."""
    from flwr.supercore import heartbeat
    from flwr.supercore.corestate import in_memory_corestate
    from flwr.supernode import fleet_http_connection

    for module in (heartbeat, in_memory_corestate, fleet_http_connection):
        name = "HEARTBEAT_DEFAULT_INTERVAL"
        assert hasattr(module, name), "this is not the pinned version of Flower"
        setattr(module, name, HEARTBEAT)


def miss_soon() -> None:
    """Make SuperLink call no node online that it has not heard for 15 seconds, in place of 60."""
    from flwr.server.superlink.linkstate import in_memory_linkstate

    linkstate = vars(in_memory_linkstate)
    assert "HEARTBEAT_PATIENCE" in linkstate, "this is not the pinned version of Flower"
    linkstate["HEARTBEAT_PATIENCE"] = PATIENCE
