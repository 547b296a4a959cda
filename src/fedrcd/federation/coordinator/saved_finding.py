"""What a run found, in files of its folder: JSON, replicates and residual sums; every number keeps its bits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from fedrcd.confidence.checks import Check
from fedrcd.confidence.replicates import Replicates, Resampled
from fedrcd.errors import FileError, ProtocolError
from fedrcd.federation.coordinator.run_folder import read_json, write_json
from fedrcd.methods.doubt import Doubt
from fedrcd.methods.hidden.found import HiddenCauses
from fedrcd.methods.settings import Settings
from fedrcd.methods.skeleton import Estimate, Marginals, Step
from fedrcd.protocol.wire import from_bytes, to_bytes
from fedrcd.runs.finding import Checked, Finding
from fedrcd.statistics.exact_sums import Clipped
from fedrcd.statistics.residual_sums import ResidualSums

FINDING, REPLICATES, RESIDUALS = "finding.json", "replicates.npz", "residuals.sums"


def write_finding(folder: str | os.PathLike[str], finding: Finding) -> None:
    """Write what was found into the folder of the run, the file that says it is finished last."""
    own = ("settings", "estimate", "clipped", "resampled", "checked", "rivals")
    content = {name: getattr(finding, name) for name in finding.__dataclass_fields__ if name not in own}
    clipped = finding.clipped
    content |= {
        "settings": finding.settings.as_dict(),
        "estimate": _estimate_content(finding.estimate),
        "rivals": {name: _estimate_content(one) for name, one in finding.rivals.items()},
        "clipped": None if clipped is None else (clipped.least, clipped.most),
        "resampled": finding.resampled is not None,
        "checked": write_checked(Path(folder), finding.checked) if finding.checked else None,
    }
    if finding.resampled:
        write_replicates(Path(folder), finding.resampled)
    write_json(Path(folder) / FINDING, content)


def read_finding(folder: str | os.PathLike[str]) -> Finding:
    """What was found by the run of a folder."""
    content = read_json(Path(folder) / FINDING)
    try:
        estimate = _estimate(content["estimate"])
        lists = ("variables", "sites", "missing", "seconds", "warnings")
        clipped, checked, order = (content[name] for name in ("clipped", "checked", "standardised"))
        parts = {
            "settings": Settings.from_dict(content["settings"]),
            "estimate": estimate,
            "rivals": {name: _estimate(one) for name, one in content.get("rivals", {}).items()},
            "clipped": Clipped(*clipped) if clipped else None,
            "resampled": read_replicates(Path(folder), estimate) if content["resampled"] else None,
            "checked": read_checked(Path(folder), checked) if checked else None,
            "standardised": None if order is None else np.array(order, dtype=np.int64),
        }
        return Finding(**{**content, **{name: tuple(content[name]) for name in lists}, **parts})
    except (TypeError, KeyError, ValueError):
        raise FileError(f"{Path(folder) / FINDING} is not what a run found") from None


def _estimate_content(estimate: Estimate) -> dict[str, Any]:
    marginals = {name: getattr(estimate.marginals, name) for name in Marginals.__dataclass_fields__}
    steps = [{name: getattr(step, name) for name in Step.__dataclass_fields__} for step in estimate.steps]
    return {
        "order": estimate.order,
        "B": estimate.B,
        "steps": steps,
        "marginals": marginals,
        "start": estimate.start,
        "hidden": None if estimate.hidden is None else asdict(estimate.hidden),
        "doubt": estimate.doubt and asdict(estimate.doubt),
    }


def _estimate(content: Mapping[str, Any]) -> Estimate:
    steps = tuple(
        Step(tuple(step["candidates"]), np.array(step["scores"]), step["chosen"], step["margin"])
        for step in content["steps"]
    )
    marginals: dict[str, Any] = {
        name: np.array(value) if isinstance(value, list) else value for name, value in content["marginals"].items()
    }
    return Estimate(
        order=np.array(content["order"], dtype=np.int64),
        B=np.array(content["B"], dtype=float),
        steps=steps,
        marginals=Marginals(**marginals),
        start=np.array(content["start"], dtype=np.int64),
        hidden=_hidden(content.get("hidden")),
        doubt=_doubt(content.get("doubt")),
    )


def _hidden(content: Mapping[str, Any] | None) -> HiddenCauses | None:
    if content is None:
        return None
    return HiddenCauses(
        np.array(content["evidence"], dtype=float),
        np.array(content["ancestors"], dtype=bool),
        np.array(content["open"], dtype=bool),
    )


def _doubt(content: Mapping[str, Any] | None) -> Doubt | None:
    if content is None:
        return None
    return Doubt(**{**content, **{name: tuple(content[name]) for name in ("worst", "neighbours")}})


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
