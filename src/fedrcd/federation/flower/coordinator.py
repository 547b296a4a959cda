"""The coordinator's side: start where sites and runs meet, admit the sites' keys, start runs and watch them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.errors import ConfigError, FedrcdError, FileError, ProtocolError
from fedrcd.federation.coordinator.called_sites import CalledSites
from fedrcd.federation.coordinator.run_folder import PLAN, REFRESHED, RunPlan, Status, read_json, write_json
from fedrcd.federation.coordinator.saved_finding import FINDING, read_finding
from fedrcd.federation.flower.processes import (
    CONNECTION,
    Command,
    Security,
    flwr_command,
    link_command,
    write_app,
    write_connection,
)
from fedrcd.federation.flower.supervise import interruptible, running
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.runs.finding import Finding

READY = 60.0
"""Seconds that SuperLink may take to be there."""

ANSWER = 300.0
"""Seconds that a command of Flower may take, on a busy machine."""

LOOK = 0.3
"""Seconds between two looks at a run."""

ALIVE = 15.0
"""Seconds between two questions whether Flower still runs a run."""

APP = "app"
FLOWER_RUN = "flower-run.json"
SETTINGS = "coordinator.json"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    """Where a coordinator is and how it is reached; `state` is its folder.

    `process` is the number of the SuperLink process, `nodes` the number of every admitted site at Flower.
    """

    state: str
    host: str
    port: int
    authority: str = ""
    insecure: bool = False
    process: int = 0
    nodes: Mapping[str, int] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """Folder of Flower's own files."""
        return Path(self.state) / "flower"

    @property
    def security(self) -> Security:
        """How connections are secured."""
        return Security(authority=None if self.insecure else Path(self.authority), insecure=self.insecure)

    @property
    def local_host(self) -> str:
        """The address under which this machine reaches the coordinator."""
        return "127.0.0.1" if self.host in {"0.0.0.0", "localhost"} else self.host

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        if not self.process:
            return False
        try:
            os.kill(self.process, 0)
        except OSError:
            return False
        return True

    def write(self) -> None:
        """Write it into its folder."""
        write_json(Path(self.state) / SETTINGS, asdict(self))

    @classmethod
    def read(cls, state: Path) -> Coordinator:
        """The coordinator whose folder this is."""
        if not (state / SETTINGS).exists():
            raise FileError(f"there is no coordinator in {state}; start one with `fedrcd coordinator start`")
        return cls(**read_json(state / SETTINGS))

    def command(self, certificate: Path | None, key: Path | None) -> Command:
        """The SuperLink process."""
        return link_command(
            host=self.host, port=self.port, home=self.home, security=self.security, certificate=certificate, key=key
        )

    def flwr(self, *arguments: str) -> dict[str, Any]:
        """What a command of Flower answers, in JSON."""
        command = flwr_command(self.home, *arguments, "--format", "json", port=self.port)
        environment = command.full_environment()
        try:
            done = subprocess.run(
                command.arguments, env=environment, capture_output=True, text=True, timeout=ANSWER, check=False
            )
        except subprocess.TimeoutExpired:
            raise ProtocolError(f"the coordinator did not answer `flwr {arguments[0]}` within {ANSWER:.0f} s") from None
        return _last_json(done.stdout)


def serve(coordinator: Coordinator, federation: Federation | None, command: Command, say: Say) -> int:
    """Run SuperLink until it ends or this process is told to; the sites' keys are admitted first."""
    _require_free(coordinator.local_host, coordinator.port)
    log = Path(coordinator.state) / "coordinator.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = log.open("ab")
    except OSError as problem:
        raise FileError(f"cannot write {log}: {problem.strerror}") from None
    with file, interruptible() as interruption:
        try:
            with running(command, interruption, file) as process:
                _wait_until_there(coordinator, process, log)
                write_connection(coordinator.home, coordinator.local_host, coordinator.port, coordinator.security)
                nodes = {} if coordinator.insecure or federation is None else admit(coordinator, federation)
                replace(coordinator, process=process.pid, nodes=nodes).write()
                ready = f"coordinator ready on {coordinator.host}:{coordinator.port}"
                say(f"{ready}, {len(nodes)} sites admitted; log: {log}")
                return process.wait()
        except KeyboardInterrupt:
            say("stopping the coordinator")
            return 0


