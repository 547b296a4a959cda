"""`fedrcd coordinator`: where sites and runs meet, and the runs."""

from __future__ import annotations

import json as json_form
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedrcd.cli import options
from fedrcd.cli.discover import require_page, show
from fedrcd.cli.options import WEIGHTS_ONCE, settings_options
from fedrcd.cli.progress_bar import ProgressBar, progress_bar
from fedrcd.cli.site import loudly_insecure
from fedrcd.errors import ConfigError
from fedrcd.methods.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedrcd.api.machines import Machines, Waiting
    from fedrcd.confidence.replicates import BootstrapPlan
    from fedrcd.federation.coordinator.run_folder import Status
    from fedrcd.runs.finding import Finding

app = typer.Typer(name="coordinator", help="The meeting point of the sites, and the runs.", no_args_is_help=True)


@app.callback()
def private() -> None:
    """The meeting point of the sites, and the runs."""
    os.umask(0o077)  # what this command and its processes write is for its owner alone


State = Annotated[Path, typer.Option(help="Folder of the coordinator's own files.")]
HERE = Path("fedrcd-state/coordinator")
FederationFile = Annotated[Path, typer.Option(help="Federation file; the same copy as the sites'.")]
Wait = Annotated[float, typer.Option(help="Seconds to wait at the start for sites to be there.")]
Deadline = Annotated[float, typer.Option(help="Seconds a site has for one answer.")]
GiveUpAfter = Annotated[
    float, typer.Option(help="Seconds after its first fault during which a site, or the coordinator, is tried again.")
]
LedgerKey = Annotated[Path | None, typer.Option(help="The ledger's signing key; by default LEDGER.key.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the command of Flower and stop.")]


