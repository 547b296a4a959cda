"""How far a result can be trusted: the same discovery on resampled groups of rows, or resampled rows."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np

from fedrcd.api.bootstrap_result import Bootstrap
from fedrcd.api.discover import RUN_SETTINGS, Prepared, prepare
from fedrcd.errors import ConfigError, StatisticError
from fedrcd.methods.auto import AUTO
from fedrcd.methods.bootstrap import (
    Replicates,
    ask_groups,
    draw_weights,
    group_replicates,
    leave_one_out,
    one_round,
    row_replicates,
)
from fedrcd.methods.skeleton import Estimate, Parts
from fedrcd.protocol.driver import run
from fedrcd.protocol.embedded import embed_blocks
from fedrcd.protocol.groups import LEAST_GROUPS, Grouping
from fedrcd.protocol.site import TableSite, available_threads
from fedrcd.protocol.transport import BYTES_PER_NUMBER, InProcess, Setting

ENOUGH_UNITS = 100
"""Groups over all sites beyond which more change little."""


@dataclass(frozen=True, slots=True)
class BootstrapPlan:
    """What a bootstrap will cost, before anything is sent."""

    method: str
    groups: int
    """Per site."""
    bytes_by_site: Mapping[str, int]
    rounds: int = 1

    def __str__(self) -> str:
        sizes = sorted(self.bytes_by_site.values())
        size = f"{sizes[-1] / 1e3:,.1f} kB" if sizes[0] == sizes[-1] else f"up to {sizes[-1] / 1e3:,.1f} kB"
        sites = f"{len(sizes)} site{'s' * (len(sizes) != 1)}"
        return f"{sites}, {self.groups} groups of rows each: {size} a site in {self.rounds} round"


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
    **settings: Any,
) -> Bootstrap:
    """Run a discovery on all rows and on resampled ones.

    Parameters
    ----------
    tables, method, **settings
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
        Called with the number of replicates done.

    Examples
    --------
    >>> import fedrcd
    >>> from fedrcd.data.examples import example_paths
    >>> found = fedrcd.bootstrap(example_paths(), n_sampling=20, random_state=0, n_jobs=1)
    >>> found.edge_probabilities().shape
    (8, 8)
    """
    seed = _require_seed(random_state)
    _require_count("n_sampling", n_sampling, 1)
    if groups is not None:
        _require_count("groups", groups, LEAST_GROUPS)
    if resample not in ("groups", "rows"):
        raise ConfigError(f"resample must be groups or rows, got {resample!r}")
    if n_jobs is not None:
        _require_count("n_jobs", n_jobs, 1)
    jobs = n_jobs or available_threads()
    given = {name: settings.pop(name) for name in RUN_SETTINGS if name in settings}
    prepared = prepare(tables, method, settings, **given)
    if resample == "rows":
        return _by_rows(prepared, given, n_sampling, seed, jobs, replicated)
    return _by_groups(prepared, groups, n_sampling, seed, jobs, announce, replicated)


def _by_groups(
    prepared: Prepared,
    groups: int | None,
    n_sampling: int,
    seed: np.random.SeedSequence,
    jobs: int,
    announce: Callable[[BootstrapPlan], None] | None,
    replicated: Callable[[int], None] | None,
) -> Bootstrap:
    """Ask for the groups in one round and resample them."""
    parts = one_round(prepared.card, prepared.options)
    transport = with_secrets(prepared.transport, seed)
    number = groups or default_groups(transport)
    if announce:
        announce(plan(prepared.card.name, parts, prepared.setting, transport, number))
    grouped = ask_groups(parts, prepared.setting, transport, number)
    weights = draw_weights(grouped.stack, n_sampling, np.random.default_rng(seed))
    replicates = group_replicates(parts, grouped, weights, jobs=jobs, progress=replicated)
    units, blocks = len(grouped.stack.origins), len({block for _, block in grouped.stack.origins})
    return _result(
        replace(prepared, transport=transport),
        grouped.estimate,
        replicates,
        units=units,
        freedom=float(units - blocks),
        smallest_group=grouped.smallest,
        without=_without(parts, grouped, prepared),
    )


def _by_rows(
    prepared: Prepared,
    given: dict[str, Any],
    n_sampling: int,
    seed: np.random.SeedSequence,
    jobs: int,
    replicated: Callable[[int], None] | None,
) -> Bootstrap:
    """Draw rows with replacement and run the whole method again."""
    if prepared.setting.fills_gaps or given.get("within") == "auto":
        raise ConfigError("resample='rows' cannot choose or fill anew in every replicate; take resample='groups'")
    names = prepared.setting.variables
    chosen = {name: given[name] for name in ("within", "missing") if name in given}
    rows = [
        replace(block, rows=site.rows, ids=None)
        for block, site in zip(prepared.blocks, prepared.transport.sites, strict=True)
        if isinstance(site, TableSite)
    ]
    embed = partial(embed_blocks, variables=names, grid=prepared.setting.grid, **chosen)
    estimate = run(prepared.parts.rounds(prepared.setting), prepared.transport)
    replicates = row_replicates(
        prepared.parts, prepared.setting, rows, embed, seed.spawn(n_sampling), jobs=jobs, progress=replicated
    )
    return _result(prepared, estimate, replicates, units=0, freedom=math.inf, smallest_group=1, without={})


def _result(prepared: Prepared, estimate: Estimate, replicates: Replicates, **facts: Any) -> Bootstrap:
    confidence = (replicates.B != 0).mean(axis=0)
    return Bootstrap(
        discovery=prepared.discovery(estimate, confidence),
        orders=replicates.orders,
        adjacency_matrices_=replicates.B,
        covariance=estimate.marginals.cov,
        covariances=replicates.cov,
        failed=replicates.failed,
        constraints=prepared.setting.constraints,
        **facts,
    )


def _without(parts: Parts[Any], grouped: Any, prepared: Prepared) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Results without each site; none where a site cannot be spared."""
    names = prepared.setting.variables
    try:
        estimates = leave_one_out(parts, grouped)
    except StatisticError:
        return {}
    return {site: (tuple(names[i] for i in one.order), one.B) for site, one in estimates.items()}


