"""From what a user names to a source: a file, a folder, a pattern, a database."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path

from fedrcd.data.sources.columnar_file import ArrowFile, ParquetFile
from fedrcd.data.sources.dask_rows import DaskCluster, DaskFolder
from fedrcd.data.sources.duckdb_query import DuckDBQuery
from fedrcd.data.sources.faults import reason
from fedrcd.data.sources.folder import Folder
from fedrcd.data.sources.postgres_query import PostgresQuery
from fedrcd.data.sources.source import Source
from fedrcd.data.sources.text_file import SEPARATORS, TextFile
from fedrcd.errors import ConfigError, FileError
from fedrcd.suggest import did_you_mean

ENDINGS = (*SEPARATORS, ".parquet", ".arrow", ".feather")


POSTGRES = re.compile(r"postgres(?:ql)?:/{1,3}")
DUCKDB = "duckdb:"


def is_address(text: str) -> bool:
    """Whether a text names a database or a cluster, not a path."""
    return text.startswith((DUCKDB, "dask:")) or POSTGRES.match(text) is not None


DASK = re.compile(r"dask:(?P<scheduler>\w+:/{1,2}[^/]+)(?P<folder>/.*)")


def absolute(address: str) -> str:
    """An address that means the same in another folder."""
    if not is_address(address):
        return os.path.abspath(address)
    if not address.startswith(DUCKDB):
        return address
    path = address.removeprefix(DUCKDB)
    return DUCKDB + os.path.abspath(path) if path else address


def source_at(address: str | os.PathLike[str], query: str = "") -> Source:
    """The rows at an address, for `discover`, `Table` and whatever else takes tables.

    Parameters
    ----------
    address : str or path
        A file that ends in .csv, .csv.gz, .tsv, .parquet, .arrow or .feather; a folder of such files, or a pattern like
        `rows/*.parquet`: one table, the files in the order of their names. `duckdb:FILE`, or `duckdb:` for a query
        that names files; `postgresql://USER@HOST/DATABASE`, without a password.
        `dask:tcp://HOST:PORT/FOLDER`: a folder whose sums the workers of a Dask scheduler make.
    query : str
        What to ask a database: one statement that gives rows. `@FILE` is the one in a file.

    Examples
    --------
    >>> import fedrcd
    >>> from fedrcd.data.examples import example_paths
    >>> fedrcd.source_at(example_paths()[0]).name
    'hospital_a.csv'
    """
    text = os.fspath(address)
    if is_address(text):
        if text.startswith("dask:"):
            return _on_cluster(text, query)
        if query.startswith("@"):
            query = read_text(Path(query[1:]))
        if text.startswith(DUCKDB):
            return DuckDBQuery(text.removeprefix(DUCKDB), query)
        return PostgresQuery(text, query)
    if query:
        raise ConfigError(f"a query is for databases, and {text} is a path")
    path = Path(text)
    if path.is_dir():
        return _together(_files_in(path), text)
    if not path.exists() and glob.has_magic(text):
        return _together([Path(one) for one in glob.glob(text, recursive=True) if os.path.isfile(one)], text)
    require_file(path)
    return _file(path, path.name)


def _on_cluster(address: str, query: str) -> Source:
    """A folder that the workers of a Dask scheduler read."""
    found = DASK.fullmatch(address)
    if found is None or query:
        raise ConfigError(
            "a cluster is named by its scheduler and a folder: dask:tcp://HOST:PORT/FOLDER, with no query"
        )
    folder = source_at(found["folder"])
    whole = folder if isinstance(folder, Folder) else Folder((folder,), folder.name)
    return DaskFolder(whole, DaskCluster(found["scheduler"]))


def ending_of(path: Path) -> str:
    """The one of `ENDINGS` that a file has."""
    for ending in ENDINGS:
        if path.name.lower().endswith(ending):
            return ending
    raise FileError(f"{path.name} has an unknown ending; known are {', '.join(ENDINGS)}")


def read_text(path: Path) -> str:
    """What is in a file of text."""
    require_file(path)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None
    except UnicodeDecodeError:
        raise FileError(f"cannot read {path}: it is not UTF-8") from None


def require_file(path: Path) -> None:
    """Raise unless there is a file, with a hint at one of a similar name."""
    if not path.parent.is_dir():
        raise FileError(f"there is no folder {path.parent}, so no file {path.name} in it")
    if not path.exists():
        others = [other.name for other in path.parent.iterdir()]
        raise FileError(f"there is no file {path}{did_you_mean(path.name, others)}")


def _file(path: Path, name: str) -> Source:
    """The source in one file."""
    ending = ending_of(path)
    if ending in SEPARATORS:
        return TextFile(path, name, SEPARATORS[ending])
    return ParquetFile(path, name) if ending == ".parquet" else ArrowFile(path, name)


def _files_in(folder: Path) -> list[Path]:
    """The files of a folder and the folders in it; those whose names begin with a point or a line are not of it."""
    try:
        found = [Path(where) / name for where, _, names in os.walk(folder, onerror=_raise) for name in names]
    except OSError as error:
        raise FileError(f"cannot read {folder}: {reason(error)}") from None
    return [one for one in found if not any(part.startswith((".", "_")) for part in one.relative_to(folder).parts)]


def _raise(error: OSError) -> None:
    raise error


def _together(files: list[Path], name: str) -> Source:
    """Files as one table."""
    known = [one for one in files if one.name.lower().endswith(ENDINGS)]
    if not known:
        raise FileError(f"{name} holds no file that ends in {', '.join(ENDINGS)}")
    shown = os.path.basename(os.path.normpath(name))
    return Folder(tuple(_file(one, one.name) for one in sorted(known, key=os.fspath)), shown)