@app.command()
def start(
    federation: FederationFile,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port to listen on; the only one that sites need.")
    ] = 9443,
    ca: Annotated[Path | None, typer.Option(help="Certificate of the authority.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="The coordinator's certificate, signed by it.")] = None,
    key: Annotated[Path | None, typer.Option(help="The private key of that certificate.")] = None,
    state: State = HERE,
    insecure: Annotated[bool, typer.Option("--insecure", help="No encryption, no authentication.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Listen for sites and admit those whose keys are in the federation file, until stopped."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.flower.coordinator import Coordinator, serve
    from fedrcd.federation.flower.processes import Security, require_flower

    require_flower()
    described = read_federation(federation)
    Security(authority=ca, insecure=insecure)
    coordinator = Coordinator(
        state=str(state.resolve()),
        host=host,
        port=port,
        authority=str(ca.resolve()) if ca else "",
        insecure=insecure,
    )
    command = coordinator.command(_resolved(certificate), _resolved(key))
    if dry_run:
        print(command)
        return
    if insecure:
        loudly_insecure()
    raise typer.Exit(serve(coordinator, described, command, lambda text: print(text, file=sys.stderr, flush=True)))


@app.command()
@settings_options(
    *("method", "weights", "penalty", "options", "arithmetic", "within", "masked", "knowledge"),
    help={**WEIGHTS_ONCE, "arithmetic": "How sums are computed: exact, compact or float."},
    defaults={"arithmetic": "exact"},
)
def run(
    federation: FederationFile,
    settings: Settings,
    out: Annotated[Path, typer.Option(help="Folder for the result; a folder with an interrupted run resumes it.")],
    title: Annotated[str, typer.Option(help="What to call the run; every site sees and logs it.")] = "",
    purpose: Annotated[str, typer.Option(help="What the run is for; every site sees and logs it.")] = "",
    keep: Annotated[
        float | None, typer.Option(help="Keep edges by bootstrap instead: those that this share of replicates has.")
    ] = None,
    bootstrap: Annotated[
        int | None, typer.Option(help="Replicates to draw from sums of secret groups of rows; one round all the same.")
    ] = None,
    groups: Annotated[
        int | None, typer.Option(help="Groups of rows per block for the bootstrap, at least 10; chosen if left out.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the replicates.")] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Check the assumptions too, which takes one extra round.")
    ] = False,
    level: Annotated[float, typer.Option(help="False alarms allowed per check, and 1 - level of intervals.")] = 0.05,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Go on without sites that are missing, instead of stopping.")
    ] = False,
    accept_differing: Annotated[
        list[str] | None,
        typer.Option(help="Site whose columns may have another level, spread or unit; may be repeated."),
    ] = None,
    trust_coordinator: Annotated[
        bool, typer.Option("--trust-coordinator", help="The sites were started with --trust-coordinator.")
    ] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="The sites were started with --clear: do not mask what could be masked.")
    ] = False,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Put the answers into this ledger, and find the result from it: methods of one round."),
    ] = None,
    ledger_key: LedgerKey = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an interactive page here, .html; it needs no network.")
    ] = None,
    wait: Wait = 60.0,
    deadline: Deadline = 300.0,
    give_up_after: GiveUpAfter = 900.0,
    state: State = HERE,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Run a method over the sites of a federation; the same command again resumes a run that was interrupted."""
    from fedrcd.api.deployment import require_coverage
    from fedrcd.api.discovery import require_level
    from fedrcd.api.machines import Waiting, connect
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.coordinator.gather import RetryPolicy
    from fedrcd.federation.flower.coordinator import planned, run_command
    from fedrcd.federation.flower.processes import require_flower

    require_flower()
    require_level(level)
    require_page(report)
    if keep is not None and (bootstrap is None or not 0 < keep <= 1):
        raise ConfigError("--keep must be a share of the replicates of a --bootstrap, above 0 and at most 1")
    if groups is not None and bootstrap is None:
        raise ConfigError("--groups belongs to a bootstrap; add --bootstrap with a number of replicates")
    settings = options.under_noise(settings, {"epsilon": epsilon, "delta": delta})
    settings.check_over_machines()
    if ledger is not None:
        settings.check_options()
        if bootstrap is not None or check:
            raise ConfigError("resample and check results of a ledger with `fedrcd ledger discover` afterwards")
        retry_policy = RetryPolicy(deadline=deadline, give_up_after=give_up_after)
        waiting = Waiting(wait=wait, retry_policy=retry_policy, allow_missing=allow_missing)
        run_with_ledger(connect(state, federation), settings, ledger, ledger_key, out, waiting, report, as_json=json)
        return
    method = settings.under_noise().method
    require_coverage(read_federation(federation), method, trust_coordinator=trust_coordinator)
    machines = connect(state, federation)
    waiting = Waiting(
        wait=wait,
        retry_policy=RetryPolicy(deadline=deadline, give_up_after=give_up_after),
        allow_missing=allow_missing,
        accept_differing=tuple(accept_differing or ()),
        trust_coordinator=trust_coordinator,
        clear=clear,
    )
    told = {"title": title, "purpose": purpose}
    asked = machines.plan(settings, out=out, waiting=waiting, check=check, check_scale=report is not None, **told)
    if bootstrap is not None:
        asked = machines.resampled(asked, bootstrap, groups, seed, _announce)
    plan, resumes = planned(asked)
    if dry_run:
        print(run_command(machines.coordinator, plan))
        return
    if machines.coordinator.insecure:
        loudly_insecure()
    for line in _said_of_masks(machines, plan.settings):
        print(line, file=sys.stderr)
    if resumes:
        print("resuming the run that was interrupted here", file=sys.stderr)
    with progress_bar("starting the run") as bar:
        found = machines.run(plan, _watch(bar, settings.method, bootstrap))
    _show_finding(machines, found, out.resolve(), level, keep, as_json=json)
    write_page_of(out, report, federation, as_json=json)


def write_page_of(out: Path, report: Path | None, federation: Path, *, as_json: bool) -> None:
    """Write the page of a run, if one is wanted."""
    from fedrcd.api.saved_page import saved_page

    if report:
        saved_page(out, report, federation)
        if not as_json:
            print(f"written: {report}")


def _said_of_masks(machines: Machines, settings: Settings) -> list[str]:
    """Whether sums are masked in a run, and what that means without some site."""
    from fedrcd.federation.masking.possible import loss_of_one, why_clear

    if not settings.masked:
        why = why_clear(machines.federation) or "every site agreed to it"
        return [f"IN THE CLEAR: the coordinator sees the sums of each site; {why}"]
    loss = loss_of_one(machines.federation)
    return ["masked: the coordinator sees totals only", *([loss] if loss else [])]


def _announce(payload: BootstrapPlan) -> None:
    """Say what a bootstrap will make the sites send."""
    print(f"to be sent: {payload}", file=sys.stderr)


def _watch(bar: ProgressBar, method: str, replicates: int | None) -> Callable[[Status], None]:
    """What is done with every look at a run: warnings are printed once, the bar says how far it is."""
    told: set[str] = set()

    def watch(status: Status) -> None:
        for warning in status.warnings:
            if warning not in told:
                told.add(warning)
                print(f"WARNING: {warning}", file=sys.stderr, flush=True)
        waiting = ", ".join(status.waiting)
        if status.state == "resampling":
            bar.say(f"{method}: {status.replicates} of {replicates} replicates")
        else:
            stage = f"round {status.round}" if status.round else "roll call"
            bar.say(f"{method}: {stage}, waiting for {waiting}" if waiting else f"{method}: {status.state}")

    return watch


def _show_finding(
    machines: Machines, finding: Finding, out: Path, level: float, keep: float | None, *, as_json: bool
) -> None:
    """Print what a run found, and write it into its folder."""
    from fedrcd.api.discovery import written
    from fedrcd.cli import bootstrap, check

    found = machines.discovery_of(finding)
    resampled = machines.bootstrap_of(finding) if finding.resampled else None
    if resampled and keep is not None:
        found = resampled.select(keep)
    checks = machines.checks_of(finding, level) if finding.checked else None
    files = {"discovery.json": found.to_json()}
    if resampled:
        files["bootstrap.json"] = json_form.dumps(bootstrap.as_dict(resampled, 1 - level), indent=1)
    if checks:
        files["checks.json"] = json_form.dumps(checks.to_dict(), indent=1)
    for name, text in files.items():
        written(text + "\n", out / name)
    if as_json:
        print(found.to_json())
        return
    show(found)
    if resampled:
        bootstrap.show(resampled, 1 - level)
    if checks:
        check.show(checks)
    if finding.missing:
        print(f"WITHOUT {', '.join(finding.missing)}: the result is about the rows of the other sites only")
    print(f"written: {', '.join(str(out / name) for name in files)}")


@app.command()
def refresh(
    federation: FederationFile,
    ledger: Annotated[Path, typer.Option(help="The ledger to bring up to date.")],
    ledger_key: LedgerKey = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Go on without sites that are missing, instead of stopping.")
    ] = False,
    derive: Annotated[bool, typer.Option(help="Compute all results of the ledger anew.")] = True,
    wait: Wait = 60.0,
    deadline: Deadline = 300.0,
    give_up_after: GiveUpAfter = 900.0,
    state: State = HERE,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Ask all sites for their present editions, and bring a ledger and its results up to date with them."""
    from fedrcd.api.machines import Waiting, connect
    from fedrcd.cli.contribute import talking
    from fedrcd.cli.erase import derive_results
    from fedrcd.federation.coordinator.gather import RetryPolicy
    from fedrcd.federation.flower.processes import require_flower
    from fedrcd.federation.ledger.ledger import Ledger

    require_flower()
    waiting = Waiting(
        wait=wait, retry_policy=RetryPolicy(deadline=deadline, give_up_after=give_up_after), allow_missing=allow_missing
    )
    with talking(json) as report:
        with progress_bar("refreshing the ledger") as bar:
            machines = connect(state, federation)
            report |= machines.refresh(
                ledger, ledger_key=ledger_key, waiting=waiting, progress=_watch(bar, "refresh", None)
            )
        _show_refreshed(report)
        if derive:
            with Ledger.open(ledger, key=ledger_key) as book:
                found, again = derive_results(book)
            report["results"] = [{"method": one.method, "order": one.order, "state_id": one.state_id} for one in found]
            report["new_runs"] = again


