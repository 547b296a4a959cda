"""Causal discovery over tables that lie in this process, one per site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from fedrcd.api.discovery import Discovery
from fedrcd.api.given import KnowledgeLike
from fedrcd.api.prepare import prepare
from fedrcd.api.progress import Progress, told
from fedrcd.errors import ConfigError
from fedrcd.methods.auto import AUTO
from fedrcd.methods.weights import SELECTIONS
from fedrcd.protocol.driver import run

BY_BOOTSTRAP = "bootstrap"
SELECT_BY_BOOTSTRAP: dict[str, Any] = {
    "threshold": 0.5,
    "n_sampling": 100,
    "random_state": 0,
    "base": "adaptive-lasso",
    "groups": None,
    "resample": "groups",
}
"""Options of `weights="bootstrap"`, with their defaults."""


def discover(
    tables: Any,
    method: str = AUTO,
    *,
    variables: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    within: Literal["none", "centre", "standardise", "auto"] = "none",
    missing: Literal["complete", "expected", "available"] = "complete",
    missing_codes: Sequence[float] = (),
    trim: float | None = None,
    arithmetic: Literal["float", "exact", "compact"] = "float",
    stack: bool = False,
    check_scale: bool = False,
    progress: Progress | bool | None = None,
    knowledge: KnowledgeLike | None = None,
    **options: Any,
) -> Discovery:
    """Causal order and effects behind the rows of one or several tables, from sums over their rows.

    Parameters
    ----------
    tables : table or list of tables
        One per site: a DataFrame, an array with rows as observations, or a path to a CSV or Parquet file. All must
        have the same columns, which are aligned by name, unless they are `fedrcd.Table` with a site each.
    method : str
        Name of a method (`fedrcd methods` lists them), or "auto" to have one chosen.
    variables : sequence of str, optional
        All variables, in the order that breaks ties; by default as the tables name them.
    drop : sequence of str
        Columns to leave out: identifiers, text, constants.
    within : {"none", "centre", "standardise", "auto"}
        Where sites differ in level or unit: let each express its rows by its own means, or by its own means and
        standard deviations, before anything is summed. "auto" asks one round whether sites differ beyond chance.
    missing : {"complete", "expected", "available"}
        Rows with missing values are left out; or sites fill gaps by what pooled moments make them expect, which takes a
        few rounds more; or only the values are left out, which costs accuracy and gives away who lacks what.
    missing_codes : sequence of float
        Values that stand for a missing one, besides NaN and empty cells.
    trim : float, optional
        Leave out rows with a value more than this many robust scales from its column's median; 8 removes gross errors.
        Not free: rows of clean but heavy-tailed data are lost too.
    arithmetic : {"float", "exact", "compact"}
        Sum in float64; or round values to a fine grid, or to a coarse one in fewer bytes, on which sums are exact to
        the bit however rows are split.
    stack : bool
        Allow a method for one table to stack several. Only where the rows may be pooled.
    check_scale : bool
        Find the order of the standardised variables too, for `Discovery.standardised_order`. A method that depends on
        scale runs a second time for it, on sums that are not counted.
    progress : callable or bool, optional
        Called with the traffic so far after each site's answer; or True for a bar in the terminal or the notebook if it
        takes more than two seconds.
    knowledge : Knowledge, path or (p, p) array, optional
        What is known of the graph: statements by name, a TOML file of them, or `lingam`'s matrix. The order and the
        effects keep to it.
    **options
        `weights` ("adaptive-lasso", "bic", "bootstrap" or "none"), `penalty`, and the method's own options. "bootstrap"
        keeps edges that a `threshold` of 0.5 of `n_sampling` replicates with seed `random_state` have; `base` is the
        selection within each replicate, `groups` and `resample` are those of `fedrcd.bootstrap`.

    Examples
    --------
    >>> from fedrcd import discover
    >>> from fedrcd.data.examples import example_paths
    >>> discover(example_paths()).rounds
    1
    """
    settings: dict[str, Any] = {
        "variables": variables,
        "drop": drop,
        "within": within,
        "missing": missing,
        "missing_codes": missing_codes,
        "trim": trim,
        "arithmetic": arithmetic,
        "stack": stack,
        "knowledge": knowledge,
    }
    if options.get("weights") == BY_BOOTSTRAP:
        settings |= {"progress": progress, "check_scale": check_scale}
        return _select_by_bootstrap(tables, method, settings, options)
    with told(progress) as tell:
        settings["progress"] = tell.of_traffic
        prepared = prepare(tables, method, options, **settings)
        estimate = run(prepared.parts.rounds(prepared.setting), prepared.transport)
        standardised = prepared.order_of_standardised(estimate) if check_scale else None
    return prepared.discovery(estimate, standardised=standardised)


def _select_by_bootstrap(tables: Any, method: str, settings: dict[str, Any], options: dict[str, Any]) -> Discovery:
    """Keep the edges that at least a share of replicates have."""
    from fedrcd.api.bootstrap import bootstrap
    from fedrcd.api.bootstrap_result import require_threshold

    chosen = {**SELECT_BY_BOOTSTRAP, **{k: v for k, v in options.items() if k in SELECT_BY_BOOTSTRAP}}
    others = {k: v for k, v in options.items() if k not in SELECT_BY_BOOTSTRAP}
    threshold, others["weights"] = chosen.pop("threshold"), chosen.pop("base")
    require_threshold(threshold)
    if others["weights"] not in SELECTIONS:
        raise ConfigError(f"base must be one of {', '.join(SELECTIONS)}, got {others['weights']!r}")
    return bootstrap(tables, method, **chosen, **settings, **others).select(threshold)
