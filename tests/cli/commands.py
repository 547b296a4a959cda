"""Commands as people type them, and what they print; in this process, which saves a second each, or in their own."""

from __future__ import annotations

import subprocess
import sys
import traceback
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import typer

from fedrcd.cli.main import app, main


def entered(
    *arguments: object, cwd: Path | None = None, commands: typer.Typer = app
) -> subprocess.CompletedProcess[str]:
    """What a process of its own would come to; a bug is a traceback and the code 1, as there."""
    words, out, err, code = [str(commands.info.name), *map(str, arguments)], StringIO(), StringIO(), 0
    with (
        chdir(cwd or Path.cwd()),
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", words),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        try:
            main(commands)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception:
            traceback.print_exc()
            code = 1
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def in_a_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "fedrcd", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """What was said last; signs of life may stand before it on a slow machine."""
    return done.stderr.splitlines()[-1]
