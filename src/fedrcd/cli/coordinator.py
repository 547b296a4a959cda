"""`fedrcd coordinator`: where sites and runs meet, and the runs."""

from __future__ import annotations

import json as json_form
import sys
from pathlib import Path
from typing import Annotated

import typer

from fedrcd.cli.discover import show
from fedrcd.cli.options import parse_options
from fedrcd.cli.patience import patience
from fedrcd.cli.site import loudly_insecure
from fedrcd.errors import ConfigError

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
    from fedrcd.api.deployment import discovery_of, require_coverage
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.deployed import Patience
    from fedrcd.federation.flower.coordinator import Coordinator, conduct, new_run, planned, run_command
    from fedrcd.federation.flower.processes import require_flower
    from fedrcd.federation.plan import RunPlan, Status

    require_flower()
    described = read_federation(federation)
    require_coverage(described, method)
    coordinator = Coordinator.read(state)
    plan, resumes = planned(
        RunPlan(
            run=new_run(),
            federation=str(federation.resolve()),
            folder=str(out.resolve()),
            method=method,
            options={"weights": weights, "penalty": penalty, **parse_options(option or [])},
            arithmetic=arithmetic,
            allow_missing=allow_missing,
            by_key=not coordinator.insecure,
            wait=wait,
            patience=Patience(deadline=deadline, retries=retries),
        )
    )
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
            sign.say(
                f"{method}: round {status.round}, waiting for {waiting}" if waiting else f"{method}: {status.state}"
            )

        outcome = conduct(coordinator, plan, watch)
    found = discovery_of(outcome, described)
    found.to_json(out / "discovery.json")
    if json:
        print(found.to_json())
        return
    show(found)
    if outcome.missing:
        print(f"WITHOUT {', '.join(outcome.missing)}: the result is about the rows of the other sites only")
    print(f"written: {out / 'discovery.json'}")


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
