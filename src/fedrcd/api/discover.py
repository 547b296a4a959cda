"""Causal discovery over tables that lie in this process, one per site."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedrcd.api.decisive import decisive
from fedrcd.api.describe import discovery_of
from fedrcd.api.discovery import Discovery
from fedrcd.api.progress import Progress, reporters
from fedrcd.api.rivals import asked_rivals, in_doubt
from fedrcd.api.sites_left_out import notes_without_each
from fedrcd.api.tables import prepare
from fedrcd.errors import ConfigError
from fedrcd.methods.settings import AUTO, Settings, with_settings
from fedrcd.methods.weights import SELECTIONS
from fedrcd.statistics.accelerator import DeviceName

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


@with_settings
def discover(
    tables: Any,
    method: str = AUTO,
    *,
    check_scale: bool = False,
    check_sites: bool = False,
    rivals: bool = False,
    progress: Progress | bool | None = None,
    device: DeviceName = "cpu",
    **settings: Any,
) -> Discovery:
    """Causal order and effects behind the rows of one or several tables, from sums over their rows.

    Parameters
    ----------
    tables : table or list of tables
        One per site: a DataFrame, an array with rows as observations, or a path to a CSV or Parquet file. All must
        have the same columns, which are aligned by name, unless they are `fedrcd.Table` with a site each. Or a
        transport, any object with `setting` and `pool`, such as `fedrcd.in_process` gives.
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
        Leave out rows with a value more than this many robust scales from its column's median, or scales of the `frame`
        from its centre; 8 removes gross errors. Not free: rows of clean but heavy-tailed data are lost too.
    arithmetic : {"float", "exact", "compact"}
        Sum in float64; or round values to a fine grid, or to a coarse one in fewer bytes, on which sums are exact to
        the bit however rows are split.
    frame : mapping of str to (centre, scale), optional
        The public frame in which sums are taken, of every variable; as a federation file declares it. Without, one is
        made from all rows. `trim` counts scales of a frame that is given.
    masked : bool
        Add sums under masks that cancel, as between machines, so that nothing but their total is seen; the result is
        that of exact sums, to the bit. For methods that ask once, over at least three sites; needs `fedrcd[ledger]`.
    lags : int or "auto"
        Put every row beside those of so many steps of time before it; 0 for rows without time. "auto" takes the number
        with the least BIC of 1 to 5, in one round more. What is ordered is then what the past leaves unexplained.
    time, subject : str
        Columns that say when a row was, and whose it is; without, rows lie in order, and in one series.
    waves : bool
        Make one row of all rows of a subject, with a column per variable and time, `dose@2`: what acts within a wave,
        and from wave to wave. For subjects who were seen at the same few times.
    stack : bool
        Allow a method for one table to stack several. Only where the rows may be pooled.
    check_scale : bool
        Find the order of the standardised variables too, for `Discovery.standardised_order`. A method that depends on
        scale runs a second time for it, on sums that are not counted.
    check_sites : bool
        Run the method without each site too, on the tables here, and note what changes and which site decides.
    rivals : bool
        Where the data speak against the model, run all other methods of several rounds that ignore scale, and 50
        resamples, for `Discovery.agreement`: what all of them find.
    progress : callable or bool, optional
        Called with the traffic so far after each site's answer; or True for a bar in the terminal or the notebook if it
        takes more than two seconds.
    device : {"cpu", "cuda", "auto"}
        Sum on a graphics card, and keep tensors, or the rows of a single table, there; "auto" if there is one. Needs
        `fedrcd[gpu]`. Exact sums are the same to the bit.
    knowledge : Knowledge, path or (p, p) array, optional
        What is known of the graph: statements by name, a TOML file of them, or `lingam`'s matrix. The order and the
        effects keep to it.
    **options : dict
        `weights` ("auto", "guarded", "adaptive-lasso", "bic", "bootstrap" or "none"), `penalty`, and the method's own
        options. "bootstrap"
        keeps edges that a `threshold` of 0.5 of `n_sampling` replicates with seed `random_state` have; `base` is the
        selection within each replicate, `groups` and `resample` are those of `fedrcd.bootstrap`.

    Examples
    --------
    >>> from fedrcd import discover
    >>> from fedrcd.data.examples import example_paths
    >>> discover(example_paths()).rounds
    1
    """
    given = Settings.of(method, **settings)
    if given.weights == BY_BOOTSTRAP:
        if device != "cpu":
            raise ConfigError("weights='bootstrap' works on the processor: leave device out")
        if check_sites:
            raise ConfigError("check_sites goes with one discovery; a bootstrap has leave_one_site_out()")
        return _select_by_bootstrap(tables, given, check_scale=check_scale, progress=progress)
    if check_sites and given.wants_noise:
        raise ConfigError("check_sites would ask for sums without each site, and noise is drawn and paid for once")
    with reporters(progress) as report:
        prepared = prepare(tables, given, progress=report.of_traffic, discovers_only=True, device=device)
        found = prepared.run.find(standardised=check_scale)
    background = prepared.background()
    last = [*background.last, *decisive(prepared.run, found.estimate)]
    without = notes_without_each(prepared.run, found.estimate) if check_sites else []
    asked = asked_rivals(prepared.run) if rivals and in_doubt(found) else ()
    background = replace(background, last=[*last, *without], rivals=asked)
    return discovery_of(found, background, warn=2)


def _select_by_bootstrap(tables: Any, settings: Settings, **how: Any) -> Discovery:
    """Keep the edges that at least a share of replicates have."""
    from fedrcd.api.bootstrap import bootstrap
    from fedrcd.api.bootstrap_result import require_threshold

    chosen, others = by_bootstrap(settings)
    threshold = chosen.pop("threshold")
    require_threshold(threshold)
    if others.weights not in SELECTIONS:
        raise ConfigError(f"base must be one of {', '.join(SELECTIONS)}, got {others.weights!r}")
    return bootstrap(tables, **chosen, **how, **others.arguments()).select(threshold)


def by_bootstrap(settings: Settings) -> tuple[dict[str, Any], Settings]:
    """How edges are selected by bootstrap, and the settings of every replicate."""
    options = settings.options
    chosen = {**SELECT_BY_BOOTSTRAP, **{k: v for k, v in options.items() if k in SELECT_BY_BOOTSTRAP}}
    others = {k: v for k, v in options.items() if k not in SELECT_BY_BOOTSTRAP}
    return chosen, replace(settings, weights=chosen.pop("base"), options=others)
