"""Causal discovery over tables that lie in this process, one per site."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from fedrcd.api.describe import describe
from fedrcd.api.discovery import Discovery
from fedrcd.api.notes import notes_on, require_coverage
from fedrcd.data.align import align_tables
from fedrcd.data.knowledge_file import read_knowledge
from fedrcd.data.labelled import LabelledTable, open_tables
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.graphs.knowledge import Knowledge
from fedrcd.methods.auto import AUTO, Choice, Circumstances, choose
from fedrcd.methods.registry import Card, build, find, require_options
from fedrcd.methods.skeleton import Estimate, Parts
from fedrcd.methods.within import choose_within
from fedrcd.protocol.driver import run
from fedrcd.protocol.embedded import LocalBlock, Missing, Within, embed_blocks
from fedrcd.protocol.site import TableSite
from fedrcd.protocol.transport import InProcess, Setting, Traffic
from fedrcd.report.patience import patience
from fedrcd.statistics.coverage import Holding
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.typing import IntVector, Matrix

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[Traffic], None]
RUN_SETTINGS = (
    "variables",
    "drop",
    "within",
    "missing",
    "missing_codes",
    "trim",
    "arithmetic",
    "stack",
    "progress",
    "knowledge",
)
"""Arguments of `discover` besides the options of a method."""

BY_BOOTSTRAP = "bootstrap"
SELECT_BY_BOOTSTRAP: dict[str, Any] = {
    "threshold": 0.5,
    "n_sampling": 100,
    "random_state": 0,
    "base": "adaptive-lasso",
}
"""Options of `weights="bootstrap"`, with their defaults."""

KnowledgeLike: TypeAlias = "Knowledge | str | os.PathLike[str] | Matrix | pd.DataFrame | Sequence[Sequence[int]]"


def discover(
    tables: Any,
    method: str = AUTO,
    *,
    variables: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    within: Literal["none", "centre", "standardise", "auto"] = "none",
    missing: Literal["complete", "expected", "available"] = "complete",
    missing_codes: Sequence[float] = (),
    trim: float | None = None,
    arithmetic: Literal["float", "exact", "compact"] = "float",
    stack: bool = False,
    check_scale: bool = False,
    progress: Progress | bool | None = None,
    knowledge: KnowledgeLike | None = None,
    **options: Any,
) -> Discovery:
    """Causal order and effects behind the rows of one or several tables, from sums over their rows.

    Parameters
    ----------
    tables : table or list of tables
        One per site: a DataFrame, an array with rows as observations, or a path to a CSV or Parquet file. All must
        have the same columns, which are aligned by name, unless they are `fedrcd.Table` with a site each.
    method : str
        Name of a method (`fedrcd methods` lists them), or "auto" to have one chosen.
    variables : sequence of str, optional
        All variables, in the order that breaks ties; by default as the tables name them.
    drop : sequence of str
        Columns to leave out: identifiers, text, constants.
    within : {"none", "centre", "standardise", "auto"}
        Where sites differ in level or unit: let each express its rows by its own means, or by its own means and
        standard deviations, before anything is summed. "auto" asks one round whether sites differ beyond chance.
    missing : {"complete", "expected", "available"}
        Rows with missing values are left out; or sites fill gaps by what pooled moments make them expect, which takes a
        few rounds more; or only the values are left out, which costs accuracy and gives away who lacks what.
    missing_codes : sequence of float
        Values that stand for a missing one, besides NaN and empty cells.
    trim : float, optional
        Leave out rows with a value more than this many robust scales from its column's median; 8 removes gross errors.
        Not free: rows of clean but heavy-tailed data are lost too.
    arithmetic : {"float", "exact", "compact"}
        Sum in float64; or round values to a fine grid, or to a coarse one in fewer bytes, on which sums are exact to
        the bit however rows are split.
    stack : bool
        Allow a method for one table to stack several. Only where the rows may be pooled.
    check_scale : bool
        Find the order of the standardised variables too, for `Discovery.standardised_order`. A method that depends on
        scale runs a second time for it, on sums that are not counted.
    progress : callable or bool, optional
        Called with the traffic so far after each site's answer; or True for a bar in the terminal or the notebook if it
        takes more than two seconds.
    knowledge : Knowledge, path or (p, p) array, optional
        What is known of the graph: statements by name, a TOML file of them, or `lingam`'s matrix. The order and the
        effects keep to it.
    **options
        `weights` ("adaptive-lasso", "bic", "bootstrap" or "none"), `penalty`, and the method's own options. "bootstrap"
        keeps edges that a `threshold` of 0.5 of `n_sampling` replicates with seed `random_state` have; `base` is the
        selection within each replicate.

    Examples
    --------
    >>> from fedrcd import discover
    >>> from fedrcd.data.examples import example_paths
    >>> discover(example_paths()).rounds
    1
    """
    settings: dict[str, Any] = {
        "variables": variables,
        "drop": drop,
        "within": within,
        "missing": missing,
        "missing_codes": missing_codes,
        "trim": trim,
        "arithmetic": arithmetic,
        "stack": stack,
        "knowledge": knowledge,
    }
    with _told(progress) as tell:
        settings["progress"] = tell
        if options.get("weights") == BY_BOOTSTRAP:
            return _select_by_bootstrap(tables, method, settings, options, check_scale=check_scale)
        prepared = prepare(tables, method, options, **settings)
        estimate = run(prepared.parts.rounds(prepared.setting), prepared.transport)
        standardised = prepared.order_of_standardised(estimate) if check_scale else None
    return prepared.discovery(estimate, standardised=standardised)


def _select_by_bootstrap(
    tables: Any, method: str, settings: dict[str, Any], options: dict[str, Any], *, check_scale: bool
) -> Discovery:
    """Keep the edges that at least a share of replicates have."""
    from fedrcd.api.bootstrap import bootstrap
    from fedrcd.api.bootstrap_result import require_threshold

    chosen = {**SELECT_BY_BOOTSTRAP, **{k: v for k, v in options.items() if k in SELECT_BY_BOOTSTRAP}}
    others = {k: v for k, v in options.items() if k not in SELECT_BY_BOOTSTRAP}
    threshold, others["weights"] = chosen.pop("threshold"), chosen.pop("base")
    require_threshold(threshold)
    return bootstrap(tables, method, check_scale=check_scale, **chosen, **settings, **others).select(threshold)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Tables that are checked and lie at sites, and the method that will ask them."""

    card: Card
    options: dict[str, Any]
    transport: InProcess = field(repr=False)
    setting: Setting
    blocks: Sequence[LocalBlock] = field(repr=False)
    chosen: str
    within: str
    embedding: dict[str, Any]
    """How the blocks were embedded."""
    settings: dict[str, Any]
    """What the user set, for the record."""

    @property
    def parts(self) -> Parts[Any]:
        """The method with its options set."""
        return build(self.card.name, **self.options)

    @property
    def fills(self) -> bool:
        """Whether there are missing values, and they are filled."""
        return self.setting.fills_gaps and any(np.isnan(block.rows).any() for block in self.blocks)

    def order_of_standardised(self, estimate: Estimate) -> IntVector:
        """The order that the method gives when every variable is divided by its standard deviation."""
        if self.card.scale_free:
            return estimate.order
        names = self.setting.variables
        sd = dict(zip(names, np.sqrt(np.diagonal(estimate.marginals.cov)), strict=True))
        unit = [replace(one, rows=one.rows / np.array([sd[name] for name in one.columns])) for one in self.blocks]
        again, _ = _embed(unit, names, self.within, **self.embedding | {"progress": None})
        return run(self.parts.rounds(replace(again.setting, constraints=self.setting.constraints)), again).order

    def discovery(
        self, estimate: Estimate, confidence: Matrix | None = None, standardised: IntVector | None = None
    ) -> Discovery:
        """The result with names, costs and notes; the notes are issued as warnings too."""
        notes = notes_on(estimate, self.card, self.transport, self.blocks, trim=self.embedding["trim"])
        for note in notes:
            warnings.warn(note, stacklevel=3)
        traffic = self.transport.traffic
        return describe(
            estimate,
            self.card,
            self.setting.variables,
            self.card.resolve(self.options),
            sites=len({site.name for site in self.transport.sites}),
            rounds=0 if self.card.one_table else traffic.rounds,
            bytes_sent=0 if self.card.one_table else traffic.bytes_sent,
            chosen=self.chosen,
            notes=notes,
            holdings=_holdings(self.transport),
            standardised=standardised,
            confidence=confidence,
            settings=self.settings,
            filled=self.fills,
        )


