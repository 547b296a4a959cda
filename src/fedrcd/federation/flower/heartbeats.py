"""How often Flower's processes tell each other that they are there: a process that is gone is missed in seconds."""

from __future__ import annotations

HEARTBEAT = 10
"""Seconds that Flower takes for one heartbeat to the next, with some to spare: it sends one about every 4."""

PATIENCE = 1.5
"""Times that, after which SuperLink misses a node."""


START = 180
"""Seconds that a process may take to start before its work counts as lost: on a busy machine that is long."""

MISSED = 30
"""Seconds after which the process that answers for a site is missed, once it was heard."""

MISSED_RUN = 60
"""The same of the process that conducts a run, which is heard less often."""


def be_heard_often() -> None:
    """Make a SuperNode, or the process that answers for it, tell that it is there more often than Flower would."""
    from flwr.supercore import heartbeat
    from flwr.supernode import fleet_http_connection

    for module in (heartbeat, fleet_http_connection):
        name = "HEARTBEAT_DEFAULT_INTERVAL"
        assert hasattr(module, name), "this is not the pinned version of Flower"
        setattr(module, name, HEARTBEAT)


def wait_for_starts(missed: int) -> None:
    """Make a SuperNode or SuperLink wait for a process that it started; one that was heard is missed after a while."""
    from flwr.supercore.corestate import in_memory_corestate

    state = vars(in_memory_corestate)
    assert {"HEARTBEAT_DEFAULT_INTERVAL", "HEARTBEAT_PATIENCE"} <= set(state), (
        "this is not the pinned version of Flower"
    )
    state["HEARTBEAT_DEFAULT_INTERVAL"] = START  # from the start of a process to its first heartbeat
    state["HEARTBEAT_PATIENCE"] = missed / START  # from one to the next, in multiples of that


def miss_soon() -> None:
    """Make SuperLink call no node online that it has not heard for 15 seconds, in place of 60."""
    from flwr.server.superlink.linkstate import in_memory_linkstate

    linkstate = vars(in_memory_linkstate)
    assert "HEARTBEAT_PATIENCE" in linkstate, "this is not the pinned version of Flower"
    linkstate["HEARTBEAT_PATIENCE"] = PATIENCE
