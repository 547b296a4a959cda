"""The names of variables as they were: `dose[t-1]` is `dose` one step of time before."""

from __future__ import annotations

from collections.abc import Sequence


def past_names(columns: Sequence[str], lags: int) -> tuple[str, ...]:
    """Names of the variables now, and of those of each step before."""
    return (*columns, *(f"{name}[t-{lag}]" for lag in range(1, lags + 1) for name in columns))


def steps_back(names: Sequence[str]) -> int:
    """How many steps the names go back: 0 where they are not those of `past_names`, whatever they are."""
    for lags in range(len(names) - 1, 0, -1):
        if len(names) % (lags + 1) == 0 and tuple(names) == past_names(names[: len(names) // (lags + 1)], lags):
            return lags
    return 0


def earlier(p: int, lags: int) -> tuple[int, ...]:
    """Numbers of the variables of steps before, earliest first, where `p` of now stand before them."""
    return tuple(lag * p + k for lag in range(lags, 0, -1) for k in range(p))
