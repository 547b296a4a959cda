"""The command that makes certain results, for messages that say what to do."""

from __future__ import annotations

import shlex
from pathlib import Path

from experiments.harness.cells import FULL, QUICK, Scale


def usual_folder(scale: Scale) -> Path:
    """Where results go unless the user chooses a folder."""
    return Path("results") / ("full" if scale.full else "quick")


def run_command(name: str, folder: Path, scale: Scale, *, fresh: bool = False) -> str:
    """What to type to run an experiment, or all, so that the results of this scale come into this folder."""
    words = ["python", "-m", "experiments", "run", name]
    if scale.full:
        words.append("--full")
    if scale.seeds != (FULL if scale.full else QUICK).seeds:
        words += ["--seeds", str(scale.seeds)]
    if folder != usual_folder(scale):
        words += ["--results", str(folder)]
    if fresh:
        words.append("--fresh")
    return f"`{shlex.join(words)}`"