def admit(coordinator: Coordinator, federation: Federation) -> dict[str, int]:
    """Register the keys of all sites that it does not know yet; the number of each node by site."""
    keyless = [site.name for site in federation.sites if not site.key]
    if keyless:
        raise ConfigError(f"the federation file has no key of site {keyless[0]!r}; see `fedrcd keys init`")
    folder = coordinator.home / "keys"
    folder.mkdir(parents=True, exist_ok=True)

    new = [site for site in federation.sites if site.name not in coordinator.nodes]

    def register(site: SiteEntry) -> int:
        path = folder / f"{federation.sites.index(site)}.pub"
        path.write_text(site.key + "\n", encoding="utf-8")
        said = coordinator.flwr("supernode", "register", str(path), CONNECTION, "--name", site.name)
        if not said.get("success"):
            raise ConfigError(
                f"the key of site {site.name!r} was not accepted: {said.get('error-message', 'no reason')}"
            )
        return int(said["node-id"])

    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(register, new))
    return {**coordinator.nodes, **{site.name: number for site, number in zip(new, numbers, strict=True)}}


def online(coordinator: Coordinator) -> list[int]:
    """Numbers of the nodes that are there."""
    said = coordinator.flwr("supernode", "list", CONNECTION)
    return [int(node["node-id"]) for node in said.get("nodes", []) if node["status"] == "online"]


def planned(plan: RunPlan) -> tuple[RunPlan, bool]:
    """The plan to run, and whether it resumes one that was interrupted: then it keeps that one's number."""
    folder = Path(plan.folder)
    if (folder / FINDING).exists():
        raise FileError(f"{folder} holds the result of a finished run; choose another folder")
    if not (folder / PLAN).exists():
        return plan, False
    before = RunPlan.read(folder)
    if not before.same_as(plan):
        raise ConfigError(f"{folder} holds an unfinished run of another method or federation; choose another folder")
    return replace(plan, run=before.run), True


def new_run(surroundings: Surroundings = REAL) -> str:
    """A number for a new run."""
    return surroundings.token_bytes(8).hex()


def conduct(
    coordinator: Coordinator,
    plan: RunPlan,
    progress: Callable[[Status], None],
    surroundings: Surroundings = REAL,
) -> Finding:
    """Have Flower conduct a run, and watch it to its end."""
    _have_conducted(coordinator, plan, progress, surroundings)
    return read_finding(plan.folder)


def ask(
    coordinator: Coordinator,
    plan: RunPlan,
    progress: Callable[[Status], None],
    surroundings: Surroundings = REAL,
) -> CalledSites:
    """Have Flower call the roll of a run, and tell what the sites said; the run is not begun."""
    _have_conducted(coordinator, plan, progress, surroundings)
    called = CalledSites.read(plan.folder)
    assert called is not None  # it is written before the status
    return called


def refresh(
    coordinator: Coordinator,
    plan: RunPlan,
    progress: Callable[[Status], None],
    surroundings: Surroundings = REAL,
) -> dict[str, Any]:
    """Have Flower bring a ledger up to date, and tell what came of it."""
    _have_conducted(coordinator, plan, progress, surroundings)
    return read_json(Path(plan.folder) / REFRESHED)


def _have_conducted(
    coordinator: Coordinator, plan: RunPlan, progress: Callable[[Status], None], surroundings: Surroundings
) -> None:
    if not coordinator.is_running:
        raise ProtocolError("the coordinator is not running; start it with `fedrcd coordinator start`")
    folder = Path(plan.folder)
    _stop_earlier(coordinator, folder)
    plan.write()
    Status(state="waiting").write(folder)
    write_app(coordinator.home / APP)
    said = coordinator.flwr(*_run_arguments(coordinator, plan))
    if not said.get("success"):
        raise ProtocolError(f"Flower did not start the run: {said.get('error-message', 'no reason')}")
    number = str(said["run-id"])
    write_json(folder / FLOWER_RUN, {"run": number})
    try:
        _watch(coordinator, folder, number, progress, surroundings)
    except KeyboardInterrupt:
        coordinator.flwr("stop", number, CONNECTION)
        raise


