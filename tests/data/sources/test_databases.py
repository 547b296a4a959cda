"""Rows of databases give the bits of the same rows in arrays; what goes wrong is told without a value."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.refusals import PLANTED, refused

import fedrcd
from fedrcd.cli.main import app
from fedrcd.data.open_tables import open_tables
from fedrcd.data.sources import held
from fedrcd.data.sources.address import absolute, source_at
from fedrcd.errors import ConfigError, DataError, FileError

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here
COLUMNS = list("abcd")


def sample(n=3000):
    frame = pd.DataFrame(np.random.default_rng(0).laplace(size=(n, 4)).cumsum(axis=1), columns=COLUMNS)
    frame["d"] = frame["d"].round(3) + 0.0  # a numeric of PostgreSQL has one zero
    frame.iloc[::70, 1] = np.nan
    return frame


ARROW = pa.Table.from_pandas(sample().assign(id=[f"p{k}" for k in range(3000)], note=PLANTED), preserve_index=False)


@pytest.fixture(scope="module")
def duckdb_file(tmp_path_factory):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not here: pip install 'fedrcd[duckdb]'")
    path = tmp_path_factory.mktemp("duckdb") / "rows.db"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", ARROW)
        connection.execute("create table patients as select * from given")
        connection.execute("create table text as select a, 'x' || note as b from given")
    return f"duckdb:{path}"


@pytest.fixture(scope="module")
def postgres(server):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("patients", ARROW, mode="replace")
        cursor.execute("alter table patients alter column d type numeric using round(d::numeric, 3)")
        connection.commit()
    return server


@pytest.fixture(params=["duckdb", "postgres"])
def database(request):
    return request.getfixturevalue({"duckdb": "duckdb_file", "postgres": "postgres"}[request.param])


QUERY = "select a, b, c, d from patients -- all of them"


@pytest.mark.parametrize("size", [0, held.HELD], ids=["streamed", "kept"])
def test_a_query_gives_the_bits_of_the_array(database, monkeypatch, size):
    monkeypatch.setattr(held, "HELD", size)
    (found,) = open_tables(source_at(database, QUERY), "rows", gaps=True)
    assert found.values.tobytes() == sample().to_numpy().tobytes()
    how = {"method": "fedrcd-s", "arithmetic": "exact", "trim": 9.0}
    order = fedrcd.discover(source_at(database, QUERY), **how)
    assert order.B.tobytes() == fedrcd.discover(sample(), **how).B.tobytes()


def test_rows_of_a_query_can_be_identified(database):
    table = fedrcd.Table(source_at(database, "select * from patients"), site="north", id="id")
    (found,) = open_tables(table, "rows", gaps=True, drop=["note"])
    assert found.columns == tuple(COLUMNS)
    assert list(found.ids) == [f"p{k}" for k in range(3000)]


def test_the_command_takes_an_address_and_a_query(database, capsys, tmp_path):
    (tmp_path / "query.sql").write_text(QUERY + ";\n")
    query = f"@{tmp_path / 'query.sql'}"
    app(["discover", database, "--query", query, "--method", "fedrcd-ni", "--json"], standalone_mode=False)
    assert '"order"' in capsys.readouterr().out


def test_a_snapshot_does_not_see_what_is_written_meanwhile(postgres, monkeypatch):
    from adbc_driver_postgresql import dbapi

    monkeypatch.setattr(held, "HELD", 0)
    (table,) = open_tables(source_at(postgres, QUERY), "rows", gaps=True)
    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute("create table kept as select * from patients")
        cursor.execute("delete from patients")
        connection.commit()
        try:
            assert table.values.tobytes() == sample().to_numpy().tobytes()
        finally:
            cursor.execute("insert into patients select * from kept")
            cursor.execute("drop table kept")
            connection.commit()


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        (f"select nope, '{PLANTED}' from patients", DataError),
        (f"selec {PLANTED}", DataError),
        (f"select * from nowhere where a > {PLANTED}", DataError),
        (f"delete from patients where a > {PLANTED}", DataError),
        ("select a, cast(note || 'x' as float) as b from patients", (DataError, FileError)),
    ],
)
def test_a_query_that_fails_is_told_without_its_values(database, query, kind):
    refused(lambda: open_tables(source_at(database, query), "rows"), kind)


def test_what_an_address_lacks_is_told(tmp_path, duckdb_file, postgres):
    refused(lambda: source_at(duckdb_file), ConfigError, "rows.db needs a query")
    refused(lambda: source_at(f"duckdb:{tmp_path / 'no.db'}", QUERY), FileError, "there is no file")
    (tmp_path / "text.db").write_text(PLANTED * 1000)
    refused(lambda: source_at(f"duckdb:{tmp_path / 'text.db'}", QUERY), FileError, "no DuckDB database")
    refused(lambda: source_at("rows.csv", QUERY), ConfigError, "a query is for databases")
    refused(
        lambda: source_at("postgresql://me:hunter2@host/db", QUERY), ConfigError, "must not hold a password", "PGPASS"
    )
    nowhere = f"postgresql:///db?host={tmp_path}&user=fedrcd"
    refused(lambda: source_at(nowhere, QUERY), FileError, "cannot connect to postgresql:///db: no server answers there")
    refused(
        lambda: source_at(postgres.replace("user=fedrcd", "user=stranger"), QUERY), FileError, "lets no such user into"
    )


def test_a_table_that_may_not_be_read_is_told(postgres):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute("create role reader login")
        connection.commit()
    source = source_at(postgres.replace("user=fedrcd", "user=reader"), QUERY)
    refused(lambda: open_tables(source, "rows"), FileError, "this user may not read what it names (SQLSTATE 42501)")


def test_a_lost_connection_is_told(postgres, monkeypatch):
    from adbc_driver_postgresql import dbapi

    monkeypatch.setattr(held, "HELD", 0)
    (table,) = open_tables(source_at(postgres, QUERY), "rows", gaps=True)
    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
        cursor.fetchall()
    refused(lambda: table.values, FileError, "the connection was lost; run again")


def test_duckdb_reads_files_and_downloads_nothing(tmp_path, duckdb_file):
    sample().to_parquet(tmp_path / "part.parquet")
    query = f"select a, b, c, d from '{tmp_path}/*.parquet'"
    assert open_tables(source_at("duckdb:", query), "rows", gaps=True)[0].count == 3000
    refused(lambda: open_tables(source_at("duckdb:", "select * from 'https://localhost/x.parquet'"), "rows"), DataError)


def test_addresses_are_made_absolute_where_they_hold_paths():
    assert absolute("rows").startswith("/")
    assert absolute("duckdb:rows.db").startswith("duckdb:/")
    assert absolute("duckdb:") == "duckdb:"
    assert absolute("postgresql://h/d") == "postgresql://h/d"
