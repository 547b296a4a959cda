"""`fedrcd coordinator`: where sites and runs meet, and the runs."""

from __future__ import annotations

import json as json_form
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli.discover import show
from fedrcd.cli.options import KnowledgeFile, parse_options
from fedrcd.cli.patience import patience
from fedrcd.cli.site import loudly_insecure
from fedrcd.errors import ConfigError

if TYPE_CHECKING:
    from fedrcd.data.federation import Federation
    from fedrcd.federation.plan import Outcome, RunPlan

app = typer.Typer(name="coordinator", help="Where sites and runs meet, and the runs.", no_args_is_help=True)

State = Annotated[Path, typer.Option(help="Folder of the coordinator's own files.")]
HERE = Path("fedrcd-state/coordinator")
FederationFile = Annotated[Path, typer.Option(help="Federation file; the same copy as the sites'.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the command of Flower and stop.")]


@app.command()
def start(
    federation: FederationFile,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; the only one that sites need.")] = 9443,
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
def run(
    federation: FederationFile,
    out: Annotated[Path, typer.Option(help="Folder for the result; one with an interrupted run resumes it.")],
    method: Annotated[str, typer.Option(help="Name of a method, or auto; see `fedrcd methods`.")] = "auto",
    weights: Annotated[str, typer.Option(help="Edge selection: adaptive-lasso, bic or none.")] = "adaptive-lasso",
    penalty: Annotated[float, typer.Option(help="Of the adaptive lasso, times the mean standard deviation.")] = 0.01,
    option: Annotated[
        list[str] | None, typer.Option(help="Further option of the method, NAME=VALUE; may be repeated.")
    ] = None,
    arithmetic: Annotated[str, typer.Option(help="How sums are taken: exact, compact or float.")] = "exact",
    keep: Annotated[
        float | None, typer.Option(help="Keep edges by bootstrap instead: those that this share of replicates has.")
    ] = None,
    knowledge: KnowledgeFile = None,
    bootstrap: Annotated[
        int | None, typer.Option(help="Replicates to draw from sums of secret groups of rows; one round all the same.")
    ] = None,
    groups: Annotated[
        int | None, typer.Option(help="Groups of rows per block for the bootstrap, at least 10; chosen if left out.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the replicates.")] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Check the assumptions too, which takes one round more.")
    ] = False,
    level: Annotated[float, typer.Option(help="False alarms allowed per check, and 1 - level of intervals.")] = 0.05,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Go on without sites that are missing, instead of stopping.")
    ] = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait at the start for sites to be there.")] = 60.0,
    deadline: Annotated[float, typer.Option(help="Seconds a site has for one answer.")] = 300.0,
    retries: Annotated[int, typer.Option(help="Further tries after a fault of a site.")] = 2,
    state: State = HERE,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Run a method over the sites of a federation; the same command again resumes a run that was interrupted."""
    from fedrcd.api.deployment import require_coverage
    from fedrcd.api.discovery import require_level
    from fedrcd.data.federation import read_federation
    from fedrcd.data.knowledge_file import read_knowledge
    from fedrcd.federation.deployed import Patience
    from fedrcd.federation.flower.coordinator import Coordinator, conduct, new_run, planned, run_command
    from fedrcd.federation.flower.processes import require_flower
    from fedrcd.federation.plan import RunPlan, Status
    from fedrcd.methods.registry import require_options

    require_flower()
    require_level(level)
    if keep is not None and (bootstrap is None or not 0 < keep <= 1):
        raise ConfigError("--keep must be a share of the replicates of a --bootstrap, above 0 and at most 1")
    options = {"weights": weights, "penalty": penalty, **parse_options(option or [])}
    require_options(method, options)
    described = read_federation(federation)
    require_coverage(described, method)
    coordinator = Coordinator.read(state)
    asked = RunPlan(
        run=new_run(),
        federation=str(federation.resolve()),
        folder=str(out.resolve()),
        method=method,
        options=options,
        arithmetic=arithmetic,
        allow_missing=allow_missing,
        by_key=not coordinator.insecure,
        wait=wait,
        patience=Patience(deadline=deadline, retries=retries),
        knowledge=read_knowledge(knowledge) if knowledge else None,
        check=check,
    )
    if asked.knowledge:
        asked.knowledge.constraints(described.variables)  # what clashes is found before anything starts
    plan, resumes = planned(_with_bootstrap(asked, described, bootstrap, groups, seed))
    if dry_run:
        print(run_command(coordinator, plan))
        return
    if coordinator.insecure:
        loudly_insecure()
    if resumes:
        print("resuming the run that was interrupted here", file=sys.stderr)
    told: set[str] = set()
    with patience("starting the run") as sign:

        def watch(status: Status) -> None:
            for warning in status.warnings:
                if warning not in told:
                    told.add(warning)
                    print(f"WARNING: {warning}", file=sys.stderr, flush=True)
            waiting = ", ".join(status.waiting)
            if status.state == "resampling":
                sign.say(f"{method}: {status.replicates} of {bootstrap} replicates")
            else:
                sign.say(
                    f"{method}: round {status.round}, waiting for {waiting}" if waiting else f"{method}: {status.state}"
                )

        outcome = conduct(coordinator, plan, watch)
    _show_outcome(outcome, described, plan, level, keep, as_json=json)


def _with_bootstrap(
    plan: RunPlan, federation: Federation, replicates: int | None, groups: int | None, seed: int
) -> RunPlan:
    """The plan with a bootstrap, if one is wanted; says what it will make the sites send."""
    from fedrcd.federation.plan import Resampling
    from fedrcd.federation.resampling import plan_groups

    if replicates is None:
        if groups is not None:
            raise ConfigError("--groups belongs to a bootstrap; add --bootstrap with a number of replicates")
        return plan
    payload = plan_groups(federation, plan, groups)
    print(f"to be sent: {payload}", file=sys.stderr)
    return replace(plan, resampling=Resampling(replicates=replicates, groups=payload.groups, seed=seed))


def _show_outcome(
    outcome: Outcome, federation: Federation, plan: RunPlan, level: float, keep: float | None, *, as_json: bool
) -> None:
    """Print what a run found, and write it into its folder."""
    from fedrcd.api.deployment import bootstrap_of, checks_of, discovery_of
    from fedrcd.api.discovery import written
    from fedrcd.cli import bootstrap, check

    out = Path(plan.folder)
    found = discovery_of(outcome, federation)
    resampled = bootstrap_of(outcome, federation) if outcome.resampled else None
    if resampled and keep is not None:
        found = resampled.select(keep)
    checks = checks_of(outcome, federation, level) if outcome.checked else None
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
    if outcome.missing:
        print(f"WITHOUT {', '.join(outcome.missing)}: the result is about the rows of the other sites only")
    print(f"written: {', '.join(str(out / name) for name in files)}")


@app.command()
def status(
    state: State = HERE,
    out: Annotated[Path | None, typer.Option(help="Folder of a run to look at, too.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show whether the coordinator runs, which sites are there, and how far a run is."""
    from dataclasses import asdict

    from fedrcd.federation.flower.coordinator import Coordinator, online
    from fedrcd.federation.plan import Status

    coordinator = Coordinator.read(state)
    with patience("asking who is there"):
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