def prepare(
    tables: Any,
    method: str,
    options: dict[str, Any],
    *,
    variables: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    within: str = "none",
    missing: Missing = "complete",
    missing_codes: Sequence[float] = (),
    trim: float | None = None,
    arithmetic: str = "float",
    stack: bool = False,
    progress: Progress | None = None,
    knowledge: KnowledgeLike | None = None,
    one_round: bool = False,
) -> Prepared:
    """Whatever can be wrong is found here, before the first question; the arguments are those of `discover`.

    With `one_round`, "auto" takes only methods that ask once.
    """
    _require_settings(method, options, within=within, missing=missing, trim=trim, arithmetic=arithmetic, stack=stack)
    checked = read_tables(tables, missing_codes, drop)
    names = _all_variables(checked, variables)
    known = None if knowledge is None else as_knowledge(knowledge, names)
    blocks = [LocalBlock(table.site, table.block, table.names, table.values, table.ids) for table in checked]
    choice = _choose(blocks, names, missing, one_round=one_round) if method == AUTO else Choice(method, "")
    card = find(choice.method)
    if card.one_table:
        blocks = _stacked(card, blocks, stack=stack)
    embedding = {"trim": trim, "missing": missing, "grid": ARITHMETIC[arithmetic], "progress": progress}
    transport, reason = _embed(blocks, names, within, **embedding)
    require_coverage(card, transport, missing=missing, before=blocks)
    transport.traffic.expected = card.expected_rounds(len(names)) * len(transport.sites)
    setting = replace(transport.setting, constraints=known.constraints(names) if known else None)
    reasons = "; ".join(filter(None, (choice.reason, reason)))
    settings = _recorded(
        drop=list(drop),
        within=within,
        missing=missing,
        missing_codes=list(missing_codes),
        trim=trim,
        arithmetic=arithmetic,
        stack=stack,
        knowledge=known,
    )
    return Prepared(card, options, transport, setting, blocks, reasons, within, embedding, settings)


