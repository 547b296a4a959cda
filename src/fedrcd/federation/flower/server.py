"""The ServerApp: reads the plan of a run, finds the sites, conducts the run, writes what came of it."""

from __future__ import annotations

import sys
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedrcd.data.federation import read_federation
from fedrcd.errors import ConfigError, FedrcdError
from fedrcd.federation.conduct import Conductor
from fedrcd.federation.deployed import Recorder
from fedrcd.federation.flower.courier import GridCourier, find_nodes
from fedrcd.federation.plan import Outcome, RunPlan, Status

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Conduct one run."""
    conduct(plan_of(context), grid)


def conduct(plan: RunPlan, grid: Grid, recorder: Recorder | None = None) -> Outcome:
    """Conduct a run over a Grid; whatever goes wrong is in its status file too. `recorder` is told of every answer."""
    federation = read_federation(plan.federation)
    conductor = Conductor(plan, federation, recorder, say=lambda text: print(text, file=sys.stderr))
    Status(state="waiting").write(plan.folder)
    try:
        nodes = find_nodes(grid, federation, by_key=plan.by_key, seconds=plan.wait)
        return conductor.run(GridCourier(grid, nodes), tuple(nodes))
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
        method=str(config["method"]),
        by_key=bool(config.get("by-key", True)),
    )
    plan.write()
    return plan
