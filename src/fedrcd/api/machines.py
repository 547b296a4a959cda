"""`fedrcd.connect`: the same functions over sites on machines, by way of a coordinator that runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fedrcd.api.bootstrap import bootstrap_of
from fedrcd.api.bootstrap_result import Bootstrap
from fedrcd.api.checks import Checks, checks_of
from fedrcd.api.deployment import (
    background_of,
    require_coverage,
    require_masks,
    require_no_trust,
    require_noise,
)
from fedrcd.api.describe import discovery_of
from fedrcd.api.discovery import Discovery, require_level
from fedrcd.api.grouping import require_seed
from fedrcd.api.inputs import as_knowledge
from fedrcd.confidence.replicates import BootstrapPlan
from fedrcd.data.federation import Federation, read_federation
from fedrcd.errors import ConfigError
from fedrcd.federation.coordinator.gather import RetryPolicy, in_words
from fedrcd.federation.coordinator.known_heads import HEADS
from fedrcd.federation.coordinator.resampling import plan_groups
from fedrcd.federation.coordinator.run_folder import RunPlan, Status
from fedrcd.federation.masking.possible import why_clear
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.methods.settings import AUTO, Settings, with_settings
from fedrcd.runs.finding import Finding, Resampling

if TYPE_CHECKING:
    from fedrcd.federation.flower.coordinator import Coordinator

Watch = Callable[[Status], None]
Conduct = Callable[["Coordinator", RunPlan, Watch, Surroundings], Finding]
Refresh = Callable[["Coordinator", RunPlan, Watch, Surroundings], dict[str, Any]]

T = TypeVar("T")

RUNS = "runs"
"""Folder of runs, in the coordinator's, for those that are given none of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How a run waits for its sites.

    Parameters
    ----------
    wait : float
        Seconds to wait at the start for sites to be there.
    retry_policy : RetryPolicy
        How long a site has for an answer, and how often it is asked again.
    allow_missing : bool
        Go on without sites that are missing, instead of stopping.
    accept_differing : tuple of str
        Sites whose columns may have other levels or spreads than declared, or than at other sites.
    trust_coordinator : bool
        Whether the sites were started with --trust-coordinator, so that "auto" may take a method of several rounds.
    clear : bool
        Whether the sites were started with --clear, so that sums need not be masked; otherwise they are where they can.
    """

    wait: float = 60.0
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    allow_missing: bool = False
    accept_differing: tuple[str, ...] = ()
    trust_coordinator: bool = False
    clear: bool = False


@dataclass(frozen=True, slots=True)
class Machines:
    """The sites of a federation, as a coordinator on this machine reaches them.

    `discover`, `bootstrap` and `check` take the settings of the functions of these names, except those that say how
    tables are read: every site reads its own. Sums are exact unless `arithmetic` says otherwise, and masked where the
    federation file allows it, unless all sites agreed to the clear or trust the coordinator. Each also takes `out`,
    the folder of the run, where one that was interrupted is resumed; `waiting`, a `Waiting`; and `progress`, which is
    called with the status of the run whenever somebody looks.
    """

    coordinator: Coordinator
    federation: Federation
    file: Path
    conduct: Conduct
    refreshes: Refresh
    surroundings: Surroundings = REAL

    @with_settings
    def discover(
        self,
        method: str = AUTO,
        *,
        check_scale: bool = False,
        out: str | os.PathLike[str] | None = None,
        waiting: Waiting | None = None,
        progress: Watch | None = None,
        **settings: Any,
    ) -> Discovery:
        """Causal order and effects behind the rows of all sites.

        The order of standardised variables, `check_scale`, is found where the method asks once; others leave it open.
        """
        plan = self.plan(settings_of(method, settings), out=out, waiting=waiting, check_scale=check_scale)
        return self.discovery_of(self.run(plan, progress))

    @with_settings
    def bootstrap(
        self,
        method: str = AUTO,
        *,
        n_sampling: int = 200,
        groups: int | None = None,
        random_state: int | None = None,
        announce: Callable[[BootstrapPlan], None] | None = None,
        check_scale: bool = False,
        out: str | os.PathLike[str] | None = None,
        waiting: Waiting | None = None,
        progress: Watch | None = None,
        **settings: Any,
    ) -> Bootstrap:
        """A discovery, and replicates of it from sums of secret groups of rows, all in one round."""
        if settings.pop("resample", "groups") != "groups":
            raise ConfigError("rows do not leave the sites, so they cannot be drawn; take resample='groups'")
        seed = int(require_seed(random_state).entropy)  # type: ignore[arg-type]
        plan = self.plan(settings_of(method, settings), out=out, waiting=waiting, check_scale=check_scale)
        return self.bootstrap_of(self.run(self.resampled(plan, n_sampling, groups, seed, announce), progress))

    @with_settings
    def check(
        self,
        method: str = AUTO,
        *,
        level: float = 0.05,
        out: str | os.PathLike[str] | None = None,
        waiting: Waiting | None = None,
        progress: Watch | None = None,
        **settings: Any,
    ) -> Checks:
        """A discovery, and tests of the assumptions behind it, in one round more."""
        require_level(level)
        plan = self.plan(settings_of(method, settings), out=out, waiting=waiting, check=True)
        return self.checks_of(self.run(plan, progress), level)

    def refresh(
        self,
        ledger: str | os.PathLike[str],
        *,
        ledger_key: str | os.PathLike[str] | None = None,
        out: str | os.PathLike[str] | None = None,
        waiting: Waiting | None = None,
        progress: Watch | None = None,
    ) -> dict[str, Any]:
        """Bring a ledger up to date with the present editions of all sites; what came of it.

        The dictionary has the numbers of new entries by site ("entries"), what sites hold back until enough has changed
        ("held_back"), how many erasures wait at each ("pending_erasures"), and the sites that were "missing". If the
        coordinator stops, and is started anew before it is given up, sites are asked again: what was entered before is
        not entered twice.
        """
        plan = replace(
            self.plan(settings_of(AUTO, {}), out=out, waiting=replace(waiting or Waiting(), clear=True)),
            ledger=str(Path(ledger).resolve()),
            ledger_key="" if ledger_key is None else str(Path(ledger_key).resolve()),
        )
        watch = progress or _ignore
        return self._outlasting(lambda there: self.refreshes(there, plan, watch, self.surroundings), plan, watch)

    def plan(
        self,
        settings: Settings,
        *,
        out: str | os.PathLike[str] | None = None,
        waiting: Waiting | None = None,
        **asked: Any,
    ) -> RunPlan:
        """The plan of a run; what is wrong with it is found before anything starts."""
        from fedrcd.federation.flower.coordinator import new_run

        waiting = waiting or Waiting()
        settings.require_selection_here()
        settings.require_single_sources()
        settings = settings.check_over_machines()
        if settings.wants_noise:
            require_noise(self.federation, asked)
        for name in waiting.accept_differing:
            self.federation.site(name)  # raises for one that there is not
        require_coverage(self.federation, settings.method, trust_coordinator=waiting.trust_coordinator)
        maskable = not (waiting.clear or waiting.trust_coordinator or why_clear(self.federation))
        masked = settings.masked or maskable
        if not waiting.trust_coordinator:
            require_no_trust(self.federation, settings.method, check=bool(asked.get("check")), masked=masked)
        if settings.knowledge is not None:
            known = as_knowledge(settings.knowledge, self.federation.present)
            settings = replace(settings, knowledge=known)
        if masked:
            settings = replace(settings, masked=True)
            require_masks(self.federation, settings)
        run = new_run(self.surroundings)
        plan = RunPlan(
            run=run,
            federation=str(self.file.resolve()),
            folder=str(Path(out or Path(self.coordinator.state) / RUNS / run).resolve()),
            settings=settings,
            allow_missing=waiting.allow_missing,
            accept_differing=waiting.accept_differing,
            by_key=not self.coordinator.insecure,
            wait=waiting.wait,
            retry_policy=waiting.retry_policy,
            trust_coordinator=waiting.trust_coordinator,
            heads=str((Path(self.coordinator.state) / HEADS).resolve()),
            **asked,
        )
        if settings.knowledge is not None:
            settings.knowledge.constraints(self.federation.present, self.federation.lags)
        return plan

    def resampled(
        self,
        plan: RunPlan,
        replicates: int,
        groups: int | None,
        seed: int,
        announce: Callable[[BootstrapPlan], None] | None = None,
    ) -> RunPlan:
        """The plan with a bootstrap; `announce` is told what it will make the sites send."""
        payload = plan_groups(self.federation, plan, groups)
        if announce:
            announce(payload)
        return replace(plan, resampling=Resampling(replicates=replicates, groups=payload.groups, seed=seed))

    def run(self, plan: RunPlan, progress: Watch | None = None) -> Finding:
        """What a run finds; one that was interrupted in the same folder is resumed.

        If the coordinator stops, and is started anew before it is given up, the run goes on.
        """
        from fedrcd.federation.flower.coordinator import planned

        watch = progress or _ignore
        return self._outlasting(
            lambda there: self.conduct(there, planned(plan)[0], watch, self.surroundings), plan, watch
        )

    def _outlasting(self, act: Callable[[Coordinator], T], plan: RunPlan, watch: Watch) -> T:
        """What comes of having something conducted, begun again whenever the coordinator stopped and came back."""
        from fedrcd.federation.flower.coordinator import CoordinatorStopped, come_back

        coordinator = self.coordinator
        while True:
            try:
                return act(coordinator)
            except CoordinatorStopped:
                seconds = plan.retry_policy.give_up_after
                said = f"the coordinator stopped; the run goes on if it is started again within {in_words(seconds)}"
                watch(Status(state="waiting", warnings=(said,)))
                again = come_back(coordinator, seconds, self.surroundings)
                if again is None:
                    raise
                coordinator = again

    def discovery_of(self, finding: Finding) -> Discovery:
        """The discovery in what a run found; who was missing and what went wrong is among its notes."""
        return discovery_of(finding, background_of(finding, self.federation))

    def bootstrap_of(self, finding: Finding) -> Bootstrap:
        """The bootstrap in what a run found."""
        return bootstrap_of(finding, background_of(finding, self.federation))

    def checks_of(self, finding: Finding, level: float = 0.05) -> Checks:
        """The checks in what a run found."""
        return checks_of(finding, background_of(finding, self.federation), level)


def connect(
    state: str | os.PathLike[str],
    federation: str | os.PathLike[str],
    *,
    conduct: Conduct | None = None,
    refreshes: Refresh | None = None,
    surroundings: Surroundings = REAL,
) -> Machines:
    """The sites of a federation, to discover over.

    Parameters
    ----------
    state : path
        The folder of a coordinator that `fedrcd coordinator start` runs on this machine.
    federation : path
        The federation file; the same copy as the sites'.
    conduct, refreshes : callable, optional
        Have a run conducted and give what it found, or a ledger brought up to date; by default Flower does both.
    surroundings : Surroundings
        The machine; tests bring their own.
    """
    from fedrcd.federation.flower import coordinator
    from fedrcd.federation.flower.processes import require_flower

    if conduct is None:
        require_flower()
    described = read_federation(federation)
    return Machines(
        coordinator.Coordinator.read(Path(state)),
        described,
        Path(federation),
        conduct or coordinator.conduct,
        refreshes or coordinator.refresh,
        surroundings,
    )


def settings_of(method: str, given: dict[str, Any]) -> Settings:
    """Settings of a run over machines: sums are exact, so that they have the same bits on any machine."""
    return Settings.of(method, **{"arithmetic": "exact", **given})


def _ignore(status: Status) -> None:
    """Watch nothing."""
