"""Tables and prior knowledge in whatever form users give them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fedrcd.data.align import align_tables
from fedrcd.data.knowledge_file import read_knowledge
from fedrcd.data.names import default_names
from fedrcd.data.open_tables import open_tables
from fedrcd.data.table import Table
from fedrcd.data.unusable import all_unusable, refusal
from fedrcd.errors import ConfigError, DataError
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.statistics.frame import Frame
from fedrcd.suggest import did_you_mean
from fedrcd.typing import Matrix

if TYPE_CHECKING:
    import pandas as pd


KnowledgeLike: TypeAlias = "Knowledge | str | os.PathLike[str] | Matrix | pd.DataFrame | Sequence[Sequence[int]]"


def read_tables(tables: Any, missing_codes: Sequence[float] = (), drop: Sequence[str] = ()) -> list[Table]:
    """Checked tables with their sites and blocks, from whatever `discover` accepts.

    Tables without labels must have the same columns; each is a site with rows of its own.
    """
    labelled_tables = as_list(tables)
    several = [table for table, _ in labelled_tables]
    settings: dict[str, Any] = {"gaps": True, "codes": missing_codes, "drop": drop}
    try:
        opened = [open_tables(table, label, **settings) for table, label in labelled_tables]
    except DataError as problem:
        unusable, where = all_unusable(labelled_tables, drop, missing_codes)
        raise refusal(unusable, where) if unusable else problem from None
    labelled = [isinstance(table, Table) and bool(table.site) for table in several]
    if all(labelled):
        return [table for group in opened for table in group]
    if any(labelled):
        raise ConfigError("either all tables or none must be fedrcd.Table with a site")
    plain = [group[0] for group in opened]
    if len({table.source for table in plain}) < len(plain):  # files of one name in several folders
        paths = [os.fspath(given) if isinstance(given, str | os.PathLike) else "" for given in several]
        if len(set(paths)) < len(paths):
            raise ConfigError(f"{next(path for path in paths if paths.count(path) > 1)} is given twice")
        plain = [replace(table, source=path or table.source) for table, path in zip(plain, paths, strict=True)]
    return [replace(table, site=table.source, block=table.source) for table in align_tables(plain)]


def as_list(tables: Any) -> list[tuple[Any, str]]:
    """One table or several, each with what messages call it."""
    several = list(tables) if isinstance(tables, Sequence) and not isinstance(tables, str | bytes) else [tables]
    if not several:
        raise ConfigError("no tables were given; give one table per site")
    labels = [f"table {k}" for k in range(1, len(several) + 1)] if len(several) > 1 else ["the table"]
    return list(zip(several, labels, strict=True))


def as_frame(given: Any, names: Sequence[str]) -> Frame | None:
    """The frame of the variables from a centre and a scale of each, if any were given."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ConfigError("frame must be a mapping of every variable to its centre and scale")
    lacking = [name for name in names if name not in given]
    if lacking:
        raise ConfigError(f"frame has no centre and scale of {lacking[0]!r}{did_you_mean(lacking[0], list(given))}")
    try:
        centre, scale = np.array([[float(one) for one in given[name]] for name in names], dtype=np.float64).T
    except (TypeError, ValueError):
        raise ConfigError("frame must have two numbers for every variable, its centre and its scale") from None
    return Frame(centre, scale)


def as_knowledge(given: KnowledgeLike, names: Sequence[str]) -> Knowledge:
    """Knowledge from whatever `discover` accepts as such."""
    if isinstance(given, Knowledge):
        return given
    if isinstance(given, str | os.PathLike):
        return read_knowledge(given)
    import pandas as pd

    if isinstance(given, pd.DataFrame):
        return Knowledge.from_matrix(_unknown_below_zero(_along(given, names)), names)
    if isinstance(given, np.ndarray | list | tuple):
        return Knowledge.from_matrix(_unknown_below_zero(given), names)
    raise ConfigError("knowledge must be a fedrcd.Knowledge, a TOML file or a matrix [to, from] of 1, 0 and -1")


def _along(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """A frame of prior knowledge in the order of the variables, along each axis that bears their names.

    Numbers, and labels that are no names at all, are read by position, as `lingam` does. So are all labels where the
    table has no names of its own.
    """
    for axis in (0, 1):
        labels = [str(label) for label in frame.axes[axis]]
        foreign = [label for label in labels if label not in names]
        if sorted(labels) == sorted(names):
            frame = frame.set_axis(labels, axis=axis).reindex(list(names), axis=axis)
        elif len(foreign) < len(labels) and tuple(names) != default_names(len(names)):
            wrong = foreign[0] if foreign else next(label for label in labels if labels.count(label) > 1)
            what = (
                f"there is no variable {wrong!r}{did_you_mean(wrong, names)}" if foreign else f"{wrong!r} is repeated"
            )
            raise ConfigError(f"a label of the {('rows', 'columns')[axis]} of the prior knowledge is wrong: {what}")
    return frame


def _unknown_below_zero(given: Any) -> Matrix:
    """A matrix of prior knowledge in which everything below 0 is -1, as `lingam` reads it."""
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError("a matrix of prior knowledge must hold 1 (path), 0 (no path) or -1 (unknown)") from None
    return np.where(matrix < 0, -1.0, matrix)
