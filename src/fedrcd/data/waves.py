"""Subjects seen at the same few times: a row per subject, and a column per variable and wave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedrcd.data.series import Series
from fedrcd.data.table import Table
from fedrcd.errors import DataError

MOST_WAVES = 50
"""Waves up to which they are columns: more times are a series."""


def wave_names(columns: Sequence[str], wave: float) -> tuple[str, ...]:
    """Names of the variables at a wave: `dose@2`."""
    return tuple(f"{name}@{wave:g}" for name in columns)


def in_waves(several: Sequence[Series]) -> tuple[list[Table], list[tuple[str, ...]]]:
    """Tables with a row per subject, and the variables of every wave, earliest first; NaN where a subject was not seen.

    The waves are all times that are met in some table.
    """
    times = [np.empty(0) if one.times is None else one.times for one in several]
    waves = np.unique(np.concatenate(times))
    if not 2 <= len(waves) <= MOST_WAVES:
        raise DataError(
            f"there are {len(waves)} different times, and waves must be 2 to {MOST_WAVES}; for a series take lags"
        )
    tables = []
    for series, when in zip(several, times, strict=True):
        subjects = tuple(dict.fromkeys(series.subjects))
        place = {name: k for k, name in enumerate(subjects)}
        values = np.full((len(subjects), len(waves), len(series.columns)), np.nan)
        values[[place[name] for name in series.subjects], np.searchsorted(waves, when)] = series.values
        names = tuple(name for wave in waves for name in wave_names(series.columns, wave))
        flat = values.reshape(len(subjects), len(names))
        tables.append(Table(flat, columns=names, source=series.source, ids=subjects))
    return tables, [wave_names(several[0].columns, wave) for wave in waves]
