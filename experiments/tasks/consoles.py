"""A federation on this machine whose people use pages in a browser: processes with TLS and keys, and their consoles."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from experiments.tasks.loopback import Loopback, background, call, free_ports, wait_for
from fedrcd.data.examples import hospitals
from fedrcd.data.table import Table

NAMES = ("hospital-a", "hospital-b", "hospital-c")
READY = 120.0
"""Seconds that a console may take to be there, on a busy machine."""


@dataclass(slots=True)
class Consoles:
    """Three hospitals, a coordinator with a ledger, and the links to their pages."""

    here: Loopback
    port: int
    local: list[int]
    links: dict[str, str] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @classmethod
    def write(cls, folder: Path) -> Consoles:
        """Tables with identifiers, keys and a ledger."""
        here = Loopback.write(folder, hospitals(), NAMES)
        for name, table in zip(NAMES, hospitals(), strict=True):
            write_rows(here.data(name), name, table)
        here.prepare()
        call("ledger", "new", str(folder / "ledger.db"), "--federation", str(here.file))
        port, *local = free_ports(8)
        return cls(here, port, local)

    @property
    def folder(self) -> Path:
        """Where everything is."""
        return self.here.folder

    @property
    def ledger(self) -> Path:
        """The ledger."""
        return self.folder / "ledger.db"

    def file_of(self, name: str) -> Path:
        """A site's own copy of the federation file."""
        path = self.folder / name / "federation.toml"
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            path.write_text(self.here.file.read_text(encoding="utf-8"), encoding="utf-8")
        return path

    def serving(self, name: str, *, key: Path | None = None, file: Path | None = None) -> list[str]:
        """The command of a site whose people approve every answer."""
        keys = self.folder / "keys"
        options: dict[str, object] = {
            "--name": name,
            "--federation": file or self.file_of(name),
            "--data": self.here.data(name),
            "--state": self.folder / name,
            "--coordinator": f"127.0.0.1:{self.port}",
            "--local-port": self.local.pop(),
            "--key": key or keys / name,
            "--ca": keys / "ca.crt",
        }
        told = [str(part) for pair in options.items() for part in pair]
        return ["site", "serve", *told, "--approve", "--clear"]

    @contextmanager
    def running(self, names: Sequence[str] = NAMES, *, consoles: bool = True) -> Iterator[None]:
        """Coordinator, sites and their consoles, until the block ends."""
        keys, folder = self.folder / "keys", self.folder
        own = ["--certificate", str(keys / "server.pem"), "--key", str(keys / "server.key"), "--port", str(self.port)]
        start = ["coordinator", "start", "--federation", str(self.here.file), "--ca", str(keys / "ca.crt"), *own]
        with ExitStack() as stack:
            stack.callback(self.stop_all)
            stack.enter_context(background(folder / "coordinator.log", *start, *self.here.state))
            wait_for(folder / "coordinator" / "coordinator.json")
            for name in names:
                self.start(name, *self.serving(name))
            if consoles:
                page = ["coordinator", "console", "--federation", str(self.here.file), "--ledger", str(self.ledger)]
                self.open_console("coordinator", *page, *self.here.state)
                for name in names:
                    wait_for(folder / name / "site.json")
                    self.open_console(name, "site", "console", "--state", str(folder / name))
            yield

    def start(self, name: str, *arguments: str) -> None:
        """Start a command in a session of its own, which `stop` ends."""
        with (self.folder / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", "fedrcd", *arguments]
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def open_console(self, name: str, *arguments: str) -> None:
        """Start a console, and note its link."""
        log = self.folder / f"{name}-console.log"
        self.start(f"{name}-console", *arguments)
        until = time.monotonic() + READY
        while (found := re.search(r"https?://\S+/enter\?once=\S+", log.read_text() if log.exists() else "")) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"the console of {name} was not there within {READY:.0f} s; see {log}")
            time.sleep(0.1)
        self.links[name] = found[0]

    def stop(self, name: str) -> None:
        """End a command as an operator would."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @contextmanager
    def silent(self, name: str) -> Iterator[None]:
        """A site that nothing is heard of, as if its cable were cut: connections stay open, and nobody says goodbye."""
        numbers = [self.processes[name].pid, *children_of(self.processes[name].pid)]
        for number in numbers:
            os.kill(number, signal.SIGSTOP)
        try:
            yield
        finally:
            for number in numbers:
                os.kill(number, signal.SIGCONT)

    def stop_all(self) -> None:
        """End everything that was started, the last first."""
        for name in list(self.processes)[::-1]:
            self.stop(name)


def children_of(process: int) -> list[int]:
    """All processes below one, as Linux lists them."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found += [child, *children_of(child)]
    return found


def write_rows(path: Path, name: str, table: Table) -> None:
    """A table with a column of identifiers."""
    rows = pd.DataFrame(table.values, columns=list(table.columns))
    rows.insert(0, "id", [f"{name}-{k:05}" for k in range(len(rows))])
    rows.to_parquet(path, index=False)
