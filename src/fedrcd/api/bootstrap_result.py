"""What a bootstrap says: how often edges, paths and orders come back, and how far effects vary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fedrcd.api.discover import BY_BOOTSTRAP
from fedrcd.api.discovery import Discovery, require_level
from fedrcd.api.leave_one_site_out import Without, cannot_be_spared, changes_without
from fedrcd.api.result_over_time import identified, require_past, require_steps, response_table
from fedrcd.confidence.response_errors import response_errors
from fedrcd.confidence.standard_errors import effect_errors
from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import ancestry, total_effects
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.graphs.over_time import responses, widened
from fedrcd.graphs.past_names import earlier
from fedrcd.methods.past import by_lag, now
from fedrcd.methods.weights import refit
from fedrcd.typing import IntMatrix, Matrix

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Replicates of a discovery, with the queries that users of `lingam` know and some more.

    Attributes
    ----------
    discovery : Discovery
        The result on all rows, with `confidence` set.
    orders : (replicates, p) array of int
        Causal order of each replicate.
    adjacency_matrices_ : (replicates, p, p) array
        Effects of each replicate, [i, j] for j on i.
    lagged_matrices_ : dict of int to (replicates, p, p) array
        Effects of earlier values by lag, of each replicate.
    covariance, covariances : (p, p) and (replicates, p, p) array
        Covariance of all rows, and of each replicate; with those of the steps before, of rows with a past.
    units : int
        Groups that were resampled, of all blocks of rows; 0 where rows were.
    freedom : float
        Degrees of freedom behind the spread of replicates: units less blocks, infinite for rows.
    smallest_group : int
        Rows of the smallest group; 1 where rows were resampled.
    failed : int
        Replicates whose sums allowed no answer; they are not among the others.
    without : mapping of str to (order, B) or str
        What the method gives without each site, or why it gives nothing.
    constraints : Constraints, optional
        What was known before.
    filled : bool
        Whether missing values were filled, by the moments of all rows in every replicate.
    """

    discovery: Discovery
    orders: IntMatrix
    adjacency_matrices_: Matrix
    covariance: Matrix
    covariances: Matrix
    units: int
    freedom: float
    smallest_group: int
    failed: int
    without: Mapping[str, Without]
    constraints: Constraints | None = None
    filled: bool = False
    lagged_matrices_: Mapping[int, Matrix] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of replicates."""
        return len(self.orders)

    def __repr__(self) -> str:
        return f"Bootstrap({len(self)} replicates of {self.discovery.method}, {len(self.names)} variables)"

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.discovery.names

    @cached_property
    def total_effects_(self) -> Matrix:
        """Total effects of each replicate, shape (replicates, p, p)."""
        return np.stack([total_effects(np.nan_to_num(B)) for B in self.adjacency_matrices_])

    def edge_probabilities(self) -> pd.DataFrame:
        """Share of replicates with each direct effect: row i, column j for j on i."""
        return self._frame(self.get_probabilities())

    def lagged_probabilities(self) -> dict[int, pd.DataFrame]:
        """Share of replicates with each effect of earlier values, by lag: row i, column j for j on i."""
        return {lag: self._frame((drawn != 0).mean(axis=0)) for lag, drawn in sorted(self.lagged_matrices_.items())}

    def path_probabilities(self) -> pd.DataFrame:
        """Share of replicates with a directed path, of any length, from the column's to the row's variable."""
        return self._frame(np.mean([ancestry(np.nan_to_num(B)) for B in self.adjacency_matrices_], axis=0))

    def hidden_probabilities(self) -> pd.DataFrame:
        """Share of replicates in which each pair shares a hidden cause, symmetric; all zero where none was looked for.

        Pairs between which replicates leave an effect open in both directions.
        """
        unknown = np.isnan(self.adjacency_matrices_)
        return self._frame((unknown & unknown.transpose(0, 2, 1)).mean(axis=0))

    def order_probabilities(self) -> pd.DataFrame:
        """Share of replicates in which the column's variable comes before the row's."""
        place = np.argsort(self.orders, axis=1)
        return self._frame((place[:, :, None] > place[:, None, :]).mean(axis=0))

    def order_stability(self) -> float:
        """How often replicates place a cause before its effects, over all pairs with a path in the result; 1 is best.

        Variables without a path between them may stand either way round and do not count.
        """
        related = ancestry(np.nan_to_num(self.discovery.B))
        return float(self.order_probabilities().to_numpy()[related].mean()) if related.any() else 1.0

    def effects(self, kind: Literal["direct", "total"] = "direct") -> pd.DataFrame:
        """Effects that were found, strongest first; `probability` is the share of replicates with the edge or path."""
        import pandas as pd

        if kind not in ("direct", "total"):
            raise ConfigError(f"kind must be direct or total, got {kind!r}")
        B = np.nan_to_num(self.discovery.B)
        B = B if kind == "direct" else total_effects(B)
        again = self.edge_probabilities() if kind == "direct" else self.path_probabilities()
        rows = [
            (self.names[j], self.names[i], B[i, j], again.iloc[i, j])
            for i, j in sorted(np.argwhere(B).tolist(), key=lambda at: -abs(B[at[0], at[1]]))
        ]
        return pd.DataFrame(rows, columns=["cause", "effect", "estimate", "probability"])

    @property
    def no_intervals(self) -> str:
        """Why there are no intervals; empty if there are."""
        if len(self) < 2:
            return "intervals need at least 2 replicates"
        if self.discovery.options.get("hidden"):
            return (
                "there are no intervals where hidden causes were looked for: refitting by least squares would take "
                "them for effects; the spread of adjacency_matrices_ says how effects vary"
            )
        if self.filled:
            return (
                "there are no intervals where missing values were filled: replicates share what was filled in, and "
                "vary too little; missing='available' or 'complete' has them"
            )
        return ""

    def intervals(self, kind: Literal["direct", "total"] = "direct", level: float = 0.95) -> pd.DataFrame:
        """Intervals for the effects of the graph that was found, given that graph, strongest first.

        The effects of that graph are fitted again in every replicate; the interval is the estimate and as many standard
        deviations of the replicates as Student's t with the groups' degrees of freedom says. `probability` is how often
        the edge, or the path, is found again: without it the interval says little.
        """
        if self.no_intervals:
            raise ConfigError(self.no_intervals)
        found = self.effects(kind)
        refits = now(self._refits(), self._lags)
        if kind == "total":
            refits = np.stack([total_effects(one) for one in refits])
        reach = self._reach(refits, level)
        at = [(self.names.index(e), self.names.index(c)) for c, e in zip(found["cause"], found["effect"], strict=True)]
        own = np.array([reach[place] for place in at])
        found.insert(3, "low", found["estimate"] - own)
        found.insert(4, "high", found["estimate"] + own)
        return found

    def lagged_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Intervals for effects of earlier values, as `intervals` has them for those within a step."""
        import pandas as pd

        require_past(self.discovery)
        reach, again = by_lag(self._reach(self._refits(), level), self._lags), self.lagged_probabilities()
        rows = []
        for edge in self.discovery.lagged_edges():
            at = self.names.index(edge.effect), self.names.index(edge.cause)
            own = reach[edge.lag][at]
            spread = edge.weight, edge.weight - own, edge.weight + own
            rows.append((edge.cause, edge.lag, edge.effect, *spread, again[edge.lag].iloc[at]))
        return pd.DataFrame(rows, columns=["cause", "lag", "effect", "estimate", "low", "high", "probability"])

    def impulse_responses(self, steps: int = 10, level: float = 0.95) -> pd.DataFrame:
        """Total effects over time as `Discovery.impulse_responses`, with intervals from the replicates."""
        require_past(self.discovery)
        found, lags = self.discovery, self._lags
        refits = self._refits()
        drawn = np.stack([np.stack(responses(now(B, lags), by_lag(B, lags), require_steps(steps))) for B in refits])
        reach = self._reach(drawn, level)
        known = responses(np.nan_to_num(found.B), identified(found.lagged_effects), steps)
        return response_table(self.names, known, list(reach), 1.0)

    @property
    def _lags(self) -> int:
        return max(self.discovery.lagged_effects, default=0)

    def _refits(self) -> Matrix:
        """The effects of the graph that was found, fitted again in every replicate, with those of earlier values."""
        found = self.discovery
        edges = widened(np.nan_to_num(found.B), identified(found.lagged_effects)) != 0
        return np.stack([refit(cov, edges) for cov in self.covariances])

    def _reach(self, drawn: Matrix, level: float) -> Matrix:
        """How far intervals reach to both sides, from what replicates gave."""
        from scipy.stats import t

        require_level(level)
        if self.no_intervals:
            raise ConfigError(self.no_intervals)
        reach: Matrix = t.ppf((1 + level) / 2, self.freedom) * drawn.std(axis=0, ddof=1)
        return reach

    def select(self, threshold: float = 0.5) -> Discovery:
        """The discovery with the edges along its order that at least this share of replicates has, fitted again."""
        require_threshold(threshold)
        if self.discovery.options.get("hidden"):
            raise ConfigError("hidden=True selects effects by itself; they are not selected by bootstrap")
        lags = self._lags
        before = {lag: (drawn != 0).mean(axis=0) for lag, drawn in self.lagged_matrices_.items()}
        probable = widened(self.get_probabilities(), before) >= threshold
        p = len(self.names)
        order = np.array([*earlier(p, lags), *(self.names.index(name) for name in self.discovery.order)])
        constraints = self.constraints or Constraints.none(len(order))
        edges = constraints.grow(order, lambda target, _required, free: probable[target, free])
        base = self.discovery.options["weights"]
        options = {**self.discovery.options, "weights": BY_BOOTSTRAP, "base": base, "threshold": float(threshold)}
        B = refit(self.covariance, edges)
        found = replace(self.discovery, B=now(B, lags), lagged_effects=dict(by_lag(B, lags)), options=options)
        if self.discovery.errors is None:
            return found
        errors = effect_errors(self.covariance, self.discovery.rows, edges)
        over_time = response_errors(self.covariance, self.discovery.rows, edges, lags) if lags else []
        return replace(
            found,
            errors=now(errors.direct, lags),
            total_errors=now(errors.total, lags),
            lagged_errors=dict(by_lag(errors.direct, lags)),
            response_errors=dict(enumerate(over_time)),
        )

    def leave_one_site_out(self) -> pd.DataFrame:
        """Per site: how many pairs with a path are turned round, and how edges change, without it.

        Sites that cannot be spared are left out; `cannot_be_spared` says why.
        """
        return changes_without(self.discovery, self.without)

    def cannot_be_spared(self) -> dict[str, str]:
        """Sites without which there is no answer, and why."""
        return cannot_be_spared(self.without)

    def get_probabilities(self, min_causal_effect: float | None = None) -> Matrix:
        """Share of replicates with each direct effect larger than a limit, [to, from]."""
        probabilities: Matrix = (np.abs(np.nan_to_num(self.adjacency_matrices_)) > _limit(min_causal_effect)).mean(
            axis=0
        )
        return probabilities

    def get_causal_direction_counts(
        self,
        n_directions: int | None = None,
        min_causal_effect: float | None = None,
        split_by_causal_effect_sign: bool = False,  # noqa: FBT001, FBT002 - lingam's signature
    ) -> dict[str, list[int]]:
        """Edges by how many replicates have them: lists `from`, `to`, `count` and, if split, `sign`."""
        limit, most = _limit(min_causal_effect), _most(n_directions, "n_directions")
        counts: Counter[tuple[int, int, int]] = Counter()
        for B in self.adjacency_matrices_:
            for i, j in np.argwhere(np.abs(B) > limit).tolist():
                counts[i, j, int(np.sign(B[i, j])) if split_by_causal_effect_sign else 0] += 1
        listed = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
        columns = {
            "from": [j for (_, j, _), _ in listed],
            "to": [i for (i, _, _), _ in listed],
            "count": [count for _, count in listed],
        }
        if split_by_causal_effect_sign:
            columns["sign"] = [sign for (_, _, sign), _ in listed]
        return columns

    def get_directed_acyclic_graph_counts(
        self,
        n_dags: int | None = None,
        min_causal_effect: float | None = None,
        split_by_causal_effect_sign: bool = False,  # noqa: FBT001, FBT002 - lingam's signature
    ) -> dict[str, list[Any]]:
        """Whole graphs by how many replicates have them: lists `dag` and `count`."""
        limit, most = _limit(min_causal_effect), _most(n_dags, "n_dags")
        counts: Counter[tuple[tuple[int, int, int], ...]] = Counter()
        for B in self.adjacency_matrices_:
            pairs = np.argwhere(np.abs(B) > limit).tolist()
            counts[tuple((i, j, int(np.sign(B[i, j])) if split_by_causal_effect_sign else 0) for i, j in pairs)] += 1
        listed = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
        dags = []
        for edges, _ in listed:
            dag = {"from": [j for _, j, _ in edges], "to": [i for i, _, _ in edges]}
            if split_by_causal_effect_sign:
                dag["sign"] = [sign for _, _, sign in edges]
            dags.append(dag)
        return {"dag": dags, "count": [count for _, count in listed]}

    def get_total_causal_effects(self, min_causal_effect: float | None = None) -> dict[str, list[Any]]:
        """Total effects by the share of replicates with them: lists `from`, `to`, `effect` (median), `probability`."""
        limit, effects = _limit(min_causal_effect), self.total_effects_
        share = (np.abs(effects) > limit).mean(axis=0)
        listed = sorted(np.argwhere(share > 0).tolist(), key=lambda at: (-share[at[0], at[1]], at))
        medians = [float(np.median(effects[:, i, j][effects[:, i, j] != 0])) for i, j in listed]
        return {
            "from": [j for _, j in listed],
            "to": [i for i, _ in listed],
            "effect": medians,
            "probability": [float(share[i, j]) for i, j in listed],
        }

    def get_paths(self, from_index: int, to_index: int, min_causal_effect: float | None = None) -> dict[str, list[Any]]:
        """Paths between two variables by the share of replicates with them: `path`, `effect`, `probability`."""
        p = len(self.names)
        for what, index in (("from_index", from_index), ("to_index", to_index)):
            if not isinstance(index, Integral) or not 0 <= index < p:
                raise ConfigError(f"{what} must be the number of a variable, 0 to {p - 1}, got {index!r}")
        return paths_by_probability(self.adjacency_matrices_, int(from_index), int(to_index), min_causal_effect)

    def _frame(self, values: Matrix) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))


