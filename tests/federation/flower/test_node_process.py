"""A node that the coordinator does not know ends, however many of its threads are told so."""

import subprocess
import sys

from fedrcd.federation.flower.supervise import UNKNOWN_NODE

REFUSED_TWICE = """
import os, signal, threading, time
from fedrcd.federation.flower.node_process import end_at_once

end_at_once()
from flwr.supercore.telemetry import EventType
from flwr.supernode import start_client_internal as node

node.register_signal_handlers(event_type=EventType.RUN_SUPERNODE_LEAVE)
together = threading.Barrier(3)  # and threads that nobody tells to end, as SuperNode's servers are

def refused():
    together.wait()
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()

for _ in range(2):
    threading.Thread(target=refused).start()
together.wait()
threading.Event().wait()
"""


def test_a_node_that_is_refused_twice_at_once_ends():
    done = subprocess.run(
        [sys.executable, "-c", REFUSED_TWICE], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == UNKNOWN_NODE
    assert done.stderr.endswith("the coordinator does not know this node\n")


NOT_ADMITTED = """
from fedrcd.federation.flower.node_process import tell_unknown_key

tell_unknown_key()
from flwr.supernode import fleet_http_connection as connection

connection.flwr_exit(connection.ExitCode.SUPERNODE_CONNECTION_ERROR, "Failed to activate")
"""


def test_a_node_that_is_not_admitted_ends_with_a_code_of_its_own():
    done = subprocess.run(
        [sys.executable, "-c", NOT_ADMITTED], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == UNKNOWN_NODE
    assert "Failed to activate" in done.stderr
