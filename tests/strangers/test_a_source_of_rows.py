"""How to add a source of rows, in one class.

A source has a name for messages, columns, a count if it knows one, and chunks of float64 in an order that stays, as
often as they are asked for: the attributes of `fedrcd.data.rows.Rows`. Missing values are NaN. Give one source per
site to `fedrcd.discover` as you would give tables; all settings mean the same.

The source here is a query of a database, read a few rows at a time: never are all of them in memory.
"""

import sqlite3
from contextlib import closing
from itertools import cycle

import numpy as np
import pytest

import fedrcd
from fedrcd.data.rows import Chunk, Rows

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here
COLUMNS = ("x1", "x2", "x3", "x4", "x5")


class Query:
    """The rows of a table of a SQLite database, by number."""

    columns = COLUMNS
    identified = False
    count = None  # it would take a pass

    def __init__(self, path, table):
        self.path, self.source = path, table

    def chunks(self):
        """All rows, in chunks of odd sizes."""
        with closing(sqlite3.connect(self.path)) as connection:
            cursor = connection.execute(f"select {', '.join(COLUMNS)} from {self.source} order by number")
            for size in cycle([1, 137, 1024, 3000]):
                rows = cursor.fetchmany(size)
                if not rows:
                    break
                yield Chunk(np.array(rows, dtype=np.float64))  # NULL becomes NaN


@pytest.fixture(scope="module")
def arrays():
    """Rows of three sites, with -9 for missing values, gaps, and a decimal point in the wrong place here and there."""
    X = np.random.default_rng(5).laplace(size=(9000, 5)).cumsum(axis=1)
    X[::90, 2], X[::150, 1], X[::400, 3] = -9.0, np.nan, 1e4
    return [X[:2500], X[2500:2900] + 3.0, X[2900:]]


@pytest.fixture(scope="module")
def queries(arrays, tmp_path_factory):
    """The same rows in a database."""
    path = tmp_path_factory.mktemp("database") / "rows.db"
    names = ", ".join(COLUMNS)
    with closing(sqlite3.connect(path)) as connection, connection:
        for site, rows in zip("abc", arrays, strict=True):
            connection.execute(f"create table site_{site} (number integer primary key, {names})")
            values = np.where(np.isnan(rows), None, rows).tolist()
            connection.executemany(f"insert into site_{site} ({names}) values (?, ?, ?, ?, ?)", values)
    return [Query(path, f"site_{site}") for site in "abc"]


def test_a_source_is_whatever_has_the_attributes(queries):
    assert isinstance(queries[0], Rows)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-x"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"drop": ["x4"]},
        {"missing_codes": [-9]},
        {"trim": 8.0, "within": "centre"},
        {"within": "standardise", "missing_codes": [-9], "drop": ["x5"]},
        {"trim": 30.0, "missing_codes": [-9], "drop": ["x1"]},
    ],
    ids=str,
)
def test_rows_of_a_query_give_the_bits_of_the_same_rows_in_arrays(arrays, queries, how, method, arithmetic):
    plain, found = (fedrcd.discover(rows, method, arithmetic=arithmetic, **how) for rows in (arrays, queries))
    assert (found.order, found.rows, found.names) == (plain.order, plain.rows, plain.names)
    assert found.B.tobytes() == plain.B.tobytes()


def test_replicates_are_those_of_the_same_rows_in_arrays(arrays, queries):
    how = {"n_sampling": 5, "random_state": 3, "n_jobs": 1, "missing_codes": [-9]}
    tables = [fedrcd.Table(rows, columns=COLUMNS, source=one.source) for rows, one in zip(arrays, queries, strict=True)]
    plain, found = fedrcd.bootstrap(tables, **how), fedrcd.bootstrap(queries, **how)
    assert found.adjacency_matrices_.tobytes() == plain.adjacency_matrices_.tobytes()