def _recorded(**settings: Any) -> dict[str, Any]:
    """Settings that are not those by default, as JSON has them; `recalled` takes them back."""
    defaults = {"within": "none", "missing": "complete", "trim": None, "arithmetic": "float", "stack": False}
    changed = {name: value for name, value in settings.items() if value not in (defaults.get(name), [], None)}
    if "knowledge" in changed:
        changed["knowledge"] = {name: value for name, value in asdict(changed["knowledge"]).items() if value}
    return changed


def recalled(found: Discovery) -> dict[str, Any]:
    """The settings by which a discovery was made, for `prepare`."""
    settings: dict[str, Any] = {"variables": found.names, **found.settings}
    if "knowledge" in settings:
        settings["knowledge"] = Knowledge(**settings["knowledge"])
    return settings


def as_knowledge(given: KnowledgeLike, names: Sequence[str]) -> Knowledge:
    """Knowledge from whatever `discover` accepts as such."""
    if isinstance(given, Knowledge):
        return given
    if isinstance(given, str | os.PathLike):
        return read_knowledge(given)
    import pandas as pd

    if isinstance(given, pd.DataFrame):
        return Knowledge.from_matrix(_unknown_below_zero(_along(given, names)), names)
    if isinstance(given, np.ndarray | list | tuple):
        return Knowledge.from_matrix(_unknown_below_zero(given), names)
    raise ConfigError("knowledge must be a fedrcd.Knowledge, a TOML file or a matrix [to, from] of 1, 0 and -1")


