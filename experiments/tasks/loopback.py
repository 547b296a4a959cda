"""A coordinator and sites as processes on this machine, with TLS and keys, started by the commands people would use."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, read_federation, write_federation
from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.federation.coordinator.saved_finding import read_finding
from fedrcd.federation.one_process import in_process
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.runs.finding import Finding

READY = 300.0
"""Seconds that a coordinator may take to be there, on a busy machine."""


TRUST = "--trust-coordinator"
"""Sites and runs say so: the coordinator is this same command, and methods of several rounds are to be shown."""


@dataclass(frozen=True, slots=True)
class Loopback:
    """A federation in a folder: its file, its tables, and the names of its sites.

    Sites that are `masked` trust nobody; others trust the coordinator, and answer in the clear.
    """

    folder: Path
    names: Sequence[str]
    masked: bool = False

    @classmethod
    def write(cls, folder: Path, tables: Sequence[Table], names: Sequence[str], *, masked: bool = False) -> Loopback:
        """Write tables with the same columns, and a federation file in a frame drafted from the first."""
        folder.mkdir(parents=True)
        here = cls(folder, names, masked)
        for name, table in zip(names, tables, strict=True):
            write_table(here.data(name), table)
        variables = tables[0].columns
        federation = Federation(
            variables=variables,
            sites=tuple(SiteEntry(name, variables, (name,)) for name in names),
            blocks=tuple(BlockEntry(name, len(table.values)) for name, table in zip(names, tables, strict=True)),
        )
        write_federation(here.file, federation)
        return here

    @property
    def file(self) -> Path:
        """The federation file."""
        return self.folder / "federation.toml"

    @property
    def trust(self) -> list[str]:
        """What sites and runs say of the coordinator."""
        return [] if self.masked else [TRUST]

    @property
    def state(self) -> list[str]:
        """The option that says where the coordinator is."""
        return ["--state", str(self.folder / "coordinator")]

    def data(self, name: str) -> Path:
        """The table of a site."""
        return self.folder / f"{name}.parquet"

    def site(self, name: str) -> list[str]:
        """The options that every command of a site needs."""
        options = {"--name": name, "--federation": self.file, "--data": self.data(name), "--state": self.folder / name}
        return [str(part) for pair in options.items() for part in pair]

    def prepare(self) -> None:
        """Draft the frame and make the keys."""
        call("frame", "propose", str(self.data(self.names[0])), "--into", str(self.file))
        call("keys", "init", "--federation", str(self.file), "--out", str(self.folder / "keys"))

    @contextmanager
    def running(self) -> Iterator[None]:
        """The coordinator and all sites, until the block ends."""
        port, *local = free_ports(1 + len(self.names))
        keys = self.folder / "keys"
        trusted = ["--ca", str(keys / "ca.crt")]
        own = ["--certificate", str(keys / "server.pem"), "--key", str(keys / "server.key"), "--port", str(port)]
        with ExitStack() as stack:
            start = ("coordinator", "start", "--federation", str(self.file), *trusted, *own, *self.state)
            stack.enter_context(background(self.folder / "coordinator.log", *start))
            wait_for(self.folder / "coordinator" / "coordinator.json")
            for name, number in zip(self.names, local, strict=True):
                reach = ["--coordinator", f"127.0.0.1:{port}", "--local-port", str(number), "--key", str(keys / name)]
                serve = ("site", "serve", *self.site(name), *reach, *trusted, *self.trust)
                stack.enter_context(background(self.folder / f"{name}.log", *serve))
            yield

    def run(self, method: str) -> Finding:
        """Run a method over the sites."""
        out = self.folder / method
        asked = ["--federation", str(self.file), "--method", method, "--out", str(out), *self.trust]
        call("coordinator", "run", *asked, *self.state)
        return read_finding(out)

    def equals_one_process(self, finding: Finding) -> bool:
        """Whether one process gives the same order and effects, to the last bit."""
        data = {name: self.data(name) for name in self.names}
        transport = in_process(read_federation(self.file), data, finding.settings.arithmetic)
        estimate = run(build(finding.method).rounds(transport.setting), transport)
        return bool(
            np.array_equal(finding.estimate.B, estimate.B) and np.array_equal(finding.estimate.order, estimate.order)
        )


def call(*arguments: str) -> None:
    """Run a command of fedrcd in front of the reader."""
    say(f"$ fedrcd {' '.join(arguments)}")
    subprocess.run([sys.executable, "-m", "fedrcd", *arguments], check=True)


@contextmanager
def background(log: Path, *arguments: str) -> Iterator[None]:
    """A command of fedrcd that runs until the block ends."""
    say(f"$ fedrcd {' '.join(arguments)} &")
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", "fedrcd", *arguments], stdout=file, stderr=file)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    until = time.monotonic() + READY
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{path} was not written within {READY:.0f} s")
        time.sleep(0.2)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def say(text: str) -> None:
    """Print at once: processes print too."""
    print(text, flush=True)
