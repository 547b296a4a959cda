"""Causal discovery from the sums in a ledger: nobody is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fedrcd.api.bootstrap import bootstrap_of
from fedrcd.api.bootstrap_result import Bootstrap
from fedrcd.api.checks import Checks, judge
from fedrcd.api.describe import Background, discovery_of
from fedrcd.api.discovery import Discovery
from fedrcd.api.grouping import require_seed
from fedrcd.api.inputs import KnowledgeLike, as_knowledge
from fedrcd.api.leave_one_site_out import Without, cannot_be_spared, changes_without
from fedrcd.api.notes import require_together
from fedrcd.confidence.checks import gaussian_from_cumulants
from fedrcd.errors import ConfigError, CoverageWarning, DataError, FedrcdWarning, ProtocolError, StatisticError
from fedrcd.federation.ledger.contribution import total_of
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.roster import Roster
from fedrcd.federation.ledger.transport import LedgerTransport
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.methods.auto import AUTO, Choice, Circumstances, choose
from fedrcd.methods.card import Card
from fedrcd.methods.registry import METHODS, find
from fedrcd.methods.settings import OF_TABLES, Settings
from fedrcd.protocol.questions import TENSOR
from fedrcd.protocol.site import available_threads
from fedrcd.runs.finding import Resampling
from fedrcd.runs.run import Run
from fedrcd.statistics.coverage import Holding
from fedrcd.statistics.grid import ARITHMETIC, Grid
from fedrcd.statistics.tensor_cumulants import tensor_cumulants

if TYPE_CHECKING:
    import pandas as pd


def discover_stored(
    ledger: Ledger,
    method: str = AUTO,
    *,
    knowledge: KnowledgeLike | None = None,
    check_scale: bool = False,
    **options: Any,
) -> Discovery:
    """Causal order and effects from the present state of a ledger; the ledger lists the result.

    Parameters
    ----------
    ledger : Ledger
        Open.
    method : str
        A method of one round, or "auto".
    knowledge, check_scale, **options
        As of `fedrcd.discover`.

    Raises
    ------
    ProtocolError
        When the state is empty, or the method asks the sites more than once.
    """
    settings = _settings(ledger, method, knowledge, options)
    run = _run(ledger, settings)
    found = discovery_of(run.find(standardised=check_scale), _background(ledger, run), warn=2)
    ledger.record_result(run.card.name, _recorded(found, settings), found.to_json())
    return found


def _recorded(found: Discovery, settings: Settings) -> dict[str, Any]:
    """The options of a result as the ledger lists them."""
    known = settings.knowledge
    return {**found.options, "knowledge": asdict(known)} if known else dict(found.options)


def bootstrap_stored(
    ledger: Ledger,
    method: str = AUTO,
    *,
    n_sampling: int = 200,
    random_state: int | None = None,
    knowledge: KnowledgeLike | None = None,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> Bootstrap:
    """A result of a ledger whose contributions hold sums of groups, and replicates of it; nobody is asked.

    The ledger lists the result, as `discover_stored` does.
    """
    if not ledger.groups:
        raise ConfigError("the ledger holds no sums of groups of rows to resample; open one with --groups")
    settings = _settings(ledger, method, knowledge, options)
    run, seed = _run(ledger, settings), int(require_seed(random_state).entropy)  # type: ignore[arg-type]
    resampling = Resampling(replicates=n_sampling, groups=ledger.groups, seed=seed)
    finding = run.find(resampling=resampling, jobs=available_threads(), progress=progress)
    found = bootstrap_of(finding, _background(ledger, run), warn=2)
    ledger.record_result(run.card.name, _recorded(found.discovery, settings), found.discovery.to_json())
    return found


def check_stored(
    ledger: Ledger,
    method: str = AUTO,
    *,
    level: float = 0.05,
    knowledge: KnowledgeLike | None = None,
    **options: Any,
) -> Checks:
    """A result of a ledger, and tests of its assumptions as far as stored sums allow; nobody is asked.

    Sums of products of up to four variables tell whether residuals are Gaussian. What else checks need are sums of
    residuals, which no ledger holds.
    """
    settings = _settings(ledger, method, knowledge, options)
    run = _run(ledger, settings)
    finding = run.find(check=True, forgives=lambda _: True)
    found = discovery_of(finding, _background(ledger, run), warn=2)
    ledger.record_result(run.card.name, _recorded(found, settings), found.to_json())
    checks = judge(found, finding.checked, level)  # type: ignore[arg-type]  # it was asked for
    stored = run.transport.pooled.get(TENSOR)  # type: ignore[attr-defined]  # a transport over a ledger
    if stored is None or run.setting.layout is not None:
        return checks
    estimate = finding.estimate
    cumulants = tensor_cumulants(total_of(stored).floats(), run.setting.frame)
    gaussian = gaussian_from_cumulants(cumulants, estimate.order, estimate.marginals.rows, found.names, level)
    return replace(checks, checks=(gaussian, *checks.checks[1:]))


class LeftOut(NamedTuple):
    """What a ledger gives without each site, and why it gives nothing without some."""

    found: Discovery
    without: dict[str, Without]

    @property
    def impossible(self) -> dict[str, str]:
        """Sites without which there is no answer, and why."""
        return cannot_be_spared(self.without)

    def table(self) -> pd.DataFrame:
        """How much changes without each site."""
        return changes_without(self.found, self.without)


def leave_one_site_out(
    ledger: Ledger, method: str = AUTO, *, knowledge: KnowledgeLike | None = None, **options: Any
) -> LeftOut:
    """The result of a ledger, and what it would be without each site: from the sums that are there, nobody is asked.

    The arguments are those of `discover_stored`. The ledger lists the result, as it does there, and not the others.
    """
    found = discover_stored(ledger, method, knowledge=knowledge, **options)
    settings = _settings(ledger, found.method, knowledge, options)
    without: dict[str, Without] = {}
    for site in sorted({standing.site for standing in ledger.roster.active()}):
        try:
            estimate = _run(ledger, settings, ledger.without(site)).find().estimate
        except (ConfigError, DataError, ProtocolError, StatisticError) as problem:
            without[site] = str(problem)
        else:
            without[site] = tuple(found.names[i] for i in estimate.order), estimate.marked
    return LeftOut(found, without)


def _settings(ledger: Ledger, method: str, knowledge: KnowledgeLike | None, options: dict[str, Any]) -> Settings:
    """Settings of a run on a ledger, whose sums fix how they were taken."""
    settings = Settings.of(method, **options)
    for name in settings.changed(("variables", *OF_TABLES)):
        raise ConfigError(
            f"{name}: how rows are read was settled when the sites contributed; the ledger holds sums, no rows"
        )
    settings.require_selection_here()
    settings.check_options()
    known = None if knowledge is None else as_knowledge(knowledge, ledger.configuration.setting().present)
    arithmetic: Any = _arithmetic_of(ledger.configuration.grid)
    return replace(settings, knowledge=known, arithmetic=arithmetic)


def _run(ledger: Ledger, settings: Settings, roster: Roster | None = None) -> Run:
    """A run on the sums of a state."""
    transport = LedgerTransport.of(ledger, roster)
    choice = _choose(transport) if settings.method == AUTO else Choice(settings.method, "")
    card = find(choice.method)
    require_one_round(card)
    require_together(card, transport.setting.layout, len(transport.setting.variables), "complete")
    sites = tuple(standing.site for standing in (roster or ledger.roster).active())
    return Run(transport, settings, card, sites, choice.reason)


def _background(ledger: Ledger, run: Run) -> Background:
    """What the ledger says of the rows behind its sums."""
    setting = run.transport.setting
    return Background(
        holdings=[Holding(one.site, one.block, one.columns, one.rows) for one in ledger.roster.active()],
        layout=setting.layout,
        grid=setting.grid,
        last=_suspended(ledger),
        state_id=ledger.state_id,
        units=dict(zip(ledger.configuration.variables, ledger.configuration.units, strict=True)),
    )


def rediscover(ledger: Ledger) -> tuple[list[Discovery], list[str]]:
    """All results the ledger lists, from the present state; and what needs a new run over the sites instead."""
    wanted: dict[str, dict[str, Any]] = {}
    for result in ledger.roster.results:
        wanted[result.method] = result.options  # the latest options of each method
    found, again = [], []
    for method, options in (wanted or {AUTO: {}}).items():
        try:
            known = Knowledge(**options["knowledge"]) if "knowledge" in options else None
            others = {name: value for name, value in options.items() if name != "knowledge"}
            found.append(discover_stored(ledger, method, knowledge=known, **others))
        except ProtocolError as problem:
            again.append(str(problem))
    return found, again


def require_one_round(card: Card) -> None:
    """Raise for a method whose later questions depend on earlier answers."""
    if card.one_table:
        raise ProtocolError(f"{card.name} needs all rows in one table; {card.counterpart} gives its order from sums")
    if not card.erasable:
        others = ", ".join(name for name, one in METHODS.items() if one.erasable and not one.one_table)
        raise ProtocolError(
            f"{card.name} asks the sites {card.rounds} times, so it needs a new run over them: fedrcd coordinator run "
            f"--federation federation.toml --method {card.name}; from the ledger run {others}"
        )


def _choose(transport: LedgerTransport) -> Choice:
    """What `auto` takes: the scale-free method that the stored sums allow."""
    setting = transport.setting
    tensor = TENSOR in transport.pooled and (setting.layout is None or setting.layout.covers_quadruples())
    return choose(Circumstances(p=len(setting.variables), rows=0, stored_tensor=tensor, past=bool(setting.past)))


def _arithmetic_of(grid: Grid | None) -> str | None:
    """What users call sums on this grid; nothing for a grid that has no name."""
    return next((name for name, known in ARITHMETIC.items() if known == grid), None)


def _suspended(ledger: Ledger) -> Sequence[FedrcdWarning]:
    """Blocks that are not in the state for now."""
    return [
        CoverageWarning(f"block {block!r} is suspended and was left out: {reason}")
        for block, reason in ledger.roster.suspended().items()
    ]
