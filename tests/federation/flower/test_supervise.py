"""Processes end with the one that started them, and connections come back."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedrcd.federation.flower import supervise
from fedrcd.federation.flower.processes import Command
from fedrcd.federation.flower.supervise import interruptible, spawn, stop
from tests.federation.flower.machines import until

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)


def alive(number):
    try:
        return "State:\tZ" not in Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False


def test_a_stubborn_process_is_ended_with_its_children(tmp_path):
    script = (
        f"import subprocess, sys; p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True); exec({STUBBORN!r})"
    )
    with (tmp_path / "out").open("wb") as out:
        process = spawn(Command((sys.executable, "-c", script), {}), out)
    until(lambda: "up" in (tmp_path / "out").read_text(), "the start")
    child = int((tmp_path / "out").read_text().split()[0])
    assert alive(child)
    stop(process, seconds=0.5)
    assert process.poll() is not None
    until(lambda: not alive(child), "the end of the child")


RUNS_AGAIN = """
import sys
from fedrcd.federation.flower.processes import Command
from fedrcd.federation.flower.supervise import keep_running
script = "import os, sys, time; print(os.getpid(), file=open(sys.argv[1], 'a')); time.sleep(float(sys.argv[2]))"
keep_running(Command((sys.executable, "-c", script, sys.argv[1], sys.argv[2]), {}), print, pause=0.05)
"""


def supervised(tmp_path, seconds):
    return subprocess.Popen(
        [sys.executable, "-c", RUNS_AGAIN, str(tmp_path / "runs"), seconds], stdout=subprocess.DEVNULL
    )


def runs(tmp_path):
    path = tmp_path / "runs"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_a_connection_that_ends_is_made_again_until_told_to_stop(tmp_path):
    process = supervised(tmp_path, "0")
    until(lambda: len(runs(tmp_path)) >= 3, "the third run")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    count = len(runs(tmp_path))
    time.sleep(0.3)
    assert len(runs(tmp_path)) == count


def test_being_told_to_end_waits_for_what_must_not_be_left_half_done():
    done = []

    def work(interruption):
        with interruption.held():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("whole")
        done.append("never")

    with interruptible() as interruption, pytest.raises(KeyboardInterrupt):
        work(interruption)
    assert done == ["whole"]


def test_a_process_does_not_outlive_an_interruption_while_it_starts(monkeypatch):
    started = []

    def interrupted(command, output=None):
        started.append(spawn(command, output))
        os.kill(os.getpid(), signal.SIGTERM)
        return started[0]

    monkeypatch.setattr(supervise, "spawn", interrupted)
    command = Command((sys.executable, "-c", "import time; time.sleep(600)"), {})
    with (
        interruptible() as interruption,
        pytest.raises(KeyboardInterrupt),
        supervise.running(command, interruption),
    ):
        pytest.fail("it was interrupted before")
    assert started[0].poll() is not None


def test_a_connection_ends_with_a_supervisor_that_is_killed(tmp_path):
    process = supervised(tmp_path, "600")
    until(lambda: runs(tmp_path), "the first run")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: not alive(runs(tmp_path)[0]), "the end of the connection")
