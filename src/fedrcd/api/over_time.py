"""Tables over time: rows with their past, from whatever `discover` accepts, and how many steps back they go."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedrcd.api.inputs import as_knowledge, as_list
from fedrcd.data.past import SeriesReport, with_past
from fedrcd.data.series import Series, read_series, require_apart
from fedrcd.data.table import Table
from fedrcd.data.waves import in_waves
from fedrcd.errors import ConfigError
from fedrcd.graphs.knowledge.statements import Knowledge
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
    series, labels = _series(tables, settings)
    lags = MOST_LAGS if settings.lags == "auto" else int(settings.lags)
    formed, reports = with_past(series, lags, subjects=bool(settings.subject))
    return _labelled(formed, labels), reports


def tables_in_waves(tables: Any, settings: Settings) -> tuple[list[Table], Knowledge]:
    """The tables with a row per subject, and that no wave affects an earlier one, beside what is known otherwise."""
    series, labels = _series(tables, settings)
    if len({one.columns for one in series}) > 1:
        raise ConfigError("waves=True needs the same columns, in one order, in all tables")
    formed, tiers = in_waves(series)
    names = [name for tier in tiers for name in tier]
    known = Knowledge() if settings.knowledge is None else as_knowledge(settings.knowledge, names)
    if known.tiers and known.tiers != tuple(tiers):
        raise ConfigError("waves=True makes tiers of its own; state what else is known by other statements")
    return _labelled(formed, labels), replace(known, tiers=tiers)


def _series(tables: Any, settings: Settings) -> tuple[list[Series], list[Table]]:
    """The rows of every table in order of time, and tables without rows that have their labels."""
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
    return series, labels


def _labelled(formed: Sequence[Table], labels: Sequence[Table]) -> list[Table]:
    """Tables with the sites and blocks of others."""
    return [replace(one, site=given.site, block=given.block) for one, given in zip(formed, labels, strict=True)]
