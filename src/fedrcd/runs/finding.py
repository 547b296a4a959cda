"""What a run found: the estimate, what it cost, and what there is to judge it by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fedrcd.confidence.checks import Check
from fedrcd.confidence.replicates import Resampled
from fedrcd.errors import ConfigError
from fedrcd.methods.settings import Settings
from fedrcd.methods.skeleton import Estimate
from fedrcd.statistics.exact_sums import Clipped
from fedrcd.statistics.residual_sums import ResidualSums
from fedrcd.typing import IntVector


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """A bootstrap: how many replicates, of how many groups of rows per block, drawn by which seed."""

    replicates: int
    groups: int
    seed: int

    def __post_init__(self) -> None:
        if self.replicates < 1 or self.seed < 0:
            raise ConfigError("replicates must be at least 1 and the seed at least 0")


@dataclass(frozen=True, slots=True)
class Checked:
    """What checks of assumptions are made from: residual sums, or why there are none; and what they cost."""

    residuals: ResidualSums | None
    problem: str
    scale: Check
    rounds: int
    bytes_sent: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finding:
    """What a run found, and what it cost.

    Parameters
    ----------
    settings : Settings
        What was asked for; prior knowledge is in its own form.
    method, options
        What was run: the name of the method, and all options that it was built with.
    chosen : str
        Why this method, if the choice was left open.
    variables : tuple of str
        What the numbers of the estimate stand for.
    past : int
        Steps of time that every row goes back, as in `Setting`.
    estimate : Estimate
        Order and effects, on all rows.
    sites : tuple of str
        Who took part; empty if it is not known.
    rounds, bytes_sent
        What the run cost, with its checks; `checked` tells what these alone did.
    clipped : Clipped, optional
        How many values exact sums had to clip.
    resampled : Resampled, optional
        Replicates, if they were asked for.
    checked : Checked, optional
        What checks are made from, if they were asked for.
    standardised : (p,) array of int, optional
        The order on standardised variables, if it was asked for.
    rivals : mapping of str to Estimate
        In doubt, what other methods find from the same sums.
    run, missing, seconds, warnings
        Of a run over machines: its number, sites that were left out, what each round took, and what went wrong.
    """

    settings: Settings
    method: str
    options: Mapping[str, Any]
    chosen: str
    variables: tuple[str, ...]
    estimate: Estimate
    past: int = 0
    sites: tuple[str, ...] = ()
    rounds: int = 0
    bytes_sent: int = 0
    clipped: Clipped | None = None
    resampled: Resampled | None = None
    checked: Checked | None = None
    standardised: IntVector | None = None
    rivals: Mapping[str, Estimate] = field(default_factory=dict)
    run: str = ""
    missing: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