def run_with_ledger(
    machines: Machines,
    settings: Settings,
    ledger: Path,
    ledger_key: Path | None,
    out: Path,
    waiting: Waiting,
    page: Path | None = None,
    *,
    as_json: bool,
) -> None:
    """Have the sites contribute to a ledger, and find the result of a method from it."""
    from fedrcd.api.discovery import written
    from fedrcd.api.from_ledger import discover_stored, require_one_round
    from fedrcd.federation.ledger.ledger import Ledger
    from fedrcd.methods.auto import AUTO
    from fedrcd.methods.registry import find

    if settings.method != AUTO:
        require_one_round(find(settings.method))
    with progress_bar("refreshing the ledger") as bar:
        report = machines.refresh(
            ledger, ledger_key=ledger_key, out=out, waiting=waiting, progress=_watch(bar, "refresh", None)
        )
    if not as_json:
        _show_refreshed(report)
    with Ledger.open(ledger, key=ledger_key) as book:
        found = discover_stored(
            book,
            settings.method,
            knowledge=settings.knowledge,
            check_scale=page is not None,
            **settings.method_options,
        )
    written(found.to_json() + "\n", out / "discovery.json")
    if page:
        found.report(page)
    if as_json:
        print(found.to_json())
        return
    show(found)
    print(f"written: {', '.join(map(str, filter(None, (out / 'discovery.json', page))))}")