def _along(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """A frame of prior knowledge in the order of the variables, if its rows and columns bear their names."""
    wanted = list(names)
    if any(sorted(map(str, labels)) != sorted(wanted) for labels in frame.axes):
        return frame
    named = frame.set_axis(frame.index.map(str), axis=0).set_axis(frame.columns.map(str), axis=1)
    return named.loc[wanted, wanted]


def _unknown_below_zero(given: Any) -> Matrix:
    """A matrix of prior knowledge in which everything below 0 is -1, as `lingam` reads it."""
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError("a matrix of prior knowledge must hold 1 (path), 0 (no path) or -1 (unknown)") from None
    return np.where(matrix < 0, -1.0, matrix)


def read_tables(tables: Any, missing_codes: Sequence[float] = (), drop: Sequence[str] = ()) -> list[Table]:
    """Checked tables with their sites and blocks, from whatever `discover` accepts.

    Tables without labels must have the same columns; each is a site with rows of its own.
    """
    several = list(tables) if isinstance(tables, Sequence) and not isinstance(tables, str | bytes) else [tables]
    if not several:
        raise ConfigError("no tables were given; give one table per site")
    labels = [f"table {k}" for k in range(1, len(several) + 1)] if len(several) > 1 else ["the table"]
    settings: dict[str, Any] = {"gaps": True, "codes": missing_codes, "drop": drop}
    opened = [open_tables(table, label, **settings) for table, label in zip(several, labels, strict=True)]
    labelled = [isinstance(table, LabelledTable) for table in several]
    if all(labelled):
        return [table for group in opened for table in group]
    if any(labelled):
        raise ConfigError("either all tables or none must be fedrcd.Table with a site")
    plain = [group[0] for group in opened]
    if len({table.source for table in plain}) < len(plain):  # files of one name in several folders
        paths = [os.fspath(given) if isinstance(given, str | os.PathLike) else "" for given in several]
        if len(set(paths)) < len(paths):
            raise ConfigError(f"{next(path for path in paths if paths.count(path) > 1)} is given twice")
        plain = [replace(table, source=path or table.source) for table, path in zip(plain, paths, strict=True)]
    return [replace(table, site=table.source, block=table.source) for table in align_tables(plain)]


def _all_variables(tables: Sequence[Table], given: Sequence[str] | None) -> tuple[str, ...]:
    """All columns of all tables, in the order given or met."""
    found = tuple(dict.fromkeys(name for table in tables for name in table.names))
    if given is None:
        return found
    if isinstance(given, str):
        raise ConfigError(f"variables must be a list of names, got the text {given!r}")
    if sorted(given) != sorted(found):
        raise ConfigError("variables must be the columns of the tables, each once")
    return tuple(given)


def _embed(
    blocks: Sequence[LocalBlock], variables: tuple[str, ...], within: str, **settings: Any
) -> tuple[InProcess, str]:
    """A transport over the blocks, and why it scales within sites as it does, if that was left open."""
    if within != "auto":
        return embed_blocks(blocks, variables, within=within, **settings), ""  # type: ignore[arg-type]
    # Sites that differ must not lose their rows for it before anybody has looked.
    first = embed_blocks(blocks, variables, trim_within="standardise", **settings)
    choice = choose_within(first)
    transport = embed_blocks(blocks, variables, within=choice.within, **settings)
    reason = f"within={choice.within!r} because {choice.reason}"
    return replace(transport, traffic=first.traffic), reason


@contextmanager
def _told(progress: Progress | Literal[True, False] | None) -> Iterator[Progress | None]:
    """What a transport calls after each answer, from what the user said."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    else:
        with patience("reading tables") as sign:
            yield lambda traffic: sign.say(traffic.words, traffic.share)


def _holdings(transport: InProcess) -> tuple[Holding, ...]:
    """Who holds what, of the rows that were used."""
    if transport.setting.layout is not None:
        return transport.setting.layout.holdings
    return tuple(
        Holding(site.name, site.block, tuple(site.columns), len(site.rows))
        for site in transport.sites
        if isinstance(site, TableSite)
    )


def _choose(blocks: Sequence[LocalBlock], variables: tuple[str, ...], missing: str, *, one_round: bool) -> Choice:
    """What `auto` takes for these blocks."""
    everything = set(variables)
    gaps = [np.isnan(block.rows).any(axis=1) for block in blocks]
    lost = sum(int(lacking.sum()) for lacking in gaps) if missing == "complete" else 0
    return choose(
        Circumstances(
            p=len(variables),
            rows=sum(len(block.rows) for block in blocks) - lost,
            all_columns_somewhere=any(set(block.columns) == everything for block in blocks),
            complete_rows=missing == "complete",
            one_round=one_round,
        )
    )


def _stacked(card: Card, blocks: list[LocalBlock], *, stack: bool) -> list[LocalBlock]:
    """One block of all rows, for a method that works on one table."""
    if len(blocks) == 1:
        return blocks
    if not stack:
        raise ConfigError(
            f"{card.name} works on one table and {len(blocks)} were given; use {card.counterpart}, which gives the "
            "same order from sums, or stack=True (--stack) where the rows may be pooled"
        )
    columns = blocks[0].columns
    if any(set(block.columns) != set(columns) for block in blocks) or len({b.block for b in blocks}) < len(blocks):
        raise ConfigError(f"{card.name} cannot stack tables that differ in columns or share rows")
    aligned = [block.rows[:, [block.columns.index(name) for name in columns]] for block in blocks]
    return [LocalBlock("all tables", "all tables", columns, np.concatenate(aligned))]


def _require_settings(method: object, options: dict[str, Any], **settings: Any) -> None:
    """Raise for a wrong name, setting or option, before anything is read."""
    if not isinstance(method, str):
        raise ConfigError("method must be a name; several tables go in one list: discover([a, b])")
    if method.endswith((".csv", ".gz", ".tsv", ".parquet")):
        raise ConfigError(f"method must be a name, got {method!r}; several tables go in one list: discover([a, b])")
    known = {"within": (*get_args(Within), "auto"), "missing": get_args(Missing), "arithmetic": tuple(ARITHMETIC)}
    for name, choices in known.items():
        if settings[name] not in choices:
            raise ConfigError(f"{name} must be one of {', '.join(choices)}, got {settings[name]!r}")
    if settings["missing"] == "expected" and settings["arithmetic"] != "float":
        raise ConfigError("missing='expected' fills gaps by float64 moments; it needs arithmetic='float'")
    trim = settings["trim"]
    if trim is not None and not (isinstance(trim, Real) and not isinstance(trim, bool) and float(trim) > 0):
        raise ConfigError(f"trim must be a number above 0, got {trim!r}")
    if not isinstance(settings["stack"], bool):
        raise ConfigError(f"stack must be True or False, got {settings['stack']!r}")
    require_options(method, options)
