"""Tables over time: rows with their past, from whatever `discover` accepts, and how many steps back they go."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from fedrcd.api.inputs import as_list
from fedrcd.data.past import SeriesReport, with_past
from fedrcd.data.series import read_series, require_apart
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.methods.settings import MOST_LAGS, Settings


def tables_of_subjects(tables: Any, subject: str) -> list[Table]:
    """The tables, whose rows belong to subjects: those of one stay together where rows are resampled."""
    found = []
    for given, label in as_list(tables):
        table = given if isinstance(given, Table) else Table(given, source=label)
        if isinstance(table.data, np.ndarray) or table.id:
            raise ConfigError(f"subject={subject!r} names a column of a DataFrame, a file or an Arrow table, and no id")
        found.append(replace(table, id=subject))
    return found


def tables_with_past(tables: Any, settings: Settings) -> tuple[list[Table], list[SeriesReport]]:
    """The tables, whose rows go back in time as far as the settings say, and what became of their rows."""
    several, series, labels = as_list(tables), [], []
    for given, label in several:
        one, labelled = read_series(given, label, time=settings.time, subject=settings.subject, drop=settings.drop)
        series.append(one)
        labels.append(labelled)
    names = [one.source for one in series]
    if len(set(names)) < len(names):  # files of one name in several folders
        paths = [os.fspath(given) if isinstance(given, str | os.PathLike) else label for given, label in several]
        series = [replace(one, source=path) for one, path in zip(series, paths, strict=True)]
    if settings.subject:
        require_apart(series)
    lags = MOST_LAGS if settings.lags == "auto" else int(settings.lags)
    formed, reports = with_past(series, lags, subjects=bool(settings.subject))
    tables = [replace(one, site=given.site, block=given.block) for one, given in zip(formed, labels, strict=True)]
    return tables, reports
