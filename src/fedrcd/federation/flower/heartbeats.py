"""How often Flower's processes tell each other that they are there: a process that is gone is missed in seconds."""

from __future__ import annotations

HEARTBEAT = 10
"""Seconds that Flower takes for one heartbeat to the next, with some to spare: it sends one about every 4."""

PATIENCE = 1.5
"""Times that, after which SuperLink misses a node."""


START = 180
"""Seconds that a process may take to start: after that, another one is started for the same work."""

MISSED = 60
"""Seconds after which a process that was heard is missed."""


def be_heard_often() -> None:
    """Make a SuperNode, or the process that answers for it, tell that it is there more often than Flower would."""
    from flwr.supercore import heartbeat
    from flwr.supernode import fleet_http_connection

    for module in (heartbeat, fleet_http_connection):
        name = "HEARTBEAT_DEFAULT_INTERVAL"
        assert hasattr(module, name), "this is not the pinned version of Flower"
        setattr(module, name, HEARTBEAT)


def wait_for_starts() -> None:
    """Make a SuperNode or SuperLink wait for a process that it started; one that was heard is missed sooner."""
    from flwr.supercore.corestate import in_memory_corestate

    state = vars(in_memory_corestate)
    assert {"HEARTBEAT_DEFAULT_INTERVAL", "HEARTBEAT_PATIENCE"} <= set(state), (
        "this is not the pinned version of Flower"
    )
    state["HEARTBEAT_DEFAULT_INTERVAL"] = START  # from the start of a process to its first heartbeat
    state["HEARTBEAT_PATIENCE"] = MISSED / START  # from one to the next, in multiples of that


def miss_soon() -> None:
    """Make SuperLink call no node online that it has not heard for 15 seconds, in place of 60."""
    from flwr.server.superlink.linkstate import in_memory_linkstate

    linkstate = vars(in_memory_linkstate)
    assert "HEARTBEAT_PATIENCE" in linkstate, "this is not the pinned version of Flower"
    linkstate["HEARTBEAT_PATIENCE"] = PATIENCE
