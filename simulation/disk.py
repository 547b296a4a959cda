"""Disks of machines that may die: every write of SQLite and of Python passes here, and may be the last.

SQLite's way to files is replaced at one place, its opening of a file; from there on writes, cuts and syncs are ours.
What was written and not synced is remembered, so that a power cut can take some of it back. Other files are seen by
Python's own audit of what is opened, renamed and removed.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import errno
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

POINTER = ctypes.c_void_p
OK, IO_ERROR, IO_SHORT, FULL = 0, 10, 522, 13

OPEN = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, POINTER, ctypes.c_int, POINTER)
DELETE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, ctypes.c_char_p, ctypes.c_int)
CLOSE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER)
MOVE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, ctypes.c_int, ctypes.c_int64)
TRUNCATE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, ctypes.c_int64)
SYNC = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, ctypes.c_int)
SIZE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER)


class _Layer(ctypes.Structure):
    """The beginning of SQLite's `sqlite3_vfs`."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("size", ctypes.c_int),
        ("longest", ctypes.c_int),
        ("next", POINTER),
        ("name", ctypes.c_char_p),
        ("data", POINTER),
        ("open", POINTER),
        ("delete", POINTER),
    ]


class _Methods(ctypes.Structure):
    """SQLite's `sqlite3_io_methods`: what can be done with an open file."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("close", POINTER),
        ("read", POINTER),
        ("write", POINTER),
        ("truncate", POINTER),
        ("sync", POINTER),
        ("size", POINTER),
        ("others", POINTER * 12),
    ]


class Killed(BaseException):
    """The process of a machine is gone: no code of it may go on, and none may catch this."""


class Write(NamedTuple):
    """What was written where, and what had been there; `size` is how long the file had been."""

    offset: int
    before: bytes
    after: bytes | None
    size: int


@dataclass(slots=True)
class Failing:
    """What is wrong with the disk of a machine: the mode, and how many more writes come before it.

    `kill`: the process is gone before a write; `tear`: in the middle of it. `full`: nothing can be written from there
    on. `power`: as `kill`, and some of what was not synced is lost.
    """

    mode: str
    left: int
    struck: bool = False


@dataclass
class Disk:
    """The disks of all machines; each has a folder of its own under `root`."""

    root: Path
    draw: Callable[[int], int]
    failing: dict[str, Failing] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    writes: int = 0
    unsynced: dict[str, list[Write]] = field(default_factory=dict)
    struck: list[tuple[str, str]] = field(default_factory=list)
    connections: dict[str, list[sqlite3.Connection]] = field(default_factory=dict)
    _roots: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._roots = (f"{self.root}/", f"{self.root.resolve()}/")

    def machine_of(self, path: str) -> str:
        """The machine whose file it is, by a whole path or by one from here; empty for files of nobody."""
        for root in self._roots:
            if path.startswith(root):
                return path[len(root) :].split("/", 1)[0]
        return ""

    def point(self, machine: str) -> str:
        """One more write: how it fails, or nothing."""
        if machine in self.dead:
            return "dead"
        self.writes += 1
        failing = self.failing.get(machine)
        if failing is None:
            return ""
        failing.left -= 1
        if failing.left > 0:
            return ""
        if not failing.struck:
            failing.struck = True
            self.struck.append((machine, failing.mode))
        if failing.mode != "full":
            self.dead.add(machine)
        return failing.mode

    def end(self, machine: str) -> None:
        """The machine stops, whatever it was doing; a power cut takes back some of what was not synced."""
        failing = self.failing.get(machine)
        if failing is not None and failing.mode != "full":
            self.dead.add(machine)
        for one in self.connections.pop(machine, ()):
            one.close()
        self.failing.pop(machine, None)
        self.dead.discard(machine)
        if failing is not None and failing.mode == "power":
            if not failing.struck:
                self.struck.append((machine, failing.mode))
            self._lose(machine)
        for path in [one for one in self.unsynced if self.machine_of(one) == machine]:
            del self.unsynced[path]

    def _lose(self, machine: str) -> None:
        for path, writes in sorted(self.unsynced.items()):
            if self.machine_of(path) != machine or not os.path.exists(path):
                continue
            with open(path, "r+b") as file:
                for one in reversed(writes):
                    file.seek(one.offset)
                    file.write(one.before)
                    file.truncate(one.size)
                for one in writes:
                    if self.draw(2):
                        continue
                    if one.after is None:
                        file.truncate(one.offset)
                    else:
                        file.seek(one.offset)
                        file.write(one.after)


class Connection(sqlite3.Connection):
    """A connection of a machine: once that is dead, nothing comes back from it."""

    machine = ""

    def execute(self, *given: Any) -> sqlite3.Cursor:
        """As `sqlite3.Connection` does."""
        return self._alive(super().execute, *given)

    def executemany(self, *given: Any) -> sqlite3.Cursor:
        """As `sqlite3.Connection` does."""
        return self._alive(super().executemany, *given)

    def _alive(self, do: Callable[..., sqlite3.Cursor], *given: Any) -> sqlite3.Cursor:
        disk = _present()
        if self.machine in disk.dead:
            raise Killed(self.machine)
        try:
            return do(*given)
        except sqlite3.Error:
            if self.machine in disk.dead:
                raise Killed(self.machine) from None
            raise


def connect(path: str | os.PathLike[str], **options: Any) -> sqlite3.Connection:
    """As `sqlite3.connect`, for the machine whose file it is."""
    machine = _present().machine_of(os.fspath(path))
    if machine in _present().dead:
        raise Killed(machine)
    made = sqlite3.connect(path, factory=Connection, **options)
    made.machine = machine
    _present().connections.setdefault(machine, []).append(made)
    return made


@contextmanager
def disks(disk: Disk) -> Iterator[Disk]:
    """The disks that SQLite and Python write to meanwhile."""
    _Hooks.install()
    assert _Hooks.disk is None, "one simulation at a time"
    _Hooks.disk = disk
    try:
        yield disk
    finally:
        _Hooks.disk = None


def _present() -> Disk:
    assert _Hooks.disk is not None
    return _Hooks.disk


class _Hooks:
    """What is put between SQLite and the files of this process, once; it does nothing while no simulation runs."""

    disk: Disk | None = None
    kept: list[Any] = []  # noqa: RUF012 - C calls them as long as the process lives
    paths: dict[int, str] = {}  # noqa: RUF012
    methods: dict[int, Any] = {}  # noqa: RUF012

    @classmethod
    def install(cls) -> None:
        """Put them there."""
        if cls.kept:
            return
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Layer)
        layer = library.sqlite3_vfs_find(None).contents
        real_open, real_delete = OPEN(layer.open), DELETE(layer.delete)

        def opened(vfs: int, name: int | None, file: int, flags: int, told: int) -> int:
            code = real_open(vfs, name, file, flags, told)  # keeps the address of the name
            path = os.fsdecode(ctypes.string_at(name)) if name else ""
            if code == OK and cls.disk is not None and cls.disk.machine_of(path):
                cls.paths[file] = path
                place = ctypes.cast(file, ctypes.POINTER(POINTER))
                place[0] = cls._ours(place[0])
            return int(code)

        def deleted(vfs: int, name: bytes, sync: int) -> int:
            machine = cls.disk.machine_of(os.fsdecode(name)) if cls.disk is not None else ""
            if machine and cls.disk is not None and cls.disk.point(machine) not in ("", "tear", "full"):
                return IO_ERROR
            return int(real_delete(vfs, name, sync))

        cls.kept = [OPEN(opened), DELETE(deleted), real_open, real_delete]
        layer.open, layer.delete = (ctypes.cast(one, POINTER).value for one in cls.kept[:2])
        sys.addaudithook(cls._audited)

    @classmethod
    def _ours(cls, real_at: int) -> int:
        """The address of methods that count and fail, in place of SQLite's own."""
        if real_at not in cls.methods:
            real = _Methods.from_address(real_at)
            ours = _Methods.from_buffer_copy(real)
            callbacks = _callbacks(real)
            for name, callback in callbacks.items():
                setattr(ours, name, ctypes.cast(callback, POINTER).value)
            cls.methods[real_at] = (ours, callbacks)
        return ctypes.addressof(cls.methods[real_at][0])

    @classmethod
    def _audited(cls, event: str, given: tuple[Any, ...]) -> None:
        """Files of a machine that Python changes itself."""
        if cls.disk is None or event not in ("open", "os.rename", "os.remove", "os.mkdir", "os.truncate"):
            return
        if event == "open" and not _writes(given):
            return
        path = given[0]
        if not isinstance(path, str | os.PathLike):
            return
        machine = cls.disk.machine_of(os.fspath(path))
        if not machine:
            return
        how = cls.disk.point(machine)
        if how == "full" and event == "os.remove":
            return  # that gives room
        if how == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        if how:
            raise Killed(machine)


