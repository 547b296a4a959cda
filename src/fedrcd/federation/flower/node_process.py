"""Flower's SuperNode, which ends at once when the coordinator does not know it, and is neither asleep nor unheard.

A SuperNode that is refused sends itself SIGINT, once from each of its threads that was refused. The second one
interrupts the end that the first began, before anything sees to it that the process does end: it then hangs, without a
connection, and nobody starts it anew. Here the first one is the end.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from types import SimpleNamespace
from typing import Any

from fedrcd.federation.flower.heartbeats import be_heard_often, wait_for_starts
from fedrcd.federation.flower.link_process import LocalOrders
from fedrcd.federation.flower.supervise import UNKNOWN_NODE

POLL = 0.5
"""Seconds between two looks for a message; Flower's own 3 were half of a round."""


def end_at_once() -> None:
    """Make SIGINT the end of this process, whatever Flower's handlers for other signals do."""
    from flwr.supernode import start_client_internal as node

    assert hasattr(node, "register_signal_handlers"), "this is not the pinned version of Flower"
    register: Any = node.register_signal_handlers

    def register_and_replace(*arguments: Any, **settings: Any) -> None:
        register(*arguments, **settings)
        signal.signal(signal.SIGINT, _end)

    node.register_signal_handlers = register_and_replace


def tell_unknown_key() -> None:
    """Make SuperNode end as one that the coordinator does not know where it could not even begin."""
    from flwr.supercore.exit import ExitCode
    from flwr.supernode import fleet_http_connection

    connection: Any = fleet_http_connection
    assert hasattr(connection, "flwr_exit"), "this is not the pinned version of Flower"
    leave: Any = connection.flwr_exit

    def told(code: int, message: str = "", *more: Any, **settings: Any) -> None:
        if code != ExitCode.SUPERNODE_CONNECTION_ERROR:
            leave(code, message, *more, **settings)
        os.write(2, f"{message}\n".encode())
        _end()

    connection.flwr_exit = told


def look_often() -> None:
    """Make SuperNode look for messages more often than every three seconds."""
    from flwr.supernode import start_client_internal

    node: Any = start_client_internal
    assert getattr(node, "time", None) is time, "this is not the pinned version of Flower"
    node.time = SimpleNamespace(sleep=lambda seconds: time.sleep(min(seconds, POLL)))


def answer_own_account_only() -> None:
    """Make SuperNode's local port refuse other accounts of this machine."""
    from flwr.supernode import main as api

    assert hasattr(api, "create_app"), "this is not the pinned version of Flower"
    app: Any = api.create_app
    api.create_app = lambda *arguments, **settings: LocalOrders(app(*arguments, **settings))  # type: ignore[assignment]


def _end(*_: object) -> None:
    os.write(2, b"the coordinator does not know this node\n")
    os._exit(UNKNOWN_NODE)


def main() -> None:
    """Run SuperNode with all of this in place."""
    from flwr.supernode.cli import flower_supernode

    end_at_once()
    tell_unknown_key()
    look_often()
    be_heard_often()
    wait_for_starts()
    answer_own_account_only()
    sys.argv[0] = "flower-supernode"
    flower_supernode()


if __name__ == "__main__":
    main()
