"""The result of a causal discovery: order, effects, how it was found and what it cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fedrcd.errors import ConfigError, FileError
from fedrcd.graphs.dag import standardised_effects, total_effects
from fedrcd.graphs.exports import Edge, edge_list, to_dot, to_gml, to_networkx
from fedrcd.statistics.coverage import Holding
from fedrcd.typing import Matrix

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

FORMAT = "fedrcd-discovery/1"
MATRICES = {"confidence": 1.0, "errors": np.inf, "total_errors": np.inf}
"""Optional numbers per pair of variables, and the largest each may be."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One decision: who was chosen as source, from which scores (higher is better), and by what margin.

    A small margin relative to the spread of the scores is a weak decision; a margin of 0 is a tie, won by the
    variable that stands first. Methods that refine their order may overrule a step: see `Discovery.start`.
    """

    chosen: str
    margin: float
    scores: dict[str, float]


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
        `B[i, j]` is the effect of variable j on variable i; `adjacency` is the same with names.
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

    @property
    def adjacency(self) -> pd.DataFrame:
        """Effects as a DataFrame: row i, column j is the effect of j on i."""
        return self._frame(self.B)

    def total_effects(self) -> pd.DataFrame:
        """Total effects over all directed paths: row i, column j is the total effect of j on i."""
        return self._frame(total_effects(self.B))

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
        values, errors = (self.B, self.errors) if kind == "direct" else (total_effects(self.B), self.total_errors)
        if errors is None:
            raise ConfigError(
                "this discovery has no standard errors, as where missing values were filled or pairs of variables come "
                "from different rows; a bootstrap with missing='available' has intervals"
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
        ]
        return pd.DataFrame(rows, columns=["cause", "effect", "estimate", "error", "low", "high"])

    def standardised_effects(self) -> pd.DataFrame:
        """Effects in standard deviations of effect and cause, free of units: row i, column j is that of j on i."""
        if not self.variances:
            raise ConfigError("the variances of this discovery are not known; run discover again with this version")
        return self._frame(standardised_effects(self.B, self.variances))

    def edges(self) -> list[Edge]:
        """Edges `(cause, effect, weight)`, strongest first."""
        return edge_list(self.B, self.names)

    def to_networkx(self) -> nx.DiGraph:
        """A graph with edges from cause to effect and attribute `weight`."""
        return to_networkx(self.B, self.names)

    def to_dot(self) -> str:
        """Graphviz text with edges from cause to effect."""
        return to_dot(self.B, self.names)

    def to_gml(self) -> str:
        """GML text with edges from cause to effect."""
        return to_gml(self.B, self.names)

    def to_svg(self) -> str:
        """A picture in SVG: causes above effects, lines as wide as effects are strong."""
        from fedrcd.report.drawing import draw_svg

        return draw_svg(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the graph with matplotlib, into `ax` or a figure of its own; save it with `.figure.savefig(...)`."""
        from fedrcd.report.figure import draw_figure

        return draw_figure(self, ax)

    def report(self, path: str | Path | None = None) -> str:
        """One self-contained HTML page about this discovery; written to `path` as well if given."""
        from fedrcd.report.page import write_page

        return written(write_page(self), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text; written to `path` as well if given."""
        apart = {"B", *MATRICES, *_RECORDS}
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in apart}
        if not self.state_id:
            del plain["state_id"]
        records = {name: [asdict(record) for record in getattr(self, name)] for name in _RECORDS}
        matrices = {name: getattr(self, name).tolist() for name in MATRICES if getattr(self, name) is not None}
        content = {"format": FORMAT, **plain, "B": self.B.tolist(), **matrices, **records}
        text = json.dumps(content, indent=1, allow_nan=False, default=_plain)
        written(text + "\n", path)
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Discovery:
        """The discovery that `to_json` wrote, from its text or from a file."""
        text, where = _read(source)
        try:
            return cls._from_text(text)
        except FileError as problem:
            raise FileError(f"{where}{problem}") from None

    @classmethod
    def _from_text(cls, text: str) -> Discovery:
        """The discovery that a text holds; errors do not say where the text is from."""
        try:
            content = json.loads(text)
        except json.JSONDecodeError as problem:
            raise FileError(f"not a discovery: broken JSON in line {problem.lineno}") from None
        _require_format(content)
        for name in content:
            if name not in cls.__dataclass_fields__:
                raise FileError(f"it holds {name!r}, which this version of fedrcd does not know; upgrade fedrcd")
        try:
            content.setdefault("holdings", ())  # which older versions did not write
            records: dict[str, Any] = {
                name: tuple(make(**one) for one in content.pop(name)) for name, make in _RECORDS.items()
            }
            B = np.array(content.pop("B"), dtype=float)
            content |= {
                name: np.array(content[name], dtype=float) for name in MATRICES if content.get(name) is not None
            }
            content |= {name: tuple(map(str, content[name])) for name in ("names", "order", "start", "notes")}
            content |= {name: tuple(content[name]) for name in ("variances", "standardised_order") if name in content}
            found = cls(B=B, **records, **content)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise FileError(f"not a complete discovery: {problem}") from None
        found._require_consistent()
        return found

    def _require_consistent(self) -> None:
        """Raise unless the order is one of the variables and the effects are finite and follow it."""
        orders = [self.order, *filter(None, (self.start, self.standardised_order))]
        if any(sorted(order) != sorted(self.names) for order in orders) or self.B.shape != (len(self.names),) * 2:
            raise FileError("not a discovery: its order or its effects are not those of its variables")
        for name, most in MATRICES.items():
            values = getattr(self, name)
            if values is not None and (values.shape != self.B.shape or not ((values >= 0) & (values <= most)).all()):
                raise FileError(
                    f"not a discovery: its {name} are not one number from 0 to {most} per pair of variables"
                )
        if self.variances and not (len(self.variances) == len(self.names) and all(v > 0 for v in self.variances)):
            raise FileError("not a discovery: its variances are not those of its variables")
        order = [self.names.index(name) for name in self.order]
        if not np.isfinite(self.B).all() or np.triu(self.B[np.ix_(order, order)]).any():
            raise FileError("not a discovery: its effects do not follow its order")

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture, the order and the strongest edges."""
        from fedrcd.report.summary import summary_html

        return summary_html(self)

    def __repr__(self) -> str:
        shown = " > ".join(self.order if len(self.order) <= 10 else (*self.order[:5], "...", *self.order[-2:]))
        size = f"{len(self.names)} variables, {np.count_nonzero(self.B)} edges, {self.rows} rows, {self.sites} sites"
        return f"<Discovery by {self.method}: {size}; {shown}>"

    def __str__(self) -> str:
        edges = self.edges()
        lines = [f"{self.method}: {self.rows} rows, {self.sites} sites, {self.rounds} rounds, {len(edges)} edges"]
        lines.append("order: " + " > ".join(self.order))
        lines += [f"  {edge.cause} -> {edge.effect}  {edge.weight:+.4g}" for edge in edges]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])

    def _frame(self, values: Matrix) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))


