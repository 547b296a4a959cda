"""The result of a causal discovery: order, effects, how it was found and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fedrcd.api.discovery_file import from_text, read_text, require_consistent, to_text
from fedrcd.api.result_over_time import identified, responses_of, unrolled_of
from fedrcd.errors import ConfigError, FileError
from fedrcd.graphs.agreement import agreed_edges
from fedrcd.graphs.dag import identified_total_effects, standardised_effects, total_effects
from fedrcd.graphs.exports import Edge, edge_list, to_dot, to_gml, to_networkx
from fedrcd.graphs.over_time import widened
from fedrcd.graphs.past_names import past_names
from fedrcd.statistics.coverage import Holding
from fedrcd.typing import Matrix

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

    from fedrcd.report.support import Support


DOUBTFUL = "doubtful"
"""How a verdict begins that is a note, too."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One decision: who was chosen as source, from which scores (higher is better), and by what margin.

    A small margin relative to the spread of the scores is a weak decision; a margin of 0 is a tie, won by the
    variable that stands first. Methods that refine their order may overrule a step: see `Discovery.start`.
    """

    chosen: str
    margin: float
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class LaggedEdge:
    """One effect over time: one unit of `cause` adds `weight` units of `effect`, `lag` steps later."""

    cause: str
    lag: int
    effect: str
    weight: float


@dataclass(frozen=True, slots=True)
class ConfoundedPair:
    """Two variables that share a cause which was not measured.

    `evidence` is by how much the pair is explained worse without, in the scale of chi-squared; `sure` whether that is
    enough to sound an alarm by itself.
    """

    one: str
    other: str
    evidence: float
    sure: bool


@dataclass(frozen=True, slots=True)
class Rival:
    """What another method finds on the same rows: its order, and the edges (cause, effect) along it."""

    method: str
    order: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Discovery:
    """A causal order over named variables, with effects along it.

    Attributes
    ----------
    names : tuple of str
        Variables in the order of the tables' columns.
    order : tuple of str
        Variables in causal order, roots first.
    B : (p, p) array
        `B[i, j]` is the effect of variable j on variable i; `adjacency` is the same with names. NaN where the effect is
        not identified.
    method, options
        What was run.
    chosen : str
        Why this method, if the user left the choice open.
    variance_agreement : float
        Share of pairs that the order and a plain sort by variance place alike.
    rows, sites, rounds, bytes_sent
        Rows pooled, number of sites, rounds of questions, and bytes of all answers of all sites; no rounds and no
        bytes for a method that works on one table.
    start : tuple of str
        The order that the sources gave, before it was refined; what `trace` explains.
    trace : tuple of TraceStep
        How each source was chosen.
    notes : tuple of str
        What the user should know before trusting the result.
    state_id : str
        The state of the ledger that it was computed from, if it was.
    confidence : (p, p) array, optional
        Bootstrap probability of each edge: entry [i, j] is the share of replicates with an edge from j to i.
    errors, total_errors : (p, p) array, optional
        Standard errors of direct and of total effects by the delta method, given the graph that was found; None where
        missing values were filled or pairs of variables come from different rows.
    variances : tuple of float
        Variance of each variable over all rows, in the order of `names`; empty if it is not known.
    standardised_order : tuple of str
        The order that the same method gives when every variable is divided by its standard deviation; that of a
        scale-free method is `order`. Empty if nobody asked for it: see `check_scale` of `discover`.
    holdings : tuple of Holding
        Which columns and how many rows each site holds; empty if it is not known.
    versions : dict
        Versions of the software that found it.
    settings : dict
        How the tables were taken, as far as it was not by default: `within`, `missing`, `trim` and so on, and
        `knowledge`, the statements that the result keeps to.
    lagged_effects, lagged_errors : dict of int to (p, p) array
        Effects of earlier values by lag, and their standard errors: entry [i, j] of `lagged_effects[1]` is the effect
        of j on i one step later; `lagged` is the same with names.
    response_errors : dict of int to (p, p) array
        Standard errors of total effects over time, by steps; `impulse_responses` uses them.
    epsilon, delta : float, optional
        The differential privacy that the sums kept, if noise was added to them.
    signatures : tuple of dict
        Who signed the result, and how that is checked.
    confounded : tuple of ConfoundedPair
        Pairs that share a cause which was not measured, those of most evidence first, if that was looked for.
    ancestors : tuple of (str, str)
        Pairs (cause, effect) of which the first acts on the second, directly or not, whatever is hidden; if that was
        looked for.
    verified_by : tuple of str
        Who made the result again from the same sums and found it to be the same.
    units : dict of str to str
        The units of variables, of those that have one: a weight is in units of the effect per unit of the cause.
    left_out : dict of str to int
        Rows that each site left out, for gaps or as gross errors; empty where that may not be told.
    verdict : str
        What the sums of the round say of the independence of errors: fine, doubtful or cannot tell, and what that rests
        on; empty where they say nothing.
    order_confidence : tuple of float
        How sure it is that each variable of `order` and the next stand this way round, from the sums of the round: 0.5
        if the data do not tell, or it does not matter. Empty where these sums do not say.
    rivals : tuple of Rival
        What stands under other methods, for a result in doubt; `agreement` shows it as a table.
    effects_before, errors_before : (p, p) array, optional
        Effects on every variable of all that precede it in the order, by least squares, with standard errors; what
        `candidates` shows.
    """

    names: tuple[str, ...]
    order: tuple[str, ...]
    B: Matrix
    method: str
    options: dict[str, Any]
    rows: int
    sites: int
    rounds: int
    bytes_sent: int
    variance_agreement: float
    chosen: str = ""
    start: tuple[str, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    notes: tuple[str, ...] = ()
    state_id: str = ""
    confidence: Matrix | None = field(repr=False, default=None)
    errors: Matrix | None = field(repr=False, default=None)
    total_errors: Matrix | None = field(repr=False, default=None)
    variances: tuple[float, ...] = ()
    standardised_order: tuple[str, ...] = ()
    holdings: tuple[Holding, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    lagged_effects: dict[int, Matrix] = field(repr=False, default_factory=dict)
    lagged_errors: dict[int, Matrix] = field(repr=False, default_factory=dict)
    response_errors: dict[int, Matrix] = field(repr=False, default_factory=dict)
    epsilon: float | None = None
    delta: float | None = None
    signatures: tuple[dict[str, Any], ...] = ()
    verified_by: tuple[str, ...] = ()
    units: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    confounded: tuple[ConfoundedPair, ...] = ()
    ancestors: tuple[tuple[str, str], ...] = ()
    verdict: str = ""
    order_confidence: tuple[float, ...] = ()
    rivals: tuple[Rival, ...] = ()
    effects_before: Matrix | None = field(repr=False, default=None)
    errors_before: Matrix | None = field(repr=False, default=None)

    @property
    def adjacency(self) -> pd.DataFrame:
        """Effects as a DataFrame: row i, column j is the effect of j on i."""
        return self._frame(self.B)

    @property
    def lagged(self) -> dict[int, pd.DataFrame]:
        """Effects of earlier values by lag, each as `adjacency`: in `lagged[1]`, row i, column j is that of j on i."""
        return {lag: self._frame(effects) for lag, effects in sorted(self.lagged_effects.items())}

    def impulse_responses(self, steps: int = 10, level: float = 0.95) -> pd.DataFrame:
        """Total effects over time: of one unit more of a cause now, at once and up to `steps` steps later.

        Columns are cause, effect, step and response, and error, low and high where there are standard errors, up to ten
        steps. These take rows as independent given their past; `Bootstrap.impulse_responses` resamples subjects.
        """
        require_level(level)
        return responses_of(self, steps, level)

    def unrolled(self, steps: int | None = None) -> Discovery:
        """The graph over time: the variables of now and of steps before, `dose[t-1]`, with all effects among them.

        Its tables, exports and pictures are about these; as many steps as effects go back, unless more are wanted.
        """
        return unrolled_of(self, steps)

    def total_effects(self) -> pd.DataFrame:
        """Total effects over all directed paths: row i, column j is the total effect of j on i.

        NaN where a path may lead over an effect that is not identified.
        """
        return self._frame(identified_total_effects(self.B))

    def intervals(self, kind: Literal["direct", "total"] = "direct", level: float = 0.95) -> pd.DataFrame:
        """Effects with intervals by the delta method, given the graph that was found, strongest first.

        They are about sampling error in the effects alone: whether an edge is there at all is what `confidence`, from
        a bootstrap, is about.
        """
        import pandas as pd
        from scipy.stats import norm

        require_level(level)
        if kind not in ("direct", "total"):
            raise ConfigError(f"kind must be direct or total, got {kind!r}")
        values, errors = (
            (self.B, self.errors) if kind == "direct" else (total_effects(self._identified), self.total_errors)
        )
        if errors is None:
            raise ConfigError(
                "this discovery has no standard errors, as where missing values were filled, pairs of variables come "
                "from different rows, or hidden causes were looked for; a bootstrap says how effects vary"
            )
        reach = float(norm.ppf((1 + level) / 2)) * errors
        rows = [
            (
                self.names[j],
                self.names[i],
                values[i, j],
                errors[i, j],
                values[i, j] - reach[i, j],
                values[i, j] + reach[i, j],
            )
            for i, j in sorted(np.argwhere(values).tolist(), key=lambda at: -abs(values[at[0], at[1]]))
            if not np.isnan(values[i, j])
        ]
        return pd.DataFrame(rows, columns=["cause", "effect", "estimate", "error", "low", "high"])

    def candidates(self, level: float = 0.95) -> pd.DataFrame:
        """Every pair along the order: the effect given all that precede, its interval, and why it was kept or left out.

        Columns are cause, effect, estimate, error, low, high, kept and why; those farthest from no effect, in standard
        errors, come first. The effects of an edge list are fitted to the edges that were kept, these are not.
        """
        from fedrcd.api.candidates import candidates_of

        return candidates_of(self, level)

    def agreement(self) -> pd.DataFrame:
        """Every edge that this result or a rival has, and who has it; those that most agree on come first.

        Columns are cause, effect, one per method ("yes", "turned" if it stands the other way round, or "no"), and
        agree, the number of those that say yes.
        """
        import pandas as pd

        if not self.rivals:
            raise ConfigError("there are no rivals: discover(tables, rivals=True) asks other methods in doubt")
        graphs = {self.method: [(edge.cause, edge.effect) for edge in self.edges()]}
        graphs |= {rival.method: list(rival.edges) for rival in self.rivals}
        rows = [(edge.cause, edge.effect, *edge.says, edge.agree) for edge in agreed_edges(graphs)]
        return pd.DataFrame(rows, columns=["cause", "effect", *graphs, "agree"])

    def neighbours(self) -> pd.DataFrame:
        """Each variable of the order and the next, how sure it is that they stand this way round, and the effect.

        Those of which it is least sure come first.
        """
        import pandas as pd

        if not self.order_confidence:
            raise ConfigError("the sums behind this discovery do not say how sure its order is: tensors do")
        effect = [
            float(self.B[self.names.index(then), self.names.index(first)])
            for first, then in zip(self.order, self.order[1:], strict=False)
        ]
        rows = list(zip(self.order, self.order[1:], self.order_confidence, effect, strict=False))
        rows.sort(key=lambda row: row[2])
        return pd.DataFrame(rows, columns=["first", "then", "confidence", "effect"])

    def standardised_effects(self) -> pd.DataFrame:
        """Effects in standard deviations of effect and cause, free of units: row i, column j is that of j on i."""
        if not self.variances:
            raise ConfigError("the variances of this discovery are not known; run discover again with this version")
        return self._frame(standardised_effects(self.B, self.variances))

    def with_units(self, units: Mapping[str, str]) -> Discovery:
        """The same discovery, whose tables, figures and pages name the units of its variables; an empty one is none."""
        return replace(self, units={name: units[name] for name in self.names if units.get(name)})

    def edges(self) -> list[Edge]:
        """Edges `(cause, effect, weight)`, strongest first."""
        return edge_list(self._identified, self.names)

    def not_identified(self) -> list[tuple[str, str]]:
        """Pairs (cause, effect) between which an effect may be, but is not identified."""
        return [(self.names[j], self.names[i]) for j, i in np.argwhere(np.isnan(self.B.T)).tolist()]

    def lagged_edges(self) -> list[LaggedEdge]:
        """Effects `(cause, lag, effect, weight)` of earlier values, strongest first."""
        listed = [
            LaggedEdge(edge.cause, lag, edge.effect, edge.weight)
            for lag, effects in identified(self.lagged_effects).items()
            for edge in edge_list(effects, self.names)
        ]
        return sorted(listed, key=lambda edge: -abs(edge.weight))

    def to_networkx(self) -> nx.DiGraph:
        """A graph with edges from cause to effect and attribute `weight`; for hidden causes both ways, without it.

        As all exports, with effects of earlier values: `dose[t-1]` is a variable of its own.
        """
        return to_networkx(*self._exported)

    def to_dot(self) -> str:
        """Graphviz text with edges from cause to effect."""
        return to_dot(*self._exported)

    def to_gml(self) -> str:
        """GML text with edges from cause to effect."""
        return to_gml(*self._exported)

    def to_svg(self) -> str:
        """A picture in SVG: causes above effects, lines as wide as effects are strong."""
        from fedrcd.report.drawing import draw_svg

        return draw_svg(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the graph with matplotlib, into `ax` or a figure of its own; save it with `.figure.savefig(...)`."""
        from fedrcd.report.figure import draw_figure

        return draw_figure(self, ax)

    def report(self, path: str | Path | None = None, *, support: Support | None = None) -> str:
        """One self-contained HTML page about this discovery; written to `path` as well if given.

        Parameters
        ----------
        path : path, optional
            Where to write it.
        support : fedrcd.report.support.Support, optional
            What speaks for the discovery besides what it holds itself: intervals, checks, what was verified.
        """
        from fedrcd.report.page import write_page

        return written(write_page(self, support=support), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text; written to `path` as well if given."""
        text = to_text(self)
        written(text + "\n", path)
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Discovery:
        """The discovery that `to_json` wrote, from its text or from a file."""
        text, where = read_text(source)
        try:
            return cls._from_text(text)
        except FileError as problem:
            raise FileError(f"{where}{problem}") from None

    @classmethod
    def _from_text(cls, text: str) -> Discovery:
        """The discovery that a text holds; errors do not say where the text is from."""
        content = from_text(text)
        try:
            found = cls(**content)
        except TypeError as problem:
            raise FileError(f"not a complete discovery: {problem}") from None
        require_consistent(found)
        return found

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture, the order and the strongest edges."""
        from fedrcd.report.summary import summary_html

        return summary_html(self)

    def __repr__(self) -> str:
        shown = ", ".join(self.order if len(self.order) <= 10 else (*self.order[:5], "...", *self.order[-2:]))
        edges = np.count_nonzero(self._identified)
        size = f"{len(self.names)} variables, {edges} edges, {self.rows} rows, {self.sites} sites"
        return f"<Discovery by {self.method}: {size}; order: {shown}>"

    def __str__(self) -> str:
        edges = self.edges()
        lines = [f"{self.method}: {self.rows} rows, {self.sites} sites, {self.rounds} rounds, {len(edges)} edges"]
        if self.epsilon is not None:
            lines.append(
                f"under noise: epsilon {self.epsilon:g} at delta {self.delta or 0:g}; the number of rows is noisy, too"
            )
        lines.append("order: " + ", ".join(self.order))
        lines += [f"  {edge.cause} -> {edge.effect}  {edge.weight:+.4g}" for edge in edges]
        lines += [
            f"  {edge.cause} -> {edge.effect}  {edge.weight:+.4g}, {_ago(edge.lag)}" for edge in self.lagged_edges()
        ]
        lines += [f"  {pair.one} <-> {pair.other}  hidden cause" for pair in self.confounded]
        lines += [f"errors: {self.verdict}"] if self.verdict and not self.verdict.startswith(DOUBTFUL) else []
        return "\n".join(lines + [f"note: {note}" for note in self.notes])

    @property
    def _identified(self) -> Matrix:
        """The effects, 0 where they are not identified."""
        return np.where(np.isnan(self.B), 0.0, self.B)

    @property
    def _exported(self) -> tuple[Matrix, Sequence[str], list[tuple[str, str]]]:
        """What other programs are given: effects, variables, and pairs that share a hidden cause."""
        lags = max(self.lagged_effects, default=0)
        return widened(self._identified, identified(self.lagged_effects)), past_names(self.names, lags), self._shared

    @property
    def _shared(self) -> list[tuple[str, str]]:
        """Pairs that share a hidden cause."""
        return [(pair.one, pair.other) for pair in self.confounded]

    def _frame(self, values: Matrix) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))


def _ago(lag: int) -> str:
    return "one step later" if lag == 1 else f"{lag} steps later"


def require_level(level: object) -> None:
    """Raise unless a level of confidence is a number between 0 and 1."""
    if not (isinstance(level, Real) and not isinstance(level, bool) and 0 < float(level) < 1):
        raise ConfigError(f"level must be a number between 0 and 1, got {level!r}")


def written(text: str, path: str | Path | None) -> str:
    """The text, written to a file if there is a path."""
    if path is not None:
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as problem:
            raise FileError(f"cannot write {path}: {problem.strerror}") from None
    return text


def software_versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    import platform

    packages = ("fedrcd", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def name_steps(steps: Sequence[Any], names: Sequence[str]) -> tuple[TraceStep, ...]:
    """The steps of an estimate with names in place of indices."""
    return tuple(
        TraceStep(
            chosen=names[step.chosen],
            margin=step.margin,
            scores={names[i]: float(score) for i, score in zip(step.candidates, step.scores, strict=True)},
        )
        for step in steps
    )
