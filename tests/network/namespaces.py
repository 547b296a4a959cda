"""A federation in network namespaces: a coordinator and three sites with addresses of their own, and cables to pull."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from fedrcd.federation.messages.keys import make_development_keys
from tests.federation.flower.machines import Machines, until
from tests.federation.sites import NAMES, horizontal

COORDINATOR = "coordinator"
HUB = "hub"
PORT = 9443
AGAIN = 10
"""Seconds after which what was killed is started again, as systemd would."""

SUPERVISED = f'while :; do "$@"; sleep {AGAIN}; done'


def why_not():
    """Why there can be no namespaces here; empty if there can."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        return "network namespaces need root and the command ip"
    probe = f"fedrcd-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "delete", probe], capture_output=True, check=False)
    return made.stderr.strip()


class Namespaces(Machines):
    """Processes as in `Machines`, each in its namespace; whatever is killed is started again after ten seconds."""

    def __init__(self, folder: Path):
        self.folder, self.keys, self.processes = folder, folder / "keys", {}
        self.port, self.local = PORT, [9094] * len(NAMES)
        self.addresses = {name: f"10.77.0.{k}" for k, name in enumerate((COORDINATOR, *NAMES), 1)}
        public = make_development_keys(self.keys, [*NAMES, "stranger"], [self.addresses[COORDINATOR]])
        self.disk = horizontal(folder / "federation", p=3, rows=(1500, 1510, 1520), keys=public, identified=True)
        self.lay_cables()

    # the network

    def space(self, name):
        return f"fedrcd-{os.getpid()}-{name}"

    def ip(self, *words, within=""):
        subprocess.run(["ip", *(("-n", self.space(within)) if within else ()), *words], check=True, capture_output=True)

    def lay_cables(self):
        self.ip("netns", "add", self.space(HUB))
        self.ip("link", "add", "bridge", "type", "bridge", within=HUB)
        self.ip("link", "set", "bridge", "up", within=HUB)
        for k, (name, address) in enumerate(self.addresses.items(), 1):
            self.ip("netns", "add", self.space(name))
            end = ("peer", "name", "cable", "netns", self.space(name))
            self.ip("link", "add", f"port{k}", "type", "veth", *end, within=HUB)
            self.ip("link", "set", f"port{k}", "master", "bridge", within=HUB)
            self.ip("link", "set", f"port{k}", "up", within=HUB)
            self.ip("address", "add", f"{address}/24", "dev", "cable", within=name)
            self.ip("link", "set", "cable", "up", within=name)
            self.ip("link", "set", "lo", "up", within=name)

    def pull(self, name):
        """Pull the cable of a machine out."""
        self.ip("link", "set", self._plug(name), "down", within=HUB)

    def plug_in(self, name):
        """Put it back."""
        self.ip("link", "set", self._plug(name), "up", within=HUB)

    def _plug(self, name):
        return f"port{list(self.addresses).index(name) + 1}"

    def take_away(self):
        for name in (*self.addresses, HUB):
            subprocess.run(["ip", "netns", "delete", self.space(name)], capture_output=True, check=False)

    # processes

    def start(self, name, arguments, environment=None):
        """Start something in its namespace and keep it running, as systemd would."""
        inside = ["ip", "netns", "exec", self.space(name), "sh", "-c", SUPERVISED, "sh", *arguments]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                inside, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def start_coordinator(self):
        state = self.folder / COORDINATOR / "coordinator.json"
        self.start(COORDINATOR, self.fedrcd("coordinator", "start", *self.of_coordinator()))
        until(state.exists, "the start of the coordinator")

    def of_coordinator(self):
        options = ["--federation", self.disk.file, "--state", self.folder / COORDINATOR]
        options += ["--host", self.addresses[COORDINATOR], "--port", PORT, "--ca", self.keys / "ca.crt"]
        return [*options, "--certificate", self.keys / "server.pem", "--key", self.keys / "server.key"]

    def start_site(self, name, **changes):
        """Start a site as its people would; `changes` are its table, key or authority."""
        self.start(name, self.fedrcd("site", "serve", *self.of_site(name, **changes)))

    def of_site(self, name, **changes):
        options = ["--name", name, "--federation", self.disk.file, "--data", changes.get("data", self.disk.data(name))]
        options += ["--state", self.disk.state(name), "--coordinator", f"{self.addresses[COORDINATOR]}:{PORT}"]
        options += ["--ca", changes.get("authority", self.keys / "ca.crt"), "--trust-coordinator", "--clear"]
        return [*options, "--key", changes.get("key", self.keys / name)]

    def fedrcd(self, *words):
        return [sys.executable, "-m", "fedrcd", *map(str, words)]

    def run(self, out, *more):
        """Start a run as people would; its process."""
        words = ("coordinator", "run", "--federation", self.disk.file, "--state", self.folder / COORDINATOR)
        command = self.fedrcd(*words, "--out", out, "--clear", "--trust-coordinator", *more)
        inside = ["ip", "netns", "exec", self.space(COORDINATOR), *command]
        return subprocess.Popen(inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def online(self):
        """The sites that the coordinator calls online."""
        command = self.fedrcd("coordinator", "status", "--state", self.folder / COORDINATOR, "--json")
        inside = ["ip", "netns", "exec", self.space(COORDINATOR), *command]
        said = subprocess.run(inside, capture_output=True, text=True, check=True).stdout
        return {name for name, is_there in json.loads(said)["sites"].items() if is_there}

    def kill_inside(self, name, *words):
        """Kill the process of a machine whose arguments hold these words, without warning."""
        own = self.processes[name].pid
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                number = int(entry.name)
                is_python = os.getsid(number) == own and arguments[0] == sys.executable
                if is_python and all(word in arguments for word in words):
                    os.kill(number, signal.SIGKILL)

    def stop(self, name):
        """End what keeps a process running, and the process."""
        process = self.processes.pop(name)
        numbers = [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and _session(int(entry.name)) == process.pid
        ]
        process.kill()
        for number in numbers:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGTERM)
        process.wait()
        until(lambda: not any(_session(number) == process.pid for number in numbers), f"the end of {name}")


def _session(number):
    with contextlib.suppress(OSError):
        return os.getsid(number)
    return None
