"""Real crashes at numbered write points: `python -m tests.federation.faults FOLDER [--all]` kills itself, and reports.

SQLite lets its system calls be replaced, for tests like these. Every write to a file passes through here and is
counted; at the chosen one the process is killed with SIGKILL before it, or in the middle of it, or the disk is full
from then on. The scenario runs in a child process per write point; the parent prints a line of JSON for each.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from fedrcd.api.membership import erase, membership, send, withdraw
from fedrcd.errors import FedrcdError
from fedrcd.federation.ledger.ledger import Ledger
from tests.federation.living import SECRET, TRIAL, configured, federation_of, frame_of, lenient, rows_of, sample

MODES = {"kill": 4, "tear": 12, "full": 12}
"""At every how many write points each fault is tried; with --all, at every one."""

FEDERATION = federation_of(2, ("a", "b"))
CONFIGURATION = configured(FEDERATION, families=("pairs/4",))
TABLES = {site: frame_of(sample(2, 40, seed)) for seed, site in enumerate("ab")}
ERASED = "r7"

POINTER = ctypes.c_void_p
SLOTS = 12 + 1
"""Functions of SQLite's file system layer before the one that replaces system calls."""


class _Layer(ctypes.Structure):
    """SQLite's `sqlite3_vfs`."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("size", ctypes.c_int),
        ("longest", ctypes.c_int),
        ("next", POINTER),
        ("name", ctypes.c_char_p),
        ("data", POINTER),
        ("functions", POINTER * SLOTS),
        ("set_system_call", ctypes.CFUNCTYPE(ctypes.c_int, POINTER, ctypes.c_char_p, POINTER)),
    ]


class Faults:
    """Counts writes and fails at one; keep it alive as long as SQLite is in use."""

    def __init__(self, mode: str, point: int) -> None:
        self.mode, self.point, self.count = mode, point, 0
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Layer)
        self._layer = library.sqlite3_vfs_find(None)
        self._system = ctypes.CDLL(None, use_errno=True)
        size, offset = ctypes.c_size_t, ctypes.c_int64
        self._kept = [
            self._replace("write", ctypes.c_ssize_t, ctypes.c_int, POINTER, size),
            self._replace("pwrite", ctypes.c_ssize_t, ctypes.c_int, POINTER, size, offset),
            self._replace("pwrite64", ctypes.c_ssize_t, ctypes.c_int, POINTER, size, offset),
            self._replace("ftruncate", ctypes.c_int, ctypes.c_int, offset),
            self._replace("unlink", ctypes.c_int, ctypes.c_char_p),
        ]

    def _replace(self, name: str, result: type, *arguments: type) -> Callable[..., int]:
        real = ctypes.CFUNCTYPE(result, *arguments, use_errno=True)((name, self._system))

        def instead(*given: object) -> int:
            self.count += 1
            if self.mode == "full" and self.count >= self.point:
                ctypes.set_errno(errno.ENOSPC)
                return -1
            if self.count == self.point:
                if self.mode == "tear" and "write" in name:
                    real(given[0], given[1], int(given[2]) // 2, *given[3:])  # type: ignore[call-overload]
                os.kill(os.getpid(), signal.SIGKILL)
            return int(real(*given))

        made = ctypes.CFUNCTYPE(result, *arguments, use_errno=True)(instead)
        found = self._layer.contents.set_system_call(self._layer, name.encode(), ctypes.cast(made, POINTER))
        assert found == 0, f"SQLite has no system call {name}"
        return made


def prepare(folder: Path) -> None:
    """A federation of two sites that both contributed once."""
    with Ledger.create(folder / "ledger.db", CONFIGURATION, TRIAL, secret=SECRET) as ledger:
        for site, table in TABLES.items():
            with membership(FEDERATION, site, CONFIGURATION, folder / site, lenient()) as member:
                send(member, rows_of(table, FEDERATION, site), ledger)


def scenario(folder: Path, acknowledge: Callable[[str], None]) -> None:
    """A row is erased, a site leaves, a result is listed; begins where an earlier run was stopped."""
    with Ledger.open(folder / "ledger.db") as ledger:
        with membership(FEDERATION, "a", CONFIGURATION, folder / "a", lenient()) as member:
            rows = rows_of(TABLES["a"], FEDERATION, "a")
            if member.store.marker.of_id(ERASED) in member.store.struck.persons():
                deliveries = send(member, rows, ledger)
            else:
                _, deliveries = erase(member, rows, ledger, ids=[ERASED], now=True)
            for one in deliveries:
                if one.receipt:
                    acknowledge(one.receipt.entry.hash)
        with membership(FEDERATION, "b", CONFIGURATION, folder / "b", lenient()) as member:
            if not member.store.sent.is_withdrawn("block-b"):
                for _, receipt in withdraw(member, ["block-b"], ledger):
                    if receipt:
                        acknowledge(receipt.entry.hash)
        if not ledger.roster.results:
            acknowledge(ledger.record_result("fedrcd-ni", {}, "a result").entry.hash)


Scenario = Callable[[Path, Callable[[str], None]], None]


def attempt(folder: Path, mode: str, point: int, scenario: Scenario = scenario) -> dict[str, object]:
    """Run a scenario in a child that meets its fault; what it acknowledged, and how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        faults = Faults(mode, point)
        code = 0
        try:
            scenario(folder, lambda text: (os.write(writing, text.encode() + b"\n"), None)[1])
        except FedrcdError as problem:
            os.write(writing, f"error {type(problem).__name__}: {problem}\n".encode())
            code = 4
        os.write(writing, f"writes {faults.count}\n".encode())
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    return {
        "mode": mode,
        "point": point,
        "folder": str(folder),
        "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
        "code": None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
        "acknowledged": [line for line in lines if " " not in line],
        "error": next((line for line in lines if line.startswith("error")), None),
        "writes": next((int(line.split()[1]) for line in lines if line.startswith("writes")), None),
    }


def main(folder: Path, modes: dict[str, int]) -> None:
    """Fail at one write point after the other, in every mode."""
    start = folder / "start"
    start.mkdir()
    prepare(start)
    whole = shutil.copytree(start, folder / "whole")
    counted = attempt(whole, "none", 0)
    print(json.dumps(counted), flush=True)
    for mode, step in modes.items():
        for point in range(1, int(str(counted["writes"])) + 1, step):
            copy = shutil.copytree(start, folder / f"{mode}-{point}")
            print(json.dumps(attempt(copy, mode, point)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), dict.fromkeys(MODES, 1) if "--all" in sys.argv else MODES)
