"""How long a user waits before anything happens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import BenchmarkRow, side_by_side


def run() -> Iterator[BenchmarkRow]:
    """`import fedrcd` and `fedrcd --help` in fresh processes."""
    python = sys.executable

    def command(*arguments: str) -> None:
        subprocess.run([python, *arguments], check=True, capture_output=True)

    nothing, package, help_text = side_by_side(
        lambda: command("-c", ""),
        lambda: command("-c", "import fedrcd"),
        lambda: command("-c", "from fedrcd.cli.main import app; app(['--help'])"),
    )
    yield BenchmarkRow("import fedrcd, beyond starting Python", f"{package - nothing:.2f} s", "< 0.5 s")
    yield BenchmarkRow("fedrcd --help", f"{help_text:.2f} s", "< 1 s")
