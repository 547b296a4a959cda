"""What all contributions of a ledger have in common: variables, frame, grid and which sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError
from fedrcd.federation.messages.digests import digest
from fedrcd.graphs.past_names import steps_back
from fedrcd.protocol.questions import PAIRS, TENSOR
from fedrcd.protocol.transport import Setting
from fedrcd.protocol.wire import KINDS, to_bytes
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import BoolMatrix

FAMILIES = (TENSOR, PAIRS)
"""Families of one-round methods by the sums they ask for."""

LARGEST_TENSOR = 80
"""Variables up to which a ledger holds full tensors unless told otherwise."""


@dataclass(frozen=True, eq=False)
class Configuration:
    """Fixed when a ledger is opened: sums of other variables, in another frame or on another grid do not add.

    Parameters
    ----------
    variables : (p,) tuple of str
        In the order that breaks ties.
    units : (p,) tuple of str
        What each is measured in, as the federation file says; may be empty texts.
    frame : Frame
        Public, and declared in advance: a frame made from rows would change when a row leaves.
    families : tuple of str
        Which sums every contribution holds; of `FAMILIES`.
    grid : Grid or None
        On which sums are exact; None for float64, in which erasure is exact to rounding only.
    """

    variables: tuple[str, ...]
    units: tuple[str, ...]
    frame: Frame
    families: tuple[str, ...]
    grid: Grid | None

    def __post_init__(self) -> None:
        for family in self.families:
            if family not in FAMILIES:
                raise ConfigError(f"there is no family of sums {family!r}; the families are {', '.join(FAMILIES)}")
        if not self.families or len(set(self.families)) < len(self.families):
            raise ConfigError("a ledger needs at least one family of sums, each once")

    @cached_property
    def digest(self) -> str:
        """Identifies the configuration."""
        return digest("configuration", to_bytes(self))

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @property
    def lags(self) -> int:
        """Steps of time that every row goes back."""
        return steps_back(self.variables)

    def setting(self) -> Setting:
        """What questions are built from; how far rows go back, the names of variables tell."""
        return Setting(self.variables, self.frame, grid=self.grid, past=self.lags).knowing(None)

    def questions(self) -> dict[str, Any]:
        """The questions whose answers a contribution holds, by family."""
        setting = self.setting()
        known = [setting.tensor(), setting.pairs(4)]
        return {str(question.stored_in()): question for question in known if question.stored_in() in self.families}

    def owned(self, family: str, sums: Any, layout: Layout | None) -> tuple[Any, BoolMatrix]:
        """Rows behind every entry of a contribution's sums, and which entries its site, the last of a layout, owns."""
        p = self.p
        if family == PAIRS:
            everything: BoolMatrix = np.ones((p, p), dtype=bool)
            return np.broadcast_to(sums.count, (p, p)), everything if layout is None else layout.owned_pairs()[-1]
        counts = sums.entry_counts()
        if layout is None:
            return counts, np.ones(len(counts), dtype=bool)
        return counts, TensorSums.from_moments(p, layout.owned_quadruples()[-1].astype(float)).packed > 0


KINDS["ledger-configuration/1"] = Configuration


def configure(federation: Federation, *, families: tuple[str, ...] = (), grid: Grid | None) -> Configuration:
    """The configuration a federation file asks for; all families that are of use unless some are named."""
    lacking = [name for name in federation.variables if name not in federation.frame]
    if lacking:
        raise ConfigError(
            f"[frame.{lacking[0]}] is missing in the federation file: a ledger needs a centre and a scale of every "
            "variable, declared in advance; `fedrcd frame propose` drafts them"
        )
    frames = [federation.frame[name] for name in federation.variables]
    if not families:
        together = federation.layout().covers_quadruples() and len(federation.variables) <= LARGEST_TENSOR
        families = FAMILIES if together else (PAIRS,)
    return Configuration(
        variables=federation.variables,
        units=tuple(frame.unit for frame in frames),
        frame=Frame(np.array([frame.centre for frame in frames]), np.array([frame.scale for frame in frames])),
        families=tuple(family for family in FAMILIES if family in families) or families,
        grid=grid,
    )