def _show_refreshed(report: dict[str, Any]) -> None:
    """Print what came of a refresh."""
    for site, numbers in report["entries"].items():
        listed = f"entries {', '.join(map(str, numbers))}" if numbers else "nothing new"
        waiting = report["pending_erasures"].get(site, 0)
        print(f"{site}: {listed}" + (f"; {waiting} erasures wait there" if waiting else ""))
        for held in report["held_back"].get(site, ()):
            until = f" until {held['due']} at the latest" if held["due"] else ""
            who = "somebody waits there" if held["persons"] is None else f"{held['persons']} persons are held back"
            print(f"{site}: block {held['block']}: {who}{until}")
    for site in report["missing"]:
        print(f"{site}: MISSING; the ledger has what it contributed before")


@app.command()
def status(
    state: State = HERE,
    out: Annotated[Path | None, typer.Option(help="Folder of a run to look at, too.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show whether the coordinator runs, which sites are there, and how far a run is."""
    from dataclasses import asdict

    from fedrcd.federation.coordinator.run_folder import Status
    from fedrcd.federation.flower.coordinator import Coordinator, online

    coordinator = Coordinator.read(state)
    with progress_bar("asking who is there"):
        there = online(coordinator) if coordinator.is_running else []
    sites = {name: number in there for name, number in coordinator.nodes.items()}
    progress = Status.read(out) if out else None
    if json:
        content = {"running": coordinator.is_running, "port": coordinator.port, "online": len(there), "sites": sites}
        print(json_form.dumps({**content, "run": asdict(progress) if progress else None}, indent=1))
        return
    print(
        f"coordinator {'running' if coordinator.is_running else 'NOT RUNNING'} on {coordinator.host}:{coordinator.port}"
    )
    for name, is_there in sites.items():
        print(f"{name:24} {'online' if is_there else 'missing'}")
    if coordinator.insecure:
        print(f"{len(there)} nodes online; without keys nobody knows which sites they are until a run asks")
    if out and progress is None:
        raise ConfigError(f"there is no run in {out}")
    if progress:
        waiting = f", waiting for {', '.join(progress.waiting)}" if progress.waiting else ""
        print(
            f"run in {out}: {progress.state}, round {progress.round}{waiting}{progress.error and ': ' + progress.error}"
        )


def _resolved(path: Path | None) -> Path | None:
    return path.resolve() if path else None
