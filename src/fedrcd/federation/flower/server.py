"""The ServerApp: reads the plan of a run, finds the sites, conducts the run, writes what came of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedrcd.data.federation import read_federation
from fedrcd.errors import ConfigError, FedrcdError
from fedrcd.federation.coordinator.called_sites import CalledSites
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.refresh import Refreshed
from fedrcd.federation.coordinator.run_folder import RunPlan, Status
from fedrcd.federation.coordinator.transport import Recorder
from fedrcd.federation.flower.courier import GridCourier, find_nodes
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.methods.settings import Settings
from fedrcd.runs.finding import Finding

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Conduct one run, or bring a ledger up to date."""
    plan = plan_of(context)
    (ask if plan.asks_only else refresh if plan.ledger else conduct)(plan, grid)


def conduct(plan: RunPlan, grid: Grid, recorder: Recorder | None = None, surroundings: Surroundings = REAL) -> Finding:
    """Conduct a run over a Grid; whatever goes wrong is in its status file too. `recorder` is told of every answer."""
    with _conducting(plan, grid, recorder, surroundings) as (conductor, courier, present):
        return conductor.run(courier, present)


def ask(plan: RunPlan, grid: Grid, surroundings: Surroundings = REAL) -> CalledSites:
    """Call the roll of a plan over a Grid."""
    with _conducting(plan, grid, None, surroundings) as (conductor, courier, present):
        return conductor.ask(courier, present)


def refresh(plan: RunPlan, grid: Grid, surroundings: Surroundings = REAL) -> Refreshed:
    """Bring the ledger of a plan up to date over a Grid."""
    with _conducting(plan, grid, None, surroundings) as (conductor, courier, present):
        return conductor.refresh(courier, present)


@contextmanager
def _conducting(
    plan: RunPlan, grid: Grid, recorder: Recorder | None, surroundings: Surroundings
) -> Iterator[tuple[Conductor, GridCourier, tuple[str, ...]]]:
    """Who conducts, how sites are reached, and which are there; what goes wrong is written down and raised."""
    federation = read_federation(plan.federation)
    say = partial(print, file=sys.stderr)
    conductor = Conductor(plan, federation, recorder, say=say, surroundings=surroundings)
    Status(state="waiting").write(plan.folder)
    try:
        nodes = find_nodes(grid, federation, by_key=plan.by_key, seconds=plan.wait, surroundings=surroundings)
        yield conductor, GridCourier(grid, nodes, surroundings=surroundings), tuple(nodes)
    except FedrcdError as problem:
        conductor.fail(str(problem), problem.exit_code)
        raise
    except Exception as problem:
        conductor.fail(f"a bug: {type(problem).__name__}: {problem}; the coordinator's log has more", 1)
        raise


def plan_of(context: Context) -> RunPlan:
    """The plan that the run's configuration names: a folder with one, or the settings of a new one."""
    config = context.run_config
    for key in ("plan", "federation", "method", "out"):
        if not isinstance(config.get(key), str):
            raise ConfigError(f"the run configuration needs {key!r}, a text")
    if config["plan"]:
        return RunPlan.read(str(config["plan"]))
    plan = RunPlan(
        run=f"flower-{context.run_id}",
        federation=str(Path(str(config["federation"])).resolve()),
        folder=str(Path(str(config["out"])).resolve()),
        settings=Settings(method=str(config["method"]), arithmetic="exact"),
        by_key=bool(config.get("by-key", True)),
    )
    plan.write()
    return plan