def with_secrets(transport: InProcess, seed: np.random.SeedSequence, least: int = 1) -> InProcess:
    """The same sites with a secret per block to split rows by; in one process there is nobody to hide it from."""
    entropy = str(seed.entropy).encode()
    sites = [
        replace(site, grouping=Grouping(hashlib.blake2b(entropy + site.block.encode()).digest(), least))
        for site in transport.sites
        if isinstance(site, TableSite)
    ]
    return replace(transport, sites=sites)


def default_groups(transport: InProcess) -> int:
    """Groups per site: enough over all sites, none with fewer rows than a site answers for."""
    sizes = [len(site.rows) for site in transport.sites if isinstance(site, TableSite)]
    rows = max(100, 10 * len(transport.setting.variables))
    typical = rows + 4 * math.sqrt(rows)  # sizes of groups vary by chance
    return max(LEAST_GROUPS, min(math.ceil(ENOUGH_UNITS / len(sizes)), int(min(sizes) / typical)))


def plan(method: str, parts: Parts[Any], setting: Setting, transport: InProcess, groups: int) -> BootstrapPlan:
    """What each site will send, from the shape of the first question; no row is looked at."""
    question = next(parts.rounds(replace(setting, fills_gaps=False)))
    sizes: dict[str, int] = {}
    for site in transport.sites:
        assert isinstance(site, TableSite)
        holding = 0 if setting.layout is None else site.place_in(setting.layout)
        share = question.share(setting.layout, holding)
        if share is not None:
            one_row = np.zeros((1, len(share.question.variables)))
            sums = share.finish(share.question.answer([one_row], gaps=site.gaps))
            sizes[site.name] = sizes.get(site.name, 0) + BYTES_PER_NUMBER * groups * sums.numbers
    return BootstrapPlan(method, groups, sizes)


def _require_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, got {value!r}")


def _require_seed(random_state: object) -> np.random.SeedSequence:
    if random_state is None:
        return np.random.SeedSequence(int.from_bytes(os.urandom(16), "big"))
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise ConfigError(f"random_state must be a whole number of at least 0 or None, got {random_state!r}")
    return np.random.SeedSequence(int(random_state))
