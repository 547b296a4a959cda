"""What the processes of a site need to know; `fedrcd site serve` writes it, every process reads it."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.rules import Rules

SETTINGS = "site.json"
"""Their file in the folder of a site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """The settings of one site.

    Parameters
    ----------
    name : str
        The site's name in the federation file.
    federation, data : str
        Paths of the federation file and of the site's table; of the latter it may be the address of a database.
    query : str
        What to ask a database.
    state : str
        Folder of the site's store.
    approve : bool
        Whether every answer waits for a person.
    trust_coordinator : bool
        Whether questions that depend on moments of the coordinator's choice are answered: methods of several rounds.
    deadline : float
        Seconds after which a question is given up.
    rules : Rules
        The rules of disclosure.
    group_secret : str
        Path of a secret by which rows are split into groups, for sites that hold columns of the same rows: they must
        have the same. Others use one of their own.
    trim : float, optional
        Leave out rows with a value more than this many scales of the declared frame from its centre.
    key : str
        Path of the site's private key, with which it signs what it contributes; empty in a trial.
    clear : bool
        Whether sums are answered in the clear although they could be masked; `trust_coordinator` says so, too.
    masked_only : bool
        Whether nothing is answered otherwise than under masks.
    agree_to_differences : bool
        Whether the people here accept that totals over other cohorts may tell the sums of this site.
    epsilon_budget, delta : float
        What all answers with noise may lose of privacy, for ever; 0: there are none. With a budget, nothing leaves
        without noise.
    """

    name: str
    federation: str
    data: str
    state: str
    query: str = ""
    approve: bool = False
    trust_coordinator: bool = False
    deadline: float = 300.0
    rules: Rules = field(default_factory=Rules)
    group_secret: str = ""
    trim: float | None = None
    key: str = ""
    clear: bool = False
    masked_only: bool = False
    agree_to_differences: bool = False
    epsilon_budget: float = 0.0
    delta: float = 1e-6

    def __post_init__(self) -> None:
        if self.trim is not None and not 0 < self.trim < math.inf:
            raise ConfigError(f"trim must be a number above 0, got {self.trim!r}")
        if self.masked_only and (self.clear or self.trust_coordinator):
            raise ConfigError(
                "a site that answers under masks only neither answers in the clear nor trusts a coordinator"
            )
        if self.epsilon_budget:
            self._check_noise()
        if not self.deadline > 0:
            raise ConfigError(f"deadline must be above 0 seconds, got {self.deadline!r}")
        self.rules.require_strict(trial=True)  # whether it is one, the federation file says to the door

    def _check_noise(self) -> None:
        """Raise for a budget that cannot be, or does not go with how rows are taken."""
        from fedrcd.statistics.privacy_loss import require_delta, require_epsilon

        require_epsilon(self.epsilon_budget, "epsilon_budget")
        require_delta(self.delta)
        if self.trim is not None or self.rules.suppress or self.rules.dominance < 1:
            raise ConfigError(
                "an epsilon budget does not go with trim, suppress or dominance: which rows are left out would tell of "
                "others"
            )

    def write(self, path: Path) -> None:
        """Write them to a file that only the owner can read."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(json.dumps(asdict(self), indent=1) + "\n")
        except OSError as problem:
            raise FileError(f"cannot write {path}: {problem.strerror}") from None

    @classmethod
    def rules_in(cls, folder: Path) -> Rules:
        """The rules that a site was last served with; the default ones before that."""
        served = cls.served_from(folder)
        return Rules() if served is None else served.rules

    @classmethod
    def served_from(cls, folder: Path) -> SiteSettings | None:
        """What a site was last served with, if it was."""
        path = folder / SETTINGS
        return cls.read(path) if path.exists() else None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SiteSettings:
        """The settings in a file."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            numbers = content["rules"]
            return cls(**{**content, "rules": Rules(**{**numbers, "off": tuple(numbers.get("off", ()))})})
        except (OSError, ValueError, TypeError, KeyError):
            raise FileError(f"cannot read the settings of a site in {path}; run `fedrcd site serve` again") from None
