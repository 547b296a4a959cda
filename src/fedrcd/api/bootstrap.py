"""How far a result can be trusted: the same discovery on resampled groups of rows, or resampled rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np

from fedrcd.api.bootstrap_result import Bootstrap
from fedrcd.api.describe import Background, discovery_of
from fedrcd.api.grouping import default_groups, plan, require_seed, with_secrets
from fedrcd.api.progress import Progress, reporters, require_callable
from fedrcd.api.tables import Prepared, is_transport, prepare
from fedrcd.confidence.replicates import BootstrapPlan, Resampled, one_round, row_replicates
from fedrcd.errors import ConfigError
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.methods.past import by_lag, now
from fedrcd.methods.settings import AUTO, BOOTSTRAP, Settings, with_settings
from fedrcd.protocol.groups import LEAST_GROUPS
from fedrcd.protocol.in_process import in_process
from fedrcd.protocol.site import available_threads
from fedrcd.protocol.transport import InProcess
from fedrcd.runs.finding import Finding, Resampling


@with_settings
def bootstrap(
    tables: Any,
    method: str = AUTO,
    *,
    n_sampling: int = 200,
    groups: int | None = None,
    resample: Literal["groups", "rows"] = "groups",
    random_state: int | None = None,
    n_jobs: int | None = None,
    announce: Callable[[BootstrapPlan], None] | None = None,
    replicated: Callable[[int], None] | None = None,
    check_scale: bool = False,
    progress: Progress | bool | None = None,
    **settings: Any,
) -> Bootstrap:
    """Run a discovery on all rows and on resampled ones.

    Parameters
    ----------
    tables, method, check_scale, progress, **settings
        As for `discover`.
    n_sampling : int
        Number of replicates.
    groups : int, optional
        Groups of rows per site, at least 10; by default as many as make 100 over all sites, each with at least as many
        rows as a site would answer for, max(100, 10 p), and 10 if there are too few rows.
    resample : {"groups", "rows"}
        Draw groups of rows, of which only sums leave a site, in one round; or draw rows, on one machine only.
    random_state : int, optional
        Seed. The same seed gives the same replicates for the same federation, however many processors there are.
    n_jobs : int, optional
        Processes; by default one per processor.
    announce : callable, optional
        Called with the plan, its payload in particular, before anything is asked.
    replicated : callable, optional
        Called with the number of replicates done; a bar that `progress=True` shows tells it, too.

    Examples
    --------
    >>> import fedrcd
    >>> from fedrcd.data.examples import example_paths
    >>> found = fedrcd.bootstrap(example_paths(), n_sampling=20, random_state=0, n_jobs=1)
    >>> found.edge_probabilities().shape
    (8, 8)
    """
    seed = require_seed(random_state)
    _require_count("n_sampling", n_sampling, 1)
    if groups is not None:
        _require_count("groups", groups, LEAST_GROUPS)
    if resample not in ("groups", "rows"):
        raise ConfigError(f"resample must be groups or rows, got {resample!r}")
    if resample == "rows" and groups is not None:
        raise ConfigError("groups are of resample='groups'; with resample='rows' there are none")
    if n_jobs is not None:
        _require_count("n_jobs", n_jobs, 1)
    for name, function in (("announce", announce), ("replicated", replicated)):
        require_callable(name, function)
    jobs = n_jobs or available_threads()
    with reporters(progress) as report:
        given = Settings.of(method, **settings)
        prepared = prepare(tables, given, progress=report.of_traffic, one_round=resample == "groups")
        how: dict[str, Any] = {
            "jobs": jobs,
            "progress": replicated or report.of_replicates,
            "standardised": check_scale,
        }
        drawn: dict[str, Any] = {"n_sampling": int(n_sampling), "random_state": seed.entropy, "resample": resample}
        if resample == "rows":
            if is_transport(tables):
                raise ConfigError("resample='rows' needs the rows, and a transport was given; take resample='groups'")
            found = _by_rows(prepared, n_sampling, seed, **how)
        else:
            if isinstance(prepared.transport, InProcess) and not is_transport(tables):
                prepared = _over(prepared, with_secrets(prepared.transport, seed))
            drawn["groups"] = int(groups or _groups(prepared))
            _announce(prepared, drawn["groups"], announce)
            resampling = Resampling(replicates=int(n_sampling), groups=drawn["groups"], seed=int(seed.entropy))  # type: ignore[arg-type]
            found = prepared.run.find(resampling=resampling, **how)
    result = bootstrap_of(found, prepared.background(), warn=2)
    return replace(
        result, discovery=replace(result.discovery, settings={**result.discovery.settings, BOOTSTRAP: drawn})
    )


def bootstrap_of(finding: Finding, background: Background, *, warn: int = 0) -> Bootstrap:
    """The bootstrap in what a run found that was asked for replicates; `warn` as of `discovery_of`."""
    if finding.resampled is None:
        raise ConfigError("the run made no replicates")
    found = discovery_of(finding, background, warn=warn and warn + 1)
    known, resampled = finding.settings.knowledge, finding.resampled
    names, replicates, past = found.names, resampled.replicates, finding.past
    without = {
        site: other if isinstance(other, str) else (tuple(names[i] for i in other[0]), other[1])
        for site, other in resampled.without.items()
    }
    return Bootstrap(
        discovery=found,
        orders=replicates.orders[replicates.orders < len(names)].reshape(-1, len(names)),
        adjacency_matrices_=now(replicates.B, past),
        lagged_matrices_=dict(by_lag(replicates.B, past)),
        covariance=resampled.estimate.marginals.cov,
        covariances=replicates.cov,
        failed=replicates.failed,
        constraints=_constraints(known, names, past),
        units=resampled.units,
        freedom=float(resampled.units - resampled.blocks) if resampled.units else math.inf,
        smallest_group=resampled.smallest,
        without=without,
        filled=background.filled,
    )


def _constraints(known: Knowledge | None, names: Sequence[str], past: int) -> Constraints | None:
    """What is known of the variables of now, and of time."""
    if known:
        return known.constraints(names, past)
    return Constraints.none(len(names)).with_past(past) if past else None


def _over(prepared: Prepared, transport: InProcess) -> Prepared:
    """The same run over another transport."""
    return replace(prepared, run=replace(prepared.run, transport=transport))


def _groups(prepared: Prepared) -> int:
    """How many groups a site should have; the least where nothing is known of its rows."""
    transport = prepared.transport
    return default_groups(transport) if isinstance(transport, InProcess) else LEAST_GROUPS


def _announce(prepared: Prepared, groups: int, announce: Callable[[BootstrapPlan], None] | None) -> None:
    """Say what sites will send, where that is known; raise if the method cannot be resampled by groups."""
    run, transport = prepared.run, prepared.transport
    parts = one_round(run.card, run.settings.method_options)
    if announce and isinstance(transport, InProcess):
        announce(plan(run.card.name, parts, run.setting, transport, groups))


def _by_rows(
    prepared: Prepared,
    n_sampling: int,
    seed: np.random.SeedSequence,
    *,
    jobs: int,
    progress: Callable[[int], None] | None,
    standardised: bool,
) -> Finding:
    """Draw rows with replacement and run the whole method again."""
    run, transport, settings = prepared.run, prepared.transport, prepared.run.settings
    if run.setting.past:
        raise ConfigError("single rows of a series are never drawn, for they depend on each other: resample='groups'")
    if run.setting.fills_gaps or settings.within == "auto":
        raise ConfigError("resample='rows' cannot choose or fill anew in every replicate; take resample='groups'")
    assert isinstance(transport, InProcess)
    sites: Any = transport.sites
    rows = [replace(site.rows, ids=None, places=None) for site in sites]
    embed: Any = partial(
        in_process,
        variables=run.setting.variables,
        grid=run.setting.grid,
        within=settings.within,
        missing=settings.missing,
    )
    found = run.find(standardised=standardised)
    drawn = row_replicates(run.parts, run.setting, rows, embed, seed.spawn(n_sampling), jobs=jobs, progress=progress)
    return replace(found, resampled=Resampled(found.estimate, drawn, units=0, blocks=0, smallest=1, without={}))


def _require_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, got {value!r}")
