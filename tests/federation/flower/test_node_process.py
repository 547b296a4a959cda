"""A node that the coordinator does not know ends, however many of its threads are told so."""

import subprocess
import sys

import pytest

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


SLOW = """
from datetime import UTC, datetime, timedelta
from fedrcd.federation.flower.heartbeats import MISSED, START, wait_for_starts
if {patient}:
    wait_for_starts()
from flwr.supercore.constant import TaskType
from flwr.supercore.corestate import in_memory_corestate as core
from flwr.supernode.nodestate.in_memory_nodestate import InMemoryNodeState

later = [0.0]
core.now = lambda: datetime.now(tz=UTC) + timedelta(seconds=later[0])
state = InMemoryNodeState(None)
task = state.create_task(TaskType.CLIENT_APP, 1)
token = state.claim_task(task)
later[0] = START - 1
print(state.get_task_by_token(token) is not None)  # it has not been heard yet
if {patient}:
    state.activate_task(task)
    later[0] += MISSED - 1
    print(state.acknowledge_task_heartbeat(task))
    later[0] += MISSED + 1
    print(state.get_task_by_token(token) is None)
"""


@pytest.mark.parametrize(("patient", "said"), [(False, ["False"]), (True, ["True"] * 3)], ids=["Flower's own", "ours"])
def test_a_process_that_answers_may_start_slowly_and_is_missed_soon_once_it_was_heard(patient, said):
    done = subprocess.run(
        [sys.executable, "-c", SLOW.format(patient=patient)], capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stdout.split() == said
