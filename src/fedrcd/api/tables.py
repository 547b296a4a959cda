"""From tables, or a transport, to a run: whatever can be wrong is found here, before the first question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedrcd.api.describe import Background
from fedrcd.api.grouping import require_seed, with_secrets
from fedrcd.api.inputs import as_frame, as_knowledge, read_tables
from fedrcd.api.masks import is_masked, masked_over, require_maskable
from fedrcd.api.notes import far_apart, left_out, mostly_one_value, notes_on_sites, require_coverage, require_together
from fedrcd.api.over_time import tables_in_waves, tables_of_subjects, tables_with_past
from fedrcd.api.privacy_account import charge
from fedrcd.api.progress import Progress
from fedrcd.data.past import SeriesReport
from fedrcd.data.rows import count_rows, is_complete
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.graphs.past_names import past_names, steps_back
from fedrcd.methods.auto import AUTO, FEW_ROWS, Choice, Circumstances, choose, require_memory
from fedrcd.methods.card import Card
from fedrcd.methods.costs import Job, available_memory
from fedrcd.methods.past import choose_lags
from fedrcd.methods.registry import card_of, find
from fedrcd.methods.settings import ACCOUNT, BUDGET, DELTA, EPSILON, MOST_LAGS, OF_TABLES, Settings, with_settings
from fedrcd.methods.within import choose_within
from fedrcd.protocol import in_process as embedding
from fedrcd.protocol.site import available_threads
from fedrcd.protocol.transport import InProcess, Traffic, Transport
from fedrcd.runs.run import Run
from fedrcd.statistics.accelerator import Accelerator, device_of
from fedrcd.statistics.coverage import Holding
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.pair_cumulants import pair_cumulants


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is about to start, and the blocks of rows that it is about, where they are in this process."""

    run: Run
    blocks: Sequence[Table] = field(default=(), repr=False)
    series: Sequence[SeriesReport] = ()
    """What became of the rows of every table, where they go back in time."""

    @property
    def transport(self) -> Transport:
        """What carries the questions."""
        return self.run.transport

    def background(self) -> Background:
        """What is known of the rows, for people; takes a look at all of them."""
        transport, setting = self.transport, self.transport.setting
        if self.run.card.private:
            return Background(grid=setting.grid)  # whatever else is known of the rows was not meant to be told
        holdings: Sequence[Holding] = setting.layout.holdings if setting.layout else ()
        common: dict[str, Any] = {"layout": setting.layout, "grid": setting.grid, "fills_gaps": setting.fills_gaps}
        common["first"] = [str(report) for report in self.series]
        if not self.blocks or not isinstance(transport, InProcess):
            return Background(**common, holdings=holdings, filled=setting.fills_gaps)
        sites: Any = transport.sites
        own = [site.own for site in sites if site.own is not None]
        return Background(
            **common,
            holdings=holdings
            or [Holding(one.name, one.block, tuple(one.columns), count_rows(one.rows)) for one in sites],
            filled=setting.fills_gaps
            and any(np.isnan(chunk.values).any() for block in self.blocks for chunk in block.chunks()),
            unscaled=any((frame.scale != 1).any() for frame in own),
            last=notes_on_sites(transport, self.blocks, trim=self.run.settings.trim),
            left_out=left_out(transport, self.blocks),
        )


def prepare(
    source: Any,
    settings: Settings,
    *,
    progress: Progress | None = None,
    one_round: bool = False,
    discovers_only: bool = False,
    device: str = "cpu",
) -> Prepared:
    """A run over tables, or over a transport that somebody made of whatever they like.

    With `one_round`, "auto" takes only methods that ask once. Noise is for runs of which nothing but the discovery is
    wanted: other sums have none on them.
    """
    where = device_of(device)
    settings.check()
    settings = settings.under_noise()
    if is_transport(source) or not discovers_only:
        _require_no_noise(settings)
    if is_transport(source):
        return Prepared(replace(_over(source, settings, one_round=one_round), device=where.card))
    settings, lags_chosen, asked_before = _with_lags(source, settings, progress)
    source, settings = _in_waves(source, settings)
    blocks, names, series = _read(source, settings)
    settings = _going_back_as_named(settings, names)
    if settings.knowledge is not None:
        settings = replace(settings, knowledge=as_knowledge(settings.knowledge, _present(names, settings)))
    choice = Choice(settings.method, "")
    if settings.method != AUTO and card_of(settings.method).one_table:
        blocks = _stacked(card_of(settings.method), blocks, stack=settings.stack)
    transport, reason = _embed(blocks, names, settings, progress)
    transport.traffic.add(asked_before)
    transport = _summing_on(where.card, transport)
    if settings.method == AUTO:
        choice = choose(_circumstances(blocks, transport, settings, one_round=one_round or settings.masked))
    card = card_of(choice.method)
    if card.private:
        require_together(card, transport.setting.layout, len(names), settings.missing)
        parts = len(transport.sites)  # the rows are in one process: its sites add the noise together
        setting = replace(transport.setting, noise_part=1 / parts, noise_parts=parts)
        transport = replace(transport, setting=setting)
    else:
        require_coverage(card, transport, missing=settings.missing, before=blocks)
    if settings.method != AUTO:
        require_memory(card, Job(len(names), 0, len(blocks), available_threads()))
    transport.traffic.expected = card.rounds(len(names)) * len(transport.sites)
    transport.setting.knowing(settings.knowledge)  # what clashes is found before anything is asked
    sites = tuple(site.name for site in transport.sites)
    reasons = "; ".join(filter(None, (choice.reason, reason, lags_chosen, where.reason)))
    run = Run(transport, settings, card, sites, reasons, where.card)
    if settings.masked:
        require_maskable(run)
    if ACCOUNT in settings.options:
        options, delta = settings.options, card.resolve(settings.method_options)[DELTA]
        charge(options[ACCOUNT], list(dict.fromkeys(sites)), options[EPSILON], delta, options.get(BUDGET))
    return Prepared(run, blocks, series)


