"""A run of a method over a federation: what is asked for and how far it is, each in a file of its folder.

The command that starts a run, the process that conducts it and whoever looks at it share nothing but these files; what
it found is in `saved_finding`.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.coordinator.gather import RetryPolicy
from fedrcd.federation.messages.printable import LONGEST
from fedrcd.methods.settings import Settings
from fedrcd.runs.finding import Resampling

HOW_TO_RUN = frozenset(
    {"run", "folder", "allow_missing", "accept_differing", "by_key", "wait", "retry_policy", "heads"}
)
"""Parts of a plan that change nothing of what is asked."""

AT_SITES = (
    *("variables", "drop", "trim", "missing", "missing_codes", "frame", "stack"),
    *("lags", "time", "subject", "waves"),
)
"""Settings that are the sites' own business where they are machines."""

PLAN, STATUS = "run.json", "status.json"

REFRESHED = "refresh.json"
"""What came of a refresh of a ledger, in the folder of the run."""


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
    settings : Settings
        What to run: the method and its options, how sums are taken (exact ones have the same bits on any machine), and
        what is known of the graph. How rows are read is for the sites to say.
    allow_missing : bool
        Go on without sites that are missing, instead of stopping.
    accept_differing : tuple of str
        Sites whose columns may have other levels or spreads than declared, or than at other sites.
    by_key : bool
        Whether a node is the site whose key it has; otherwise it is believed its name.
    wait : float
        Seconds to wait at the start for sites to be there.
    retry_policy : RetryPolicy
        How long to wait for answers, and how often to ask again.
    resampling : Resampling, optional
        Ask for sums of groups of rows, and draw replicates from them.
    check : bool
        Ask, in one round more, for what checks of assumptions need.
    check_scale : bool
        Find the order of standardised variables too, if that needs no further question.
    trust_coordinator : bool
        Whether the sites were started with --trust-coordinator: then "auto" may take a method of several rounds.
    heads : str
        Where it is kept how far the logs of the sites go; nowhere if empty.
    title, purpose : str
        What the run is called and what it is for: every site sees and logs both.
    asks_only : bool
        Call the roll, to know who would refuse what, and stop: nothing of their sums leaves the sites.
    ledger, ledger_key : str
        Instead of running a method, bring this ledger up to date; its file, and that of its signing key.
    """

    run: str
    federation: str
    folder: str
    settings: Settings
    allow_missing: bool = False
    accept_differing: tuple[str, ...] = ()
    by_key: bool = True
    wait: float = 60.0
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    resampling: Resampling | None = None
    check: bool = False
    check_scale: bool = False
    trust_coordinator: bool = False
    heads: str = ""
    title: str = ""
    purpose: str = ""
    asks_only: bool = False
    ledger: str = ""
    ledger_key: str = ""

    def __post_init__(self) -> None:
        if not (self.wait >= 0 and self.retry_policy.deadline > 0 and self.retry_policy.give_up_after >= 0):
            raise ConfigError("wait and give-up-after must be at least 0 seconds, the deadline above 0")
        for name, text in (("title", self.title), ("purpose", self.purpose)):
            if len(text) > LONGEST or not text.isprintable():
                raise ConfigError(f"{name} must be one line of at most {LONGEST} characters")
        self.settings.check_arithmetic()
        self.settings.check_within()
        if self.settings.masked and self.check:
            raise ConfigError(
                "checks ask a second question, for residuals given pooled moments, and masks are offered for one; "
                "leave out --check, or run in the clear where every site agrees to it"
            )
        for name in self.settings.changed(AT_SITES):
            raise ConfigError(f"{name} is no setting of a run over machines: every site reads its own table")

    def same_as(self, other: RunPlan) -> bool:
        """Whether another run asks the same, so that its answers can be used."""
        mine, others = (
            {name: value for name, value in plan.as_dict().items() if name not in HOW_TO_RUN} for plan in (self, other)
        )
        return mine == others

    def as_dict(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        parts = {
            "settings": self.settings.as_dict(),
            "retry_policy": asdict(self.retry_policy),
            "resampling": self.resampling and asdict(self.resampling),
        }
        return {**content, **parts}

    def write(self) -> None:
        """Write it into the folder of the run."""
        write_json(Path(self.folder) / PLAN, self.as_dict())

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> RunPlan:
        """The plan in the folder of a run."""
        content = read_json(Path(folder) / PLAN)
        try:
            resampling = content["resampling"]
            parts = {
                "settings": Settings.from_dict(content["settings"]),
                "retry_policy": RetryPolicy(**content["retry_policy"]),
                "resampling": resampling and Resampling(**resampling),
                "accept_differing": tuple(content["accept_differing"]),
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
