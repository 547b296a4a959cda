"""The coordinator behind the pages: its folder, its federation file, its runs, and those that were started here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from fedrcd.api.discovery import written
from fedrcd.api.machines import RUNS, Machines, connect
from fedrcd.api.saved_page import DISCOVERY
from fedrcd.console.actions import Actions
from fedrcd.data.federation import Federation, read_federation
from fedrcd.errors import ConfigError, FedrcdError
from fedrcd.federation.coordinator.called_sites import FILE as CALLED
from fedrcd.federation.coordinator.called_sites import CalledSites
from fedrcd.federation.coordinator.invitations import Invitations
from fedrcd.federation.coordinator.run_folder import PLAN, REFRESHED, STATUS, RunPlan, Status
from fedrcd.federation.coordinator.saved_finding import FINDING, read_finding
from fedrcd.federation.flower.node_watch import NodeWatch
from fedrcd.federation.messages.printable import is_name

ASKED = "asked-"
"""How folders begin of runs that were only asked about."""

REFRESH = "refresh-"
"""And of those that bring the ledger up to date."""


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run as its folder tells: what was asked for, how far it is, whether its result is there."""

    name: str
    folder: Path
    plan: RunPlan
    status: Status | None
    has_result: bool
    is_here: bool
    """Whether this console watches it."""
    started: float
    error: str = ""

    @property
    def state(self) -> str:
        """In one word."""
        if self.has_result:
            return "finished"
        if self.error and not self.is_here:
            return "failed"
        return self.status.state if self.status is not None else "waiting"

    @property
    def can_resume(self) -> bool:
        """Whether it can be gone on with."""
        return not self.is_here and not self.has_result and not self.plan.asks_only and not self.plan.ledger


@dataclass(slots=True)
class CoordinatorPlace:
    """A coordinator as its console sees it."""

    folder: Path
    federation_file: Path
    ledger: Path | None = None
    ledger_key: Path | None = None
    actions: Actions = field(init=False)
    nodes: NodeWatch = field(init=False)
    invitations: Invitations = field(init=False)
    _under_way: dict[str, Thread] = field(default_factory=dict)
    _errors: dict[str, str] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.actions, self.nodes = Actions(self.folder), NodeWatch(self.folder)
        self.invitations = Invitations(self.folder)

    @property
    def federation(self) -> Federation:
        """What the federation file says now."""
        return read_federation(self.federation_file)

    @property
    def machines(self) -> Machines:
        """The sites, as a command reaches them."""
        return connect(self.folder, self.federation_file)

    # runs

    def runs(self) -> list[SeenRun]:
        """All runs in the coordinator's folder, newest first."""
        found = []
        for path in (self.folder / RUNS).glob(f"*/{PLAN}"):
            with suppress(FedrcdError):
                found.append(self._seen(path.parent))
        return sorted(found, key=lambda one: -one.started)

    def run(self, name: str) -> SeenRun:
        """The run of a name."""
        folder = self.folder / RUNS / name
        if not is_name(name) or "/" in name or name.startswith(".") or not (folder / PLAN).exists():
            raise ConfigError("there is no such run")
        return self._seen(folder)

    def _seen(self, folder: Path) -> SeenRun:
        plan, name = RunPlan.read(folder), folder.name
        thread = self._under_way.get(name)
        return SeenRun(
            name,
            folder,
            plan,
            Status.read(folder),
            (folder / FINDING).exists() or (folder / REFRESHED).exists(),
            thread is not None and thread.is_alive(),
            (folder / PLAN).stat().st_mtime,
            self._errors.get(name, ""),
        )

    def begin(self, plan: RunPlan, act: Callable[[Machines], Any]) -> str:
        """Do something with a run beside the requests; its name."""
        name, machines = Path(plan.folder).name, self.machines

        def work() -> None:
            try:
                act(machines)
            except FedrcdError as problem:
                self._errors[name] = str(problem)
            except Exception as problem:
                self._errors[name] = f"it failed: {type(problem).__name__}"

        with self._lock:
            before = self._under_way.get(name)
            if before is not None and before.is_alive():
                raise ConfigError("this run is under way")
            plan.write()
            self._errors.pop(name, None)
            self._under_way[name] = thread = Thread(target=work, name=f"run {name}", daemon=True)
            thread.start()
        return name

    def conduct(self, plan: RunPlan) -> str:
        """Begin a run, or go on with one; what it finds is written into its folder as the command does."""

        def act(machines: Machines) -> None:
            found = machines.discovery_of(machines.run(plan))
            written(found.to_json() + "\n", Path(plan.folder) / DISCOVERY)

        return self.begin(plan, act)

    def discovery_file(self, run: SeenRun) -> Path:
        """The file with what a run found; made from the finding where whoever watched the run was gone at its end."""
        path = run.folder / DISCOVERY
        if not path.exists():
            found = self.machines.discovery_of(read_finding(run.folder))
            written(found.to_json() + "\n", path)
        return path

    def latest_called(self) -> list[tuple[SeenRun, CalledSites]]:
        """What the sites said in every roll call that is kept, newest first."""
        called = ((run, CalledSites.read(run.folder)) for run in self.runs())
        found = [(run, said) for run, said in called if said is not None]
        return sorted(found, key=lambda one: one[1].time, reverse=True)

    @property
    def stamp(self) -> str:
        """Another one whenever sites, runs, the ledger or the file may have changed."""
        seen = self.nodes.look()
        parts = [str(hash((seen.is_running, tuple(sorted(seen.nodes.items())))))]
        for run in sorted((self.folder / RUNS).glob("*")):
            thread = self._under_way.get(run.name)
            parts.append(f"{thread is not None and thread.is_alive()}")
            parts += [_stamp(run / name) for name in (STATUS, CALLED, FINDING, REFRESHED)]
        others = (self.federation_file, self.ledger, self.invitations.path)
        return str(hash(tuple(parts + [_stamp(path) for path in others if path is not None])))


def _stamp(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        return ""
    return f"{stat.st_mtime_ns}.{stat.st_size}"