def _require_no_noise(settings: Settings) -> None:
    """Raise where sums without noise would leave beside those with it."""
    if settings.wants_noise:
        raise ConfigError("epsilon is for fedrcd.discover over tables: not for a bootstrap, checks or a transport")


def is_transport(source: object) -> bool:
    """Whether something carries questions and pools answers."""
    return hasattr(source, "setting") and callable(getattr(source, "pool", None))


@with_settings
def in_process(
    tables: Any,
    *,
    random_state: int | None = None,
    progress: Progress | None = None,
    device: str = "cpu",
    **settings: Any,
) -> InProcess:
    """The transport over tables in this process, for `discover`, `bootstrap` and `check`, or for a wrapper around it.

    Parameters
    ----------
    tables, progress, device, **settings
        As for `discover`; the method and its options are for whoever asks.
    random_state : int, optional
        Seed of the secrets by which sites split their rows into groups.

    Examples
    --------
    >>> import fedrcd
    >>> from fedrcd.data.examples import example_paths
    >>> transport = fedrcd.in_process(example_paths(), arithmetic="exact")
    >>> fedrcd.discover(transport).order == fedrcd.discover(example_paths(), arithmetic="exact").order
    True
    """
    card, given = device_of(device).card, Settings.of(**settings)
    given.check()
    _require_no_noise(given)
    given, *_ = _with_lags(tables, given, progress)
    tables, given = _in_waves(tables, given)
    blocks, names, _ = _read(tables, given)
    given = _going_back_as_named(given, names)
    if given.stack and len(blocks) > 1:
        blocks = _one_block(blocks, "in_process")
    transport, _ = _embed(blocks, names, given, progress)
    known = None if given.knowledge is None else as_knowledge(given.knowledge, transport.setting.present)
    transport = replace(transport, setting=transport.setting.knowing(known))
    return with_secrets(_summing_on(card, transport), require_seed(random_state))


def _over(transport: Transport, settings: Settings, *, one_round: bool) -> Run:
    """A run over a transport that was given."""
    for name in settings.changed(("variables", *OF_TABLES)):
        raise ConfigError(f"{name} is set where the transport is made: fedrcd.in_process(tables, {name}=...)")
    setting = transport.setting
    names, layout = setting.variables, setting.layout
    if settings.knowledge is not None:
        settings = replace(settings, knowledge=as_knowledge(settings.knowledge, setting.present))
        setting.knowing(settings.knowledge)
    choice = Choice(settings.method, "")
    if settings.method == AUTO:
        known = Circumstances(
            p=len(names),
            rows=sum({one.block: one.rows for one in layout.holdings}.values()) if layout else FEW_ROWS,
            all_columns_somewhere=layout is None or layout.complete_rows() > 0,
            complete_rows=not setting.fills_gaps,
            one_round=one_round or is_masked(transport),
            past=bool(setting.past),
        )
        choice = choose(known)
    card = find(choice.method)
    sites = tuple(site.name for site in getattr(transport, "sites", ())) or tuple(
        dict.fromkeys(one.site for one in layout.holdings) if layout else ()
    )
    if card.one_table and len(sites) != 1:
        raise ConfigError(f"{card.name} works on one table; over sites {card.counterpart} gives the same order")
    require_together(card, layout, len(names), "expected" if setting.fills_gaps else "complete")
    run = Run(transport, settings, card, sites, choice.reason)
    if is_masked(transport):
        require_maskable(run)
    return run


def _with_lags(source: Any, settings: Settings, progress: Progress | None) -> tuple[Settings, str, Traffic]:
    """Settings that say how many steps back rows go; if that was left open, why so many, and what it cost to ask."""
    if settings.lags != AUTO:
        return settings, "", Traffic()
    blocks, names, _ = _read(source, settings)
    transport, _ = _embed(blocks, names, replace(settings, lags=MOST_LAGS), progress)
    setting = transport.setting
    sums = transport.pool(setting.pairs(2))
    lags = choose_lags(pair_cumulants(sums, setting.frame).cov, sums.most_rows, MOST_LAGS)
    return replace(settings, lags=lags), f"lags={lags} because its BIC is least of 1 to {MOST_LAGS}", transport.traffic


