"""What a page or a picture needs to know of a result; `fedrcd.Discovery` is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from fedrcd.graphs.dag import standardised_effects
from fedrcd.statistics.coverage import Holding
from fedrcd.typing import Matrix


class SharedCause(Protocol):
    """Two variables that share a hidden cause."""

    @property
    def one(self) -> str: ...
    @property
    def other(self) -> str: ...
    @property
    def evidence(self) -> float: ...
    @property
    def sure(self) -> bool: ...


class Graph(Protocol):
    """A causal order over named variables with effects along it."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def order(self) -> tuple[str, ...]: ...
    @property
    def B(self) -> Matrix: ...
    @property
    def variances(self) -> tuple[float, ...]: ...
    @property
    def units(self) -> Mapping[str, str]: ...
    @property
    def confounded(self) -> Sequence[SharedCause]: ...


class RivalGraph(Protocol):
    """What another method finds on the same rows."""

    @property
    def method(self) -> str: ...
    @property
    def edges(self) -> Sequence[tuple[str, str]]: ...


class Result(Graph, Protocol):
    """A graph and how it was found; the attributes are those of `fedrcd.Discovery`."""

    @property
    def method(self) -> str: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...
    @property
    def chosen(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def sites(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def bytes_sent(self) -> int: ...
    @property
    def variance_agreement(self) -> float: ...
    @property
    def standardised_order(self) -> tuple[str, ...]: ...
    @property
    def confidence(self) -> Matrix | None: ...
    @property
    def errors(self) -> Matrix | None: ...
    @property
    def lagged_effects(self) -> Mapping[int, Matrix]: ...
    def unrolled(self) -> Graph: ...
    @property
    def epsilon(self) -> float | None: ...
    @property
    def delta(self) -> float | None: ...
    @property
    def left_out(self) -> Mapping[str, int]: ...
    @property
    def signatures(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def verified_by(self) -> Sequence[str]: ...
    @property
    def state_id(self) -> str: ...
    @property
    def holdings(self) -> tuple[Holding, ...]: ...
    @property
    def versions(self) -> Mapping[str, str]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def order_confidence(self) -> Sequence[float]: ...
    @property
    def rivals(self) -> Sequence[RivalGraph]: ...


def effects_of(graph: Graph) -> Matrix:
    """The direct effects, 0 where they are not identified."""
    return np.where(np.isnan(graph.B), 0.0, graph.B)


def with_unit(graph: Graph, name: str) -> str:
    """A variable with its unit, if it has one."""
    return f"{name} ({graph.units[name]})" if name in graph.units else name


def unit_of_weight(graph: Graph, cause: str, effect: str) -> str:
    """In what a weight is measured: the unit of the effect per unit of the cause; empty where neither has one."""
    units = graph.units
    if cause not in units and effect not in units:
        return ""
    return f"{units.get(effect, 'units')} per {units.get(cause, 'unit')}"


def strengths(graph: Graph, effects: Matrix) -> Matrix:
    """Effects in standard deviations where variances are known, else as they are: what pictures show as strength."""
    return standardised_effects(effects, graph.variances) if graph.variances else effects


def order_indices(graph: Graph) -> list[int]:
    """The order as positions of the names."""
    position = {name: i for i, name in enumerate(graph.names)}
    return [position[name] for name in graph.order]


def relative(values: Matrix) -> Matrix:
    """Absolute values as shares of the largest."""
    largest = float(np.abs(values).max(initial=0.0))
    return np.abs(values) / largest if largest else np.zeros_like(values)


def number(value: float) -> str:
    """Three significant digits with a true minus sign."""
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
