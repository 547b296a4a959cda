"""Every pair along the order of a discovery, and why it is an edge or not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedrcd.api.discovery import require_level
from fedrcd.errors import ConfigError
from fedrcd.graphs.knowledge.statements import Knowledge

if TYPE_CHECKING:
    import pandas as pd

    from fedrcd.api.discovery import Discovery

COLUMNS = ("cause", "effect", "estimate", "error", "low", "high", "kept", "why")


def candidates_of(found: Discovery, level: float) -> pd.DataFrame:
    """All pairs, those of most standard errors first."""
    import pandas as pd
    from scipy.stats import norm

    require_level(level)
    if found.effects_before is None or found.errors_before is None:
        raise ConfigError(
            "this discovery does not hold the effects of all pairs: missing values were filled, rows go back in time, "
            "there are too many variables, or an older version made it"
        )
    effects, errors = found.effects_before, found.errors_before
    known = Knowledge(**found.settings.get("knowledge", {})).constraints(found.names)
    reach, place = float(norm.ppf((1 + level) / 2)), {name: k for k, name in enumerate(found.order)}
    rows = []
    for i, effect in enumerate(found.names):
        for j, cause in enumerate(found.names):
            if place[cause] >= place[effect]:
                continue
            value, error, kept = float(effects[i, j]), float(errors[i, j]), bool(found.B[i, j] != 0)
            if known.required[i, j]:
                why = "required by what is known"
            elif known.forbidden[i, j] or known.forbidden_paths[i, j]:
                why = "forbidden by what is known"
            else:
                why = _why(found, abs(value) / error if error > 0 else math.inf, reach, kept=kept)
            rows.append((cause, effect, value, error, value - reach * error, value + reach * error, kept, why))
    rows.sort(key=lambda row: -abs(row[2]) / row[3] if row[3] > 0 else -math.inf)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _why(found: Discovery, deviations: float, reach: float, *, kept: bool) -> str:
    """Why an effect of so many standard errors is an edge, or none."""
    selection = str(found.options.get("weights", ""))
    if kept:
        return f"{deviations:.1f} standard errors from no effect; kept by {selection}"
    if deviations < reach:
        return f"cannot be told from no effect ({deviations:.1f} standard errors)"
    bound = math.sqrt(math.log(max(found.rows, 2)) + 2 * math.log(len(found.names)))
    if selection == "guarded" and deviations < bound:
        return f"{deviations:.1f} standard errors are fewer than the {bound:.1f} asked of one pair among so many"
    if selection == "guarded":
        return "small, and left out because errors were not seen to be independent, or others say the same better"
    return f"left out by {selection}, or others say the same better"