def paths_by_probability(
    graphs: Iterable[Matrix], from_index: int, to_index: int, min_causal_effect: float | None
) -> dict[str, list[Any]]:
    """Paths between two variables by the share of graphs with them: `path`, `effect` (median), `probability`."""
    limit, count = _limit(min_causal_effect), 0
    effects: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for B in graphs:
        count += 1
        for path in _paths(np.where(np.abs(B) > limit, B, 0.0), from_index, to_index):
            effects[path].append(float(np.prod([B[i, j] for j, i in pairwise(path)])))
    listed = sorted(effects.items(), key=lambda item: (-len(item[1]), item[0]))
    return {
        "path": [list(path) for path, _ in listed],
        "effect": [float(np.median(values)) for _, values in listed],
        "probability": [len(values) / count for _, values in listed],
    }


def require_threshold(threshold: object) -> None:
    """Raise unless a share of replicates is a number above 0 and at most 1."""
    if not (isinstance(threshold, Real) and not isinstance(threshold, bool) and 0 < float(threshold) <= 1):
        raise ConfigError(f"threshold must be a number above 0 and at most 1, got {threshold!r}")


def _limit(min_causal_effect: float | None) -> float:
    if min_causal_effect is None:
        return 0.0
    if not (isinstance(min_causal_effect, Real) and 0 < min_causal_effect < np.inf):
        raise ConfigError(f"min_causal_effect must be a number above 0, got {min_causal_effect!r}")
    return float(min_causal_effect)


def _most(number: int | None, what: str) -> int | None:
    if number is not None and (not isinstance(number, Integral) or isinstance(number, bool) or number < 1):
        raise ConfigError(f"{what} must be a whole number of at least 1, got {number!r}")
    return number


def _paths(B: Matrix, start: int, end: int) -> Iterator[tuple[int, ...]]:
    """All directed paths of an acyclic graph from one variable to another."""
    if start == end:
        return
    towards = ancestry(B)[end]
    waiting: list[tuple[int, ...]] = [(start,)]
    while waiting:
        path = waiting.pop()
        for effect in np.flatnonzero(B[:, path[-1]]).tolist():
            if effect == end:
                yield (*path, effect)
            elif towards[effect]:
                waiting.append((*path, effect))
