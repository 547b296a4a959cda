"""What a run keeps, beside its estimate, to judge it by: replicates, and sums of residuals. Each is a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from fedrcd.errors import FileError, ProtocolError
from fedrcd.methods.bootstrap import Replicates, Resampled
from fedrcd.methods.checks import Check
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.wire import from_bytes, to_bytes
from fedrcd.statistics.residual_sums import ResidualSums

REPLICATES, RESIDUALS = "replicates.npz", "residuals.sums"


@dataclass(frozen=True, slots=True)
class Checked:
    """What checks of assumptions are made from: residual sums, or why there are none; and what they cost."""

    residuals: ResidualSums | None
    problem: str
    scale: Check
    rounds: int
    bytes_sent: int


def write_replicates(folder: Path, resampled: Resampled) -> None:
    """Keep replicates, to the last bit."""
    drawn = resampled.replicates
    spared = {site: other for site, other in resampled.without.items() if not isinstance(other, str)}
    needed = {site: other for site, other in resampled.without.items() if isinstance(other, str)}
    facts = [drawn.failed, resampled.units, resampled.blocks, resampled.smallest]
    p = drawn.B.shape[-1]
    try:
        np.savez_compressed(
            folder / REPLICATES,
            orders=drawn.orders,
            B=drawn.B,
            cov=drawn.cov,
            facts=np.array(facts),
            sites=np.array(list(spared), dtype=str),
            orders_without=np.array([order for order, _ in spared.values()], dtype=np.int64).reshape(-1, p),
            B_without=np.array([B for _, B in spared.values()], dtype=float).reshape(-1, p, p),
            needed=np.array(list(needed.items()), dtype=str).reshape(-1, 2),
        )
    except OSError as problem:
        raise FileError(f"cannot write {folder / REPLICATES}: {problem.strerror}") from None


def read_replicates(folder: Path, estimate: Estimate) -> Resampled:
    """The replicates that a run kept."""
    path = folder / REPLICATES
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            failed, units, blocks, smallest = kept["facts"].tolist()
            spared = zip(kept["sites"].tolist(), kept["orders_without"], kept["B_without"], strict=True)
            without: dict[str, Any] = {site: (order, B) for site, order, B in spared}
            without |= dict(kept["needed"].tolist())
            drawn = Replicates(kept["orders"], kept["B"], kept["cov"], failed)
            return Resampled(estimate, drawn, units, blocks, smallest, without)
    except (OSError, ValueError, KeyError, BadZipFile):
        raise FileError(f"{path} does not hold the replicates of a run") from None


def write_checked(folder: Path, checked: Checked) -> dict[str, Any]:
    """Keep residual sums in a file of their own, and give back the rest as JSON has it."""
    if checked.residuals is not None:
        try:
            (folder / RESIDUALS).write_bytes(to_bytes(checked.residuals))
        except OSError as problem:
            raise FileError(f"cannot write {folder / RESIDUALS}: {problem.strerror}") from None
    facts = {name: getattr(checked, name) for name in ("problem", "rounds", "bytes_sent")}
    return {**facts, "scale": asdict(checked.scale)}


def read_checked(folder: Path, content: Mapping[str, Any]) -> Checked:
    """What `write_checked` kept."""
    residuals = None
    if not content["problem"]:
        try:
            residuals = from_bytes((folder / RESIDUALS).read_bytes(), ResidualSums)
        except (OSError, ProtocolError):
            raise FileError(f"{folder / RESIDUALS} does not hold the residual sums of a run") from None
    return Checked(residuals, content["problem"], Check(**content["scale"]), content["rounds"], content["bytes_sent"])