def run_command(coordinator: Coordinator, plan: RunPlan) -> Command:
    """The command of Flower that starts a run."""
    return flwr_command(coordinator.home, *_run_arguments(coordinator, plan), port=coordinator.port)


def _run_arguments(coordinator: Coordinator, plan: RunPlan) -> tuple[str, ...]:
    return ("run", str(coordinator.home / APP), CONNECTION, "--run-config", f'plan="{plan.folder}"')


def _stop_earlier(coordinator: Coordinator, folder: Path) -> None:
    """Stop what may still be running of an interrupted run: two of one run would ask everything twice."""
    path = folder / FLOWER_RUN
    if path.exists():
        coordinator.flwr("stop", str(read_json(path)["run"]), CONNECTION)
        path.unlink()


def _watch(
    coordinator: Coordinator,
    folder: Path,
    number: str,
    progress: Callable[[Status], None],
    surroundings: Surroundings,
) -> None:
    """Return when a run is finished; raise what made it fail."""
    asked, ended = surroundings.monotonic(), False
    while not _is_finished(folder, progress):
        if not coordinator.is_running:
            raise CoordinatorStopped
        if ended:  # and what it wrote last was looked at since
            log = Path(coordinator.state) / "coordinator.log"
            raise ProtocolError(f"the run ended without a result; give the same command again, or see {log}")
        if surroundings.monotonic() - asked > ALIVE:
            asked, ended = surroundings.monotonic(), _flower_state(coordinator, number) == "finished"
        surroundings.sleep(LOOK)


def _is_finished(folder: Path, progress: Callable[[Status], None]) -> bool:
    """Whether a run has found its result; raises if it failed."""
    status = Status.read(folder)
    if status is None:
        return False
    progress(status)
    if status.state == "failed":
        raise RunFailed(status.error, status.exit_code)
    return status.state == "finished"


class CoordinatorStopped(ProtocolError):
    """The coordinator is not there any more; answers that came are kept."""

    def __init__(self) -> None:
        super().__init__(
            "the coordinator stopped; start it and give the same command again: answers that came are kept"
        )


def come_back(coordinator: Coordinator, seconds: float, surroundings: Surroundings = REAL) -> Coordinator | None:
    """The coordinator once it was started anew; None if nobody does within some seconds."""
    until = surroundings.monotonic() + seconds
    while surroundings.monotonic() < until:
        surroundings.sleep(LOOK)
        if (Path(coordinator.state) / SETTINGS).exists():
            again = Coordinator.read(Path(coordinator.state))
            if again.is_running:
                return again
    return None


class RunFailed(FedrcdError):
    """A run failed where it was conducted; keeps the exit code of what was raised there."""

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def _flower_state(coordinator: Coordinator, number: str) -> str:
    """What Flower says of a run: its state without the reason."""
    said = coordinator.flwr("list", CONNECTION, "--run-id", number)
    runs: Sequence[Mapping[str, str]] = said.get("runs", [])
    return str(runs[0].get("status", "")).split(":")[0] if runs else ""


def _wait_until_there(
    coordinator: Coordinator, process: subprocess.Popen[bytes], log: Path, surroundings: Surroundings = REAL
) -> None:
    until = surroundings.monotonic() + READY
    while surroundings.monotonic() < until:
        if process.poll() is not None:
            raise ProtocolError(f"the coordinator could not start; see the end of {log}")
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex((coordinator.local_host, coordinator.port)) == 0:
                return
        surroundings.sleep(0.1)
    raise ProtocolError(f"the coordinator was not ready after {READY:.0f} s; see the end of {log}")


def _require_free(host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            raise ConfigError(
                f"port {port} of {host} cannot be used: {problem.strerror}; choose another --port"
            ) from None


def _last_json(text: str) -> dict[str, Any]:
    """The JSON object at the end of what a command printed, before which it may say other things."""
    at = text.find("{")
    while at >= 0:
        try:
            content = json.loads(text[at:])
        except ValueError:
            at = text.find("{", at + 1)
            continue
        return content if isinstance(content, dict) else {}
    return {}
