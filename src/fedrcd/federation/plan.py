"""A run of a method over a federation: what is asked for, how far it is, what came of it, each in a file of its folder.

The command that starts a run, the process that conducts it and whoever looks at it share nothing but these files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.confidence import Checked, read_checked, read_replicates, write_checked, write_replicates
from fedrcd.federation.deployed import Patience
from fedrcd.graphs.knowledge import Knowledge
from fedrcd.methods.bootstrap import Resampled
from fedrcd.methods.skeleton import Estimate, Marginals, Step
from fedrcd.statistics.grid import ARITHMETIC

HOW_TO_RUN = frozenset({"run", "folder", "allow_missing", "by_key", "wait", "patience"})
"""Parts of a plan that change nothing of what is asked."""

PLAN, STATUS, OUTCOME = "run.json", "status.json", "outcome.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """A bootstrap: how many replicates, of how many groups of rows per block, drawn by which seed."""

    replicates: int
    groups: int
    seed: int

    def __post_init__(self) -> None:
        if self.replicates < 1 or self.seed < 0:
            raise ConfigError("replicates must be at least 1 and the seed at least 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What is asked for.

    Parameters
    ----------
    run : str
        Identifies the run; a run that is resumed keeps it.
    federation : str
        Path of the federation file.
    folder : str
        Where status, recorded answers and outcome are kept.
    method, options
        What to run.
    arithmetic : {"exact", "compact", "float"}
        How sums are taken; exact ones have the same bits on any machine.
    allow_missing : bool
        Go on without sites that are missing, instead of stopping.
    by_key : bool
        Whether a node is the site whose key it has; otherwise it is believed its name.
    wait : float
        Seconds to wait at the start for sites to be there.
    patience : Patience
        How long to wait for answers.
    knowledge : Knowledge, optional
        What is known of the graph.
    resampling : Resampling, optional
        Ask for sums of groups of rows, and draw replicates from them.
    check : bool
        Ask, in one round more, for what checks of assumptions need.
    """

    run: str
    federation: str
    folder: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    arithmetic: str = "exact"
    allow_missing: bool = False
    by_key: bool = True
    wait: float = 60.0
    patience: Patience = field(default_factory=Patience)
    knowledge: Knowledge | None = None
    resampling: Resampling | None = None
    check: bool = False

    def __post_init__(self) -> None:
        if not (self.wait >= 0 and self.patience.deadline > 0 and self.patience.retries >= 0):
            raise ConfigError("wait and retries must be at least 0, the deadline above 0 seconds")
        if self.arithmetic not in ARITHMETIC:
            raise ConfigError(f"arithmetic must be one of {', '.join(ARITHMETIC)}, got {self.arithmetic!r}")

    def same_as(self, other: RunPlan) -> bool:
        """Whether another run asks the same, so that its answers can be used."""
        mine, others = (
            {name: value for name, value in asdict(plan).items() if name not in HOW_TO_RUN} for plan in (self, other)
        )
        return mine == others

    def write(self) -> None:
        """Write it into the folder of the run."""
        write_json(Path(self.folder) / PLAN, asdict(self))

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> RunPlan:
        """The plan in the folder of a run."""
        content = read_json(Path(folder) / PLAN)
        try:
            known, resampling = content["knowledge"], content["resampling"]
            parts = {
                "patience": Patience(**content["patience"]),
                "knowledge": known and Knowledge(**known),
                "resampling": resampling and Resampling(**resampling),
            }
            return cls(**{**content, **parts})
        except (TypeError, KeyError):
            raise FileError(f"{Path(folder) / PLAN} is not the plan of a run") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far a run is: `state` is "waiting", "running", "resampling", "finished" or "failed"."""

    state: str
    round: int = 0
    replicates: int = 0
    answered: int = 0
    waiting: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""
    exit_code: int = 0

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write it into the folder of the run, in one step."""
        write_json(Path(folder) / STATUS, asdict(self))

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Status | None:
        """The status in the folder of a run, if there is one yet."""
        path = Path(folder) / STATUS
        if not path.exists():
            return None
        content = read_json(path)
        return cls(**{**content, "waiting": tuple(content["waiting"]), "warnings": tuple(content["warnings"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run: the estimate, what it cost, and who took part.

    `clipped` is how many values exact sums had to clip, at least and at most. `seconds` is per round, as seen by the
    coordinator.
    """

    run: str
    method: str
    chosen: str
    options: Mapping[str, Any]
    variables: tuple[str, ...]
    estimate: Estimate
    sites: tuple[str, ...]
    missing: tuple[str, ...]
    rounds: int
    bytes_sent: int
    arithmetic: str
    clipped: tuple[int, int] | None
    seconds: tuple[float, ...]
    warnings: tuple[str, ...]
    knowledge: Knowledge | None = None
    resampled: Resampled | None = None
    checked: Checked | None = None

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write it into the folder of the run, the file that says it is finished last; every number keeps its bits."""
        own = ("estimate", "knowledge", "resampled", "checked")
        content = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in own}
        content["estimate"] = _estimate_content(self.estimate)
        content["knowledge"] = asdict(self.knowledge) if self.knowledge else None
        content["resampled"] = self.resampled is not None
        if self.resampled:
            write_replicates(Path(folder), self.resampled)
        content["checked"] = write_checked(Path(folder), self.checked) if self.checked else None
        write_json(Path(folder) / OUTCOME, content)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Outcome:
        """The outcome in the folder of a run."""
        content = read_json(Path(folder) / OUTCOME)
        try:
            estimate = _estimate(content.pop("estimate"))
            known, resampled, checked = (content.pop(name) for name in ("knowledge", "resampled", "checked"))
            lists = ("variables", "sites", "missing", "seconds", "warnings")
            return cls(
                **{**content, **{name: tuple(content[name]) for name in lists}},
                estimate=estimate,
                knowledge=Knowledge(**known) if known else None,
                resampled=read_replicates(Path(folder), estimate) if resampled else None,
                checked=read_checked(Path(folder), checked) if checked else None,
            )
        except (TypeError, KeyError, ValueError):
            raise FileError(f"{Path(folder) / OUTCOME} is not the outcome of a run") from None


def _estimate_content(estimate: Estimate) -> dict[str, Any]:
    marginals = {name: getattr(estimate.marginals, name) for name in Marginals.__dataclass_fields__}
    steps = [{name: getattr(step, name) for name in Step.__dataclass_fields__} for step in estimate.steps]
    return {
        "order": estimate.order,
        "B": estimate.B,
        "steps": steps,
        "marginals": marginals,
        "start": estimate.start,
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
    )


def write_json(path: Path, content: Any) -> None:
    """Replace a file in one step: it is read while it is written."""
    draft = path.with_suffix(".draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(content, indent=1, default=_plain) + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError as problem:
        raise FileError(f"cannot write {path}: {problem.strerror}") from None


def read_json(path: Path) -> dict[str, Any]:
    """The content of a JSON file that holds an object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None
    except ValueError:
        raise FileError(f"cannot read {path}: it is not JSON") from None
    if not isinstance(content, dict):
        raise FileError(f"cannot read {path}: it is not what fedrcd wrote")
    return content


def _plain(value: Any) -> Any:
    """Arrays and numbers of NumPy as JSON knows them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} does not go into JSON")
