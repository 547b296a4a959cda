"""From what a user gives to tables at sites and a method that will ask them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, get_args

import numpy as np

from fedrcd.api.describe import describe
from fedrcd.api.discovery import Discovery
from fedrcd.api.given import KnowledgeLike, as_knowledge, read_tables
from fedrcd.api.notes import notes_on, require_coverage
from fedrcd.api.progress import Progress
from fedrcd.api.settings import recorded
from fedrcd.data.rows import count_rows, is_complete
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.methods.auto import AUTO, Choice, Circumstances, choose
from fedrcd.methods.registry import Card, build, find, require_options
from fedrcd.methods.skeleton import Estimate, Parts
from fedrcd.methods.within import choose_within
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import Missing, Within, in_process
from fedrcd.protocol.transport import InProcess, Setting
from fedrcd.statistics.coverage import Holding
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.typing import IntVector, Matrix

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


@dataclass(frozen=True, slots=True)
class Prepared:
    """Tables that are checked and lie at sites, and the method that will ask them."""

    card: Card
    options: dict[str, Any]
    transport: InProcess = field(repr=False)
    setting: Setting
    blocks: Sequence[Table] = field(repr=False)
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
        return self.setting.fills_gaps and any(
            np.isnan(values).any() for block in self.blocks for values, _ in block.chunks()
        )

    def order_of_standardised(self, estimate: Estimate) -> IntVector:
        """The order that the method gives when every variable is divided by its standard deviation."""
        if self.card.scale_free:
            return estimate.order
        names = self.setting.variables
        sd = dict(zip(names, np.sqrt(np.diagonal(estimate.marginals.cov)), strict=True))
        unit = [replace(one, data=one.values / np.array([sd[name] for name in one.columns])) for one in self.blocks]
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
    blocks = checked
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
    settings = recorded(
        drop=list(drop),
        within=within,
        missing=missing,
        missing_codes=np.atleast_1d(missing_codes).tolist(),
        trim=trim,
        arithmetic=arithmetic,
        stack=stack,
        knowledge=known,
    )
    return Prepared(card, options, transport, setting, blocks, reasons, within, embedding, settings)


def _all_variables(tables: Sequence[Table], given: Sequence[str] | None) -> tuple[str, ...]:
    """All columns of all tables, in the order given or met."""
    found = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    if given is None:
        return found
    several = isinstance(given, Iterable) and not isinstance(given, str)
    if not several or not all(isinstance(name, str) for name in given):
        raise ConfigError(f"variables must be a list of names, got {given!r}")
    if sorted(given) != sorted(found):
        raise ConfigError("variables must be the columns of the tables, each once")
    return tuple(given)


def _embed(blocks: Sequence[Table], variables: tuple[str, ...], within: str, **settings: Any) -> tuple[InProcess, str]:
    """A transport over the blocks, and why it scales within sites as it does, if that was left open."""
    if within != "auto":
        return in_process(blocks, variables, within=within, **settings), ""  # type: ignore[arg-type]
    # Sites that differ must not lose their rows for it before anybody has looked.
    first = in_process(blocks, variables, trim_within="standardise", **settings)
    choice = choose_within(first)
    transport = in_process(blocks, variables, within=choice.within, **settings)
    reason = f"within={choice.within!r} because {choice.reason}"
    return replace(transport, traffic=first.traffic), reason


def _holdings(transport: InProcess) -> tuple[Holding, ...]:
    """Who holds what, of the rows that were used."""
    if transport.setting.layout is not None:
        return transport.setting.layout.holdings
    sites: Any = transport.sites
    return tuple(Holding(site.name, site.block, tuple(site.columns), count_rows(site.rows)) for site in sites)


def _choose(blocks: Sequence[Table], variables: tuple[str, ...], missing: str, *, one_round: bool) -> Choice:
    """What `auto` takes for these blocks."""
    everything = set(variables)
    rows: dict[str, int] = {}
    for block in blocks:  # several sites may hold the same rows
        kept = count_rows(block.select(is_complete) if missing == "complete" else block)
        rows[block.block] = max(rows.get(block.block, 0), kept)
    return choose(
        Circumstances(
            p=len(variables),
            rows=sum(rows.values()),
            all_columns_somewhere=any(set(block.columns) == everything for block in blocks),
            complete_rows=missing == "complete",
            one_round=one_round,
        )
    )


def _stacked(card: Card, blocks: list[Table], *, stack: bool) -> list[Table]:
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
    aligned = [block.values[:, [block.columns.index(name) for name in columns]] for block in blocks]
    return [Table(np.concatenate(aligned), "all tables", "all tables", columns=columns)]


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
