"""A federation of real processes with TLS and keys, whose processes can be killed and whose connections are watched."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from experiments.tasks.loopback import free_ports

from fedrcd.federation.coordinator.gather import RetryPolicy
from fedrcd.federation.flower.coordinator import Coordinator, conduct, new_run, online
from fedrcd.federation.flower.processes import Security, node_command, prepare_node
from fedrcd.federation.messages.keys import make_development_keys
from tests.federation.sites import NAMES, horizontal

SOON = 240.0
"""Seconds within which anything must happen, on the busiest machine."""


def until(condition, what):
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {SOON:.0f} s"
        time.sleep(0.1)


def _name(number):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{number}/comm").read_text()
    return ""


class Machines:
    """Coordinator and sites as processes in sessions of their own; `trust`: whether sites believe the coordinator."""

    trust = True

    def __init__(self, folder: Path):
        self.folder = folder
        self.keys = folder / "keys"
        public = make_development_keys(self.keys, [*NAMES, "stranger"], ["127.0.0.1"])
        self.disk = horizontal(folder / "federation", p=3, rows=(1500, 1510, 1520), keys=public, identified=True)
        self.port, *self.local = free_ports(8)
        self.security = Security(authority=self.keys / "ca.crt")
        self.processes = {}

    # processes

    def start(self, name, arguments, environment=None):
        """Start a process of its own session, with its connections watched where strace is there."""
        traced = []
        if shutil.which("strace"):
            trace = self.folder / f"{name}-{time.monotonic_ns()}.connects"
            traced = ["strace", "-D", "-f", "-qq", "--seccomp-bpf", "-e", "trace=connect", "-o", str(trace)]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*traced, *arguments], env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def start_coordinator(self):
        state = self.folder / "coordinator" / "coordinator.json"
        state.unlink(missing_ok=True)
        command = [sys.executable, "-m", "fedrcd", "coordinator", "start", "--federation", str(self.disk.file)]
        command += ["--port", str(self.port), "--ca", str(self.keys / "ca.crt"), "--state", str(state.parent)]
        command += ["--certificate", str(self.keys / "server.pem"), "--key", str(self.keys / "server.key")]
        self.start("coordinator", command)
        until(state.exists, "the start of the coordinator")

    def start_site(self, name, *, data="", query=""):
        """Start a site as its people would, with its table or rows from elsewhere."""
        command = [sys.executable, "-m", "fedrcd", "site", "serve", "--name", name, "--federation", str(self.disk.file)]
        command += [
            "--data",
            data or str(self.disk.data(name)),
            "--query",
            query,
            "--state",
            str(self.disk.state(name)),
            "--deadline",
            "90",
        ]
        command += ["--trust-coordinator"] if self.trust else []
        command += ["--coordinator", f"127.0.0.1:{self.port}", "--local-port", str(self.local[NAMES.index(name)])]
        self.start(name, [*command, "--ca", str(self.keys / "ca.crt"), "--key", str(self.keys / name)])

    def start_node(self, name, **changes):
        """Start a node as `start_site` does, but for what a test changes: its settings, key or authority."""
        home = self.disk.state(name)
        settings = replace(
            self.disk.settings(changes.get("settings_of", name)),
            deadline=90.0,
            state=str(home),
        )
        settings.write(home / "site.json")
        if not (home / "bin").exists():
            prepare_node(home)
        command = node_command(
            coordinator=f"127.0.0.1:{self.port}",
            port=changes.get("port", self.local[NAMES.index(name)] if name in NAMES else self.local[-1]),
            home=home,
            security=changes.get("security", self.security),
            key=changes.get("key", self.keys / name),
            settings=home / "site.json",
        )
        self.start(name, command.arguments, command.full_environment())

    def kill(self, name):
        """Kill a process without warning, and wait until what it started is gone too."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self, name):
        """End a process as an operator would."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop_all(self):
        for name in list(self.processes)[::-1]:
            self.stop(name)
        until(lambda: not self.left_behind(), "the end of all processes")

    def left_behind(self):
        """Numbers of the living processes that belong to this federation, by their surroundings."""
        mark, found = str(self.folder).encode(), []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                home = [
                    line for line in (entry / "environ").read_bytes().split(b"\0") if line.startswith(b"FLWR_HOME=")
                ]
                if home and mark in home[0]:
                    found.append(int(entry.name))
        return found

    def answering(self, name):
        """Numbers of the processes that answer a message at a site right now."""
        return self._with_arguments(str(self.disk.state(name) / "bin" / "flwr-clientapp"))

    def nodes(self, name):
        """Numbers of the processes that hold a site's connection."""
        found = self._with_arguments(f'settings="{self.disk.state(name) / "site.json"}"')
        return [number for number in found if "strace" not in _name(number)]

    def _with_arguments(self, mark):
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return found

    # runs

    @property
    def coordinator(self):
        return Coordinator.read(self.folder / "coordinator")

    def plan(self, method="fedrcd-s", **changes):
        out = self.folder / f"result-{time.monotonic_ns()}"
        pause = changes.pop("pause", 0.5)
        changes.pop("retries", None)
        patience = RetryPolicy(deadline=120.0, give_up_after=SOON, pause=pause)
        fields = {"run": new_run(), "folder": str(out), "by_key": True, "wait": 120.0, "retry_policy": patience}
        fields["trust_coordinator"] = True
        return self.disk.plan(method, **{**fields, **changes})

    def run(self, method="fedrcd-s", progress=lambda _: None, **changes):
        return conduct(self.coordinator, self.plan(method, **changes), progress)

    def sites_online(self):
        there = online(self.coordinator)
        return {name for name, number in self.coordinator.nodes.items() if number in there}


@contextlib.contextmanager
def all_started(federation):
    """A coordinator and all sites, in processes that are stopped in the end."""
    try:
        federation.start_coordinator()
        for name in NAMES:
            federation.start_site(name)
        yield federation
    finally:
        federation.stop_all()
