"""The headline: the same 200,000 rows by every way in have one digest."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import fedrcd
from fedrcd.data.sources import held
from fedrcd.data.sources.address import source_at
from fedrcd.protocol.wire import digest_of

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here
N = 200_000
TABLE = pa.table(dict(zip("abcd", np.random.default_rng(3).laplace(size=(N, 4)).cumsum(axis=1).T, strict=True)))
CUTS = {"one": [N], "three": [1, 70_001, N], "many": [k * N // 9 for k in range(1, 10)]}


def what_comes_out(rows):
    """The digest of exact sums, and of the result."""
    transport = fedrcd.in_process([rows], arithmetic="exact")
    found = fedrcd.discover(transport, "fedrcd-ni")
    return digest_of(transport.pool(transport.setting.tensor())), found.order, found.B.tobytes()


@pytest.fixture(autouse=True)
def streamed(monkeypatch):
    """Nothing is kept in memory between passes."""
    monkeypatch.setattr(held, "HELD", 0)


@pytest.fixture(scope="module")
def plain():
    return what_comes_out(np.column_stack([column.to_numpy() for column in TABLE.columns]))[0]


@pytest.fixture(scope="module")
def by_name():
    return what_comes_out(TABLE)


def test_files(tmp_path, plain, by_name):
    assert by_name[0] == plain
    csv.write_csv(TABLE, tmp_path / "rows.csv")
    assert what_comes_out(tmp_path / "rows.csv") == by_name
    for name, ends in CUTS.items():
        (tmp_path / name).mkdir()
        for number, (first, last) in enumerate(zip([0, *ends], ends, strict=False)):
            parquet.write_table(TABLE[first:last], tmp_path / name / f"{9 - number}.parquet")  # in another order, too
        assert what_comes_out(tmp_path / name) == by_name


def test_duckdb_and_polars(tmp_path, by_name):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not here: pip install 'fedrcd[duckdb]'")
    polars = pytest.importorskip("polars", reason="polars is not here")
    with duckdb.connect(str(tmp_path / "rows.db")) as connection:
        connection.register("given", TABLE)
        connection.execute("create table rows as select * from given")
    assert what_comes_out(source_at(f"duckdb:{tmp_path / 'rows.db'}", "select * from rows order by b")) == by_name
    assert what_comes_out(polars.from_arrow(TABLE)) == by_name


def test_postgres(server, by_name):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("many", TABLE, mode="replace")
        connection.commit()
    assert what_comes_out(source_at(server, "select * from many order by c")) == by_name
