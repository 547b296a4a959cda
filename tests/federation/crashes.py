"""What must be true after a crash, whatever was going on; used by tests and by the verification."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.verify import verify_ledger
from tests.federation import faults

ROOT = Path(__file__).parents[2]


def evenly(points: int, writes: int) -> list[int]:
    """So many of the writes, the first and the last among them."""
    return sorted({1 + (writes - 1) * k // (points - 1) for k in range(points)})


def crashed(folder: Path, *arguments: str) -> Iterator[dict[str, Any]]:
    """Reports of a process whose children met faults; the first is of a child that met none."""
    command = [sys.executable, "-m", "tests.federation.faults", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    yield from map(json.loads, done.stdout.splitlines())


def secrets_of(folder: Path, site: str = "a") -> list[bytes]:
    """Bytes of a contribution that must be gone once it is replaced: its salt, and numbers of its sums."""
    with Ledger.open(folder / "ledger.db") as ledger:
        payload = ledger.payload((site, f"block-{site}"))
    salt = payload[payload.index(b'"salt":"') + 8 :][:64]
    return [salt, payload[-200:-150], payload[-90:-40]]


def found_in_files(folder: Path, wanted: list[bytes]) -> list[str]:
    """Files that hold any of some bytes."""
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(one in path.read_bytes() for one in wanted)
    ]


def problems_after(report: dict[str, Any], final_state: str, old: list[bytes]) -> list[str]:
    """What is wrong after a crash, before and after the same commands are given again."""
    folder = Path(report["folder"])
    problems = [str(finding) for finding in verify_ledger(folder / "ledger.db")]
    with Ledger.open(folder / "ledger.db") as ledger:
        hashes = {entry.hash for entry in ledger.entries}
        replaced = ledger.roster.versions["a", "block-a"] > 1
    problems += [f"lost {one}" for one in report["acknowledged"] if one not in hashes]
    if replaced:
        problems += [f"old bytes in {name}" for name in found_in_files(folder, old)]
    faults.scenario(folder, lambda _: None)
    with Ledger.open(folder / "ledger.db") as ledger:
        if ledger.state_id != final_state:
            problems.append("another state than without the crash")
    problems += [str(finding) for finding in verify_ledger(folder / "ledger.db")]
    problems += [f"old bytes in {name} at the end" for name in found_in_files(folder, old)]
    return [f"{report['mode']} at write {report['point']}: {problem}" for problem in problems]
