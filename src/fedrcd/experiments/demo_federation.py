"""Three hospitals and a coordinator on this machine, with TLS and keys: `make demo-federation`.

Starts the processes by the commands that people would use, runs a method of one round and one of many, compares both with
the same methods in one process to the last bit, and stops everything it started.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fedrcd.data.examples import hospitals
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, read_federation, write_federation
from fedrcd.data.read import write_table
from fedrcd.federation.plan import Outcome
from fedrcd.federation.reference import in_process
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run

METHODS = ("fedrcd-s", "fedrcd-x")
FOLDER = Path("demo-federation")
READY = 90.0


def main() -> int:
    """Run the demonstration; 0 if every result was right."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    names = write_tables()
    say("three hospitals, each with its table; nobody sends rows")
    call("frame", "propose", str(data(names[0])), "--into", str(toml()))
    call("keys", "init", "--federation", str(toml()), "--out", str(FOLDER / "keys"))
    for name in names:
        call("site", "check", *site_options(name))
    call("site", "preview", METHODS[0], *site_options(names[0]))
    port, *local = free_ports(1 + len(names))
    secured = ["--ca", str(FOLDER / "keys" / "ca.crt")]
    server = ["--certificate", str(FOLDER / "keys" / "server.pem"), "--key", str(FOLDER / "keys" / "server.key")]
    state = ["--state", str(FOLDER / "coordinator")]
    with background(
        "coordinator", "start", "--federation", str(toml()), "--port", str(port), *secured, *server, *state
    ):
        wait_for(FOLDER / "coordinator" / "coordinator.json")
        with sites(names, port, local, secured):
            for method in METHODS:
                out = FOLDER / method
                call("coordinator", "run", "--federation", str(toml()), "--method", method, "--out", str(out), *state)
            call("coordinator", "status", *state)
        call("site", "log", "--state", str(FOLDER / names[0]))
    right = [compare(method, names) for method in METHODS]
    say(f"stopped everything; {FOLDER}/ has tables, keys, logs and results")
    return 0 if all(right) else 1


def compare(method: str, names: Sequence[str]) -> bool:
    """Whether machines and one process agree in every bit of the effects."""
    outcome = Outcome.read(FOLDER / method)
    transport = in_process(read_federation(toml()), {name: data(name) for name in names}, outcome.arithmetic)
    estimate = run(build(method).rounds(transport.setting), transport)
    same = bool(
        np.array_equal(outcome.estimate.B, estimate.B) and np.array_equal(outcome.estimate.order, estimate.order)
    )
    seconds = ", ".join(f"{one:.1f}" for one in outcome.seconds)
    say(f"{method}: {'equal to the last bit' if same else 'DIFFERENT'} in one process; seconds per round: {seconds}")
    return same


def write_tables() -> list[str]:
    """Write the tables of the example and the federation file; the names of the sites."""
    tables = hospitals()
    FOLDER.mkdir(parents=True)
    names = [table.source.removesuffix(".csv").replace("_", "-") for table in tables]
    for name, table in zip(names, tables, strict=True):
        write_table(data(name), table)
    variables = tables[0].names
    write_federation(
        toml(),
        Federation(
            variables=variables,
            sites=tuple(SiteEntry(name, variables, (name,)) for name in names),
            blocks=tuple(BlockEntry(name, len(table.values)) for name, table in zip(names, tables, strict=True)),
        ),
    )
    return names


def data(name: str) -> Path:
    """The table of a site."""
    return FOLDER / f"{name}.parquet"


def toml() -> Path:
    """The federation file."""
    return FOLDER / "federation.toml"


def site_options(name: str) -> list[str]:
    """What every command of a site needs."""
    options = {"--name": name, "--federation": toml(), "--data": data(name), "--state": FOLDER / name}
    return [str(part) for pair in options.items() for part in pair]


def call(*arguments: str) -> None:
    """Run a command of fedrcd in front of the reader."""
    say(f"$ fedrcd {' '.join(arguments)}")
    subprocess.run([sys.executable, "-m", "fedrcd", *arguments], check=True)


@contextmanager
def sites(names: Sequence[str], port: int, local: Sequence[int], secured: Sequence[str]) -> Iterator[None]:
    """All sites, connected to the coordinator."""
    if not names:
        yield
        return
    name, key = names[0], FOLDER / "keys" / names[0]
    options = [*site_options(name), "--coordinator", f"127.0.0.1:{port}", "--local-port", str(local[0])]
    with background("site", "serve", *options, *secured, "--key", str(key)), sites(names[1:], port, local[1:], secured):
        yield


@contextmanager
def background(*arguments: str) -> Iterator[None]:
    """A command of fedrcd that runs until the block ends."""
    say(f"$ fedrcd {' '.join(arguments)} &")
    log = FOLDER / f"{arguments[0]}-{time.monotonic_ns()}.log"
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


if __name__ == "__main__":
    sys.exit(main())