def require_level(level: object) -> None:
    """Raise unless a level of confidence is a number between 0 and 1."""
    if not (isinstance(level, Real) and not isinstance(level, bool) and 0 < float(level) < 1):
        raise ConfigError(f"level must be a number between 0 and 1, got {level!r}")


def _holding(*, site: str, block: str, columns: Sequence[str], rows: int) -> Holding:
    """A holding from its record."""
    return Holding(site, block, tuple(columns), rows)


_RECORDS: dict[str, Callable[..., Any]] = {"trace": TraceStep, "holdings": _holding}
"""Fields that are tuples of records, and what makes one of its JSON object."""


def _require_format(content: object) -> None:
    """Raise unless this is the format that this version reads; take the mark away."""
    said = content.pop("format", None) if isinstance(content, dict) else None
    if said == FORMAT:
        return
    family, _, number = str(said).partition("/")
    if family == FORMAT.partition("/")[0] and number.isdecimal():
        raise FileError(
            f"a discovery of format {said}, written by a newer version of fedrcd; upgrade fedrcd, which reads {FORMAT}"
        )
    raise FileError(f"not a discovery of format {FORMAT}: fedrcd discover --out FILE.json writes one")


def _plain(value: object) -> object:
    """NumPy scalars among the options as numbers of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} does not go into JSON")


def _read(source: str | Path) -> tuple[str, str]:
    """Text as it is, or the text of a file; and what messages say of where it is from."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source, ""
    try:
        return Path(source).read_text(encoding="utf-8"), f"{source}: "
    except ValueError:
        raise FileError(f"{source!s} is not a text file") from None
    except OSError as problem:
        raise FileError(f"cannot read {source}: {problem.strerror}") from None


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
