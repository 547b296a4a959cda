"""What a discovery of rows with a past tells: effects by lag, responses over time, and the graph unrolled in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.confidence.response_errors import HORIZON
from fedrcd.errors import ConfigError
from fedrcd.graphs.over_time import order_unrolled, responses, unrolled
from fedrcd.graphs.past_names import past_names
from fedrcd.typing import Matrix

if TYPE_CHECKING:
    import pandas as pd

    from fedrcd.api.discovery import Discovery

MOST_STEPS = 1000
"""Steps up to which responses are worked out."""


def require_past(found: Discovery) -> None:
    """Raise unless a discovery is of rows with a past."""
    if not found.lagged_effects:
        raise ConfigError("this discovery has no effects over time; discover(..., lags=1) finds them")


def require_steps(steps: object, most: int = MOST_STEPS) -> int:
    """The number of steps, if it is one."""
    if isinstance(steps, bool) or not isinstance(steps, int) or not 0 <= steps <= most:
        raise ConfigError(f"steps must be a whole number from 0 to {most}, got {steps!r}")
    return steps


def identified(values: Mapping[int, Matrix]) -> dict[int, Matrix]:
    """Effects by lag, 0 where they are not identified."""
    return {lag: np.nan_to_num(one) for lag, one in values.items()}


def response_table(
    names: Sequence[str], values: Sequence[Matrix], errors: Sequence[Matrix] | None, reach: float
) -> pd.DataFrame:
    """Responses as a table: a row per cause, effect and step, with an interval where there are errors."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for j, cause in enumerate(names):
        for i, effect in enumerate(names):
            for step, one in enumerate(values):
                row = {"cause": cause, "effect": effect, "step": step, "response": one[i, j]}
                if errors is not None:
                    error = errors[step][i, j]
                    low, high = one[i, j] - reach * error, one[i, j] + reach * error
                    row |= {"error": error, "low": low, "high": high}
                rows.append(row)
    return pd.DataFrame(rows)


def responses_of(found: Discovery, steps: int, level: float) -> pd.DataFrame:
    """Total effects over time, with intervals as far as their errors go."""
    from scipy.stats import norm

    require_past(found)
    values = responses(found._identified, identified(found.lagged_effects), require_steps(steps))
    errors = found.response_errors
    if errors and steps > HORIZON:
        raise ConfigError(f"intervals go up to {HORIZON} steps, got steps={steps}")
    known = [errors[step] for step in range(steps + 1)] if errors else None
    return response_table(found.names, values, known, float(norm.ppf((1 + level) / 2)))


def unrolled_of(found: Discovery, steps: int | None) -> Discovery:
    """The same graph over the variables of now and of some steps before."""
    require_past(found)
    lags = max(found.lagged_effects)
    steps = lags if steps is None else require_steps(steps, 20)
    if steps < lags:
        raise ConfigError(f"effects go {lags} steps back, so the graph needs as many; got steps={steps}")
    names = past_names(found.names, steps)
    order = order_unrolled([found.names.index(name) for name in found.order], steps)
    named = tuple(names[k] for k in order)
    return replace(
        found,
        names=names,
        order=named,
        B=unrolled(found.B, found.lagged_effects, steps),
        start=named,
        standardised_order=(),
        trace=(),
        holdings=(),
        variances=found.variances * (steps + 1),
        units={f"{name}{name_at}": unit for name, unit in found.units.items() for name_at in _suffixes(steps)},
        lagged_effects={},
        lagged_errors={},
        response_errors={},
        confidence=None,
        errors=None,
        total_errors=None,
        effects_before=None,
        errors_before=None,
    )


def _suffixes(steps: int) -> list[str]:
    return ["", *(f"[t-{step}]" for step in range(1, steps + 1))]