def _writes(given: tuple[Any, ...]) -> bool:
    _, mode, flags = given
    return bool(flags & (os.O_WRONLY | os.O_RDWR)) if mode is None else any(one in mode for one in "wax+")


def _callbacks(real: Any) -> dict[str, Any]:
    close, read, write = CLOSE(real.close), MOVE(real.read), MOVE(real.write)
    truncate, sync, size = TRUNCATE(real.truncate), SYNC(real.sync), SIZE(real.size)

    def length(file: int) -> int:
        found = ctypes.c_int64()
        size(file, ctypes.addressof(found))
        return int(found.value)

    def remember(file: int, offset: int, amount: int, after: bytes | None) -> None:
        disk = _Hooks.disk
        path = _Hooks.paths[file]
        failing = disk.failing.get(disk.machine_of(path)) if disk is not None else None
        if disk is None or failing is None or failing.mode != "power":
            return
        long = length(file)
        there = max(0, min(amount, long - offset))
        buffer = ctypes.create_string_buffer(max(there, 1))
        if there:
            read(file, ctypes.addressof(buffer), there, offset)
        disk.unsynced.setdefault(path, []).append(Write(offset, buffer.raw[:there], after, long))

    def failed(how: str) -> int:
        return FULL if how == "full" else IO_ERROR

    def closed(file: int) -> int:
        _Hooks.paths.pop(file, None)
        return int(close(file))

    def written(file: int, data: int, amount: int, offset: int) -> int:
        disk, path = _Hooks.disk, _Hooks.paths.get(file)
        if disk is None or path is None:
            return int(write(file, data, amount, offset))
        how = disk.point(disk.machine_of(path))
        if how == "tear":
            write(file, data, amount // 2, offset)
        if how:
            return failed(how)
        remember(file, offset, amount, ctypes.string_at(data, amount))
        return int(write(file, data, amount, offset))

    def cut(file: int, to: int) -> int:
        disk, path = _Hooks.disk, _Hooks.paths.get(file)
        if disk is not None and path is not None:
            how = disk.point(disk.machine_of(path))
            if how:
                return failed(how)
            remember(file, to, max(0, length(file) - to), None)
        return int(truncate(file, to))

    def synced(file: int, flags: int) -> int:
        disk, path = _Hooks.disk, _Hooks.paths.get(file)
        if disk is not None and path is not None:
            if disk.machine_of(path) in disk.dead:
                return IO_ERROR
            disk.unsynced.pop(path, None)
            return OK  # memory needs none
        return int(sync(file, flags))

    return {"close": CLOSE(closed), "write": MOVE(written), "truncate": TRUNCATE(cut), "sync": SYNC(synced)}