def _in_waves(source: Any, settings: Settings) -> tuple[Any, Settings]:
    """Tables with a row per subject, and settings with what is known of waves; both unchanged where there are none."""
    if not settings.waves:
        return source, settings
    formed, known = tables_in_waves(source, settings)
    return formed, replace(settings, knowledge=known)


def _going_back_as_named(settings: Settings, names: Sequence[str]) -> Settings:
    """Settings for rows that have their past already, as their names tell: those of a site, by a federation file."""
    return settings if settings.lags else replace(settings, lags=steps_back(names))


def _present(names: Sequence[str], settings: Settings) -> Sequence[str]:
    """The variables of now."""
    return names[: len(names) // (int(settings.lags) + 1)]


def _read(tables: Any, settings: Settings) -> tuple[list[Table], tuple[str, ...], Sequence[SeriesReport]]:
    """The blocks of rows in tables, all variables, and what became of rows that go back in time."""
    if not settings.lags:
        given = tables_of_subjects(tables, settings.subject) if settings.subject and not settings.waves else tables
        checked = read_tables(given, settings.missing_codes, () if settings.waves else settings.drop)
        return checked, _all_variables(checked, settings.variables), ()
    formed, reports = tables_with_past(tables, settings)
    lags = MOST_LAGS if settings.lags == AUTO else int(settings.lags)
    names = None if settings.variables is None else past_names(settings.variables, lags)
    checked = read_tables(formed, settings.missing_codes)
    return checked, _all_variables(checked, names), reports


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


def _embed(
    blocks: Sequence[Table], names: tuple[str, ...], settings: Settings, progress: Progress | None
) -> tuple[InProcess, str]:
    """A transport over the blocks, and why it scales within sites as it does, if that was left open."""
    how: dict[str, Any] = {
        "trim": settings.trim,
        "missing": settings.missing,
        "grid": ARITHMETIC[settings.summation],
        "frame": as_frame(settings.frame, names),
        "progress": progress,
    }
    past = int(settings.lags)
    if settings.within != "auto":
        transport = _going_back(embedding.in_process(blocks, names, within=settings.within, **how), past)
        return masked_over(transport) if settings.masked else transport, ""
    # Sites that differ must not lose their rows for it before anybody has looked.
    first = embedding.in_process(blocks, names, trim_within="standardise", **how)
    choice = choose_within(first)
    transport = _going_back(embedding.in_process(blocks, names, within=choice.within, **how), past)
    return replace(transport, traffic=first.traffic), f"within={choice.within!r} because {choice.reason}"


def _summing_on(card: Accelerator | None, transport: InProcess) -> InProcess:
    """The transport, with sites that sum on a card."""
    if card is None:
        return transport
    sites: Any = transport.sites
    return replace(transport, sites=[replace(site, card=card) for site in sites])


def _going_back(transport: InProcess, past: int) -> InProcess:
    """The transport, about rows that go back so many steps of time."""
    return replace(transport, setting=replace(transport.setting, past=past)) if past else transport


def _circumstances(
    blocks: Sequence[Table], transport: InProcess, settings: Settings, *, one_round: bool
) -> Circumstances:
    """What `auto` looks at in these blocks, and in the rows of them that are asked about."""
    names = transport.setting.variables
    everything, complete = set(names), settings.missing == "complete"
    rows: dict[str, int] = {}
    for block in blocks:  # several sites may hold the same rows
        kept = count_rows(block.select(is_complete) if complete else block)
        rows[block.block] = max(rows.get(block.block, 0), kept)
    sites: Any = transport.sites
    return Circumstances(
        p=len(names),
        rows=sum(rows.values()),
        all_columns_somewhere=any(set(block.columns) == everything for block in blocks),
        complete_rows=complete,
        one_round=one_round,
        past=bool(transport.setting.past),
        memory=available_memory(),
        sites=len(blocks),
        threads=available_threads(),
        far_apart=not one_round
        and complete
        and settings.trim is None
        and any(far_apart(site, transport) for site in sites)
        and not any(mostly_one_value(site.rows, len(names)) for site in sites),
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
    return _one_block(blocks, card.name)


def _one_block(blocks: Sequence[Table], who: str) -> list[Table]:
    """The rows of all blocks in one."""
    columns = blocks[0].columns
    if any(set(block.columns) != set(columns) for block in blocks) or len({b.block for b in blocks}) < len(blocks):
        raise ConfigError(f"{who} cannot stack tables that differ in columns or share rows")
    aligned = [block.values[:, [block.columns.index(name) for name in columns]] for block in blocks]
    return [Table(np.concatenate(aligned), "all tables", "all tables", columns=columns)]
