"""How far a result can be trusted: the same discovery on resampled groups of rows, or resampled rows."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np

from fedrcd.api.bootstrap_result import Bootstrap
from fedrcd.api.discovery import Discovery
from fedrcd.api.prepare import RUN_SETTINGS, Prepared, prepare
from fedrcd.api.progress import require_callable, told
from fedrcd.api.settings import BOOTSTRAP
from fedrcd.data.rows import count_rows
from fedrcd.errors import ConfigError
from fedrcd.graphs.constraints import Constraints
from fedrcd.methods.auto import AUTO
from fedrcd.methods.bootstrap import (
    BootstrapPlan,
    Resampled,
    bytes_of_groups,
    groups_for,
    one_round,
    resample_groups,
    row_replicates,
)
from fedrcd.methods.skeleton import Parts
from fedrcd.protocol.driver import run
from fedrcd.protocol.groups import LEAST_GROUPS, Grouping
from fedrcd.protocol.in_process import in_process
from fedrcd.protocol.site import LocalSite, available_threads
from fedrcd.protocol.transport import InProcess, Setting


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
    **settings: Any,
) -> Bootstrap:
    """Run a discovery on all rows and on resampled ones.

    Parameters
    ----------
    tables, method, check_scale, **settings
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
    with told(settings.pop("progress", None)) as tell:
        given = {name: settings.pop(name) for name in RUN_SETTINGS if name in settings}
        given["progress"] = tell.of_traffic
        replicated = replicated or tell.of_replicates
        prepared = prepare(tables, method, settings, **given, one_round=resample == "groups")
        if resample == "rows":
            found = _by_rows(prepared, given, n_sampling, seed, jobs, replicated)
        else:
            found = _by_groups(prepared, groups, n_sampling, seed, jobs, announce, replicated)
    drawn = {"n_sampling": int(n_sampling), "random_state": seed.entropy, "resample": resample}
    if found.groups:
        drawn["groups"] = int(found.groups)
    settings = {**found.prepared.settings, BOOTSTRAP: drawn}
    return _result(replace(found.prepared, settings=settings), found.resampled, check_scale=check_scale)


class _Found(NamedTuple):
    prepared: Prepared
    resampled: Resampled
    groups: int = 0


def _by_groups(
    prepared: Prepared,
    groups: int | None,
    n_sampling: int,
    seed: np.random.SeedSequence,
    jobs: int,
    announce: Callable[[BootstrapPlan], None] | None,
    replicated: Callable[[int], None] | None,
) -> _Found:
    """Ask for the groups in one round and resample them."""
    parts = one_round(prepared.card, prepared.options)
    transport = with_secrets(prepared.transport, seed)
    number = groups or default_groups(transport)
    if announce:
        announce(plan(prepared.card.name, parts, prepared.setting, transport, number))
    resampled = resample_groups(
        parts, prepared.setting, transport, number, n_sampling, seed, jobs=jobs, progress=replicated
    )
    return _Found(replace(prepared, transport=transport), resampled, number)


def _result(prepared: Prepared, resampled: Resampled, *, check_scale: bool) -> Bootstrap:
    standardised = prepared.order_of_standardised(resampled.estimate) if check_scale else None
    found = prepared.discovery(resampled.estimate, resampled.replicates.edge_shares(), standardised)
    return told_by(resampled, found, prepared.setting.constraints, filled=prepared.fills)


def told_by(
    resampled: Resampled, found: Discovery, constraints: Constraints | None, *, filled: bool = False
) -> Bootstrap:
    """What replicates say about the result on all rows."""
    names, replicates = found.names, resampled.replicates
    without = {
        site: other if isinstance(other, str) else (tuple(names[i] for i in other[0]), other[1])
        for site, other in resampled.without.items()
    }
    return Bootstrap(
        discovery=found,
        orders=replicates.orders,
        adjacency_matrices_=replicates.B,
        covariance=resampled.estimate.marginals.cov,
        covariances=replicates.cov,
        failed=replicates.failed,
        constraints=constraints,
        units=resampled.units,
        freedom=float(resampled.units - resampled.blocks) if resampled.units else math.inf,
        smallest_group=resampled.smallest,
        without=without,
        filled=filled,
    )


def _by_rows(
    prepared: Prepared,
    given: dict[str, Any],
    n_sampling: int,
    seed: np.random.SeedSequence,
    jobs: int,
    replicated: Callable[[int], None] | None,
) -> _Found:
    """Draw rows with replacement and run the whole method again."""
    if prepared.setting.fills_gaps or given.get("within") == "auto":
        raise ConfigError("resample='rows' cannot choose or fill anew in every replicate; take resample='groups'")
    names = prepared.setting.variables
    chosen = {name: given[name] for name in ("within", "missing") if name in given}
    rows = [
        replace(block, data=site.rows.values, ids=None)
        for block, site in zip(prepared.blocks, prepared.transport.sites, strict=True)
        if isinstance(site, LocalSite)
    ]
    embed = partial(in_process, variables=names, grid=prepared.setting.grid, **chosen)
    estimate = run(prepared.parts.rounds(prepared.setting), prepared.transport)
    replicates = row_replicates(
        prepared.parts, prepared.setting, rows, embed, seed.spawn(n_sampling), jobs=jobs, progress=replicated
    )
    return _Found(prepared, Resampled(estimate, replicates, units=0, blocks=0, smallest=1, without={}))


def with_secrets(transport: InProcess, seed: np.random.SeedSequence, least: int = 1) -> InProcess:
    """The same sites with a secret per block to split rows by; in one process there is nobody to hide it from."""
    entropy = str(seed.entropy).encode()
    sites = [
        replace(site, grouping=Grouping(hashlib.blake2b(entropy + site.block.encode()).digest(), least))
        for site in transport.sites
        if isinstance(site, LocalSite)
    ]
    return replace(transport, sites=sites)


def default_groups(transport: InProcess) -> int:
    """Groups per site: enough over all sites, none with fewer rows than a site answers for."""
    sizes = [count_rows(site.rows) for site in transport.sites if isinstance(site, LocalSite)]
    rows = max(100, 10 * len(transport.setting.variables))
    return max(LEAST_GROUPS, groups_for(sizes, [rows] * len(sizes)))


def plan(method: str, parts: Parts[Any], setting: Setting, transport: InProcess, groups: int) -> BootstrapPlan:
    """What the bootstrap of a federation in this process will cost."""
    sites = [site for site in transport.sites if isinstance(site, LocalSite)]
    layout = setting.layout
    holdings = [(site.name, 0 if layout is None else site.place_in(layout)) for site in sites]
    gaps = any(site.gaps for site in sites)
    return BootstrapPlan(method, groups, bytes_of_groups(parts, setting, holdings, groups, gaps=gaps))


def _require_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, got {value!r}")


def require_seed(random_state: object) -> np.random.SeedSequence:
    """The seed that a user gave, or a fresh one."""
    if random_state is None:
        return np.random.SeedSequence(int.from_bytes(os.urandom(16), "big"))
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise ConfigError(f"random_state must be a whole number of at least 0 or None, got {random_state!r}")
    return np.random.SeedSequence(int(random_state))
