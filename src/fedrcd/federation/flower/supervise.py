"""Processes that end with the one that started them, and a site's connection that comes back by itself."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from fedrcd.federation.flower.processes import Command

AGAIN = 5.0
"""Seconds before a connection that ended is tried again."""

LONG = 60.0
"""Seconds after which a connection was one: what is wrong then is news."""

UNKNOWN_NODE = 77
"""Exit code of a SuperNode that the coordinator does not know."""

REASONS = {
    UNKNOWN_NODE: "the coordinator does not know the key of this site: is it the one in the coordinator's federation "
    "file, or was the coordinator only just started?"
}
"""Why a connection ended, by exit code."""

PR_SET_PDEATHSIG = 1


def spawn(command: Command, output: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own; where the system can, it ends when this one is killed."""
    return subprocess.Popen(
        command.arguments,
        env=command.full_environment(),
        stdout=output,
        stderr=output,
        start_new_session=True,
        preexec_fn=_end_with_parent if sys.platform == "linux" else None,
    )


def stop(process: subprocess.Popen[bytes], seconds: float = 15.0) -> None:
    """End a process and whatever it started in its session."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        return


class Interruption:
    """Being told to end: a `KeyboardInterrupt`, put off while something must not be left half done."""

    def __init__(self) -> None:
        self._held = self._pending = False

    def tell(self, *_: object) -> None:
        """Interrupt, now or as soon as it may be."""
        if not self._held:
            raise KeyboardInterrupt
        self._pending = True

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put interruptions off."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Being told to end is a `KeyboardInterrupt`, however it is told."""
    interruption = Interruption()
    numbers = (signal.SIGTERM, signal.SIGINT)
    previous = {number: signal.signal(number, interruption.tell) for number in numbers}
    try:
        yield interruption
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def running(
    command: Command, interruption: Interruption, output: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended with this block, whenever that is interrupted."""
    process = None
    try:
        with interruption.held():
            process = spawn(command, output)
        yield process
    finally:
        if process is not None:
            with interruption.held():
                stop(process)


def keep_running(
    command: Command,
    say: Callable[[str], None],
    pause: float = AGAIN,
    *,
    unreachable: Callable[[], str] = lambda: "",
    output: IO[bytes] | None = None,
) -> None:
    """Run a command, again and again when it ends, until this process is told to end.

    SuperNode ends when the coordinator does not know it: before its key is admitted, and after the coordinator was
    started anew. `unreachable` says what keeps it from the coordinator, before it is started; what is wrong is said
    once, until something else is.
    """
    told = ""

    def tell(text: str) -> None:
        nonlocal told
        if text != told:
            say(text)
        told = text

    with interruptible() as interruption:
        try:
            while True:
                reason = unreachable()
                if not reason:
                    began = time.monotonic()
                    with running(command, interruption, output) as process:
                        code = process.wait()
                    if time.monotonic() - began > LONG:
                        told = ""
                    reason = REASONS.get(
                        code, f"the connection ended (code {code}); flower.log in the state folder says more"
                    )
                tell(f"{reason}; trying again every {pause:g} s")
                time.sleep(pause)
        except KeyboardInterrupt:
            say("stopping")


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
