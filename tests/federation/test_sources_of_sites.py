"""Sites whose rows are a folder, a file of DuckDB and a query of PostgreSQL: the bits of sites with one file each."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from fedrcd.data.read import read_table
from fedrcd.federation.coordinator.conduct import Conductor
from tests.federation.couriers import Direct
from tests.federation.sites import horizontal
from tests.postgres import server  # noqa: F401 - a fixture

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here


def conducted(disk, courier):
    conductor = Conductor(disk.plan("fedrcd-s"), disk.federation, say=lambda _: None)
    return conductor.run(courier, [site.name for site in disk.federation.sites])


def test_sites_with_other_sources_give_the_same_bits(tmp_path, server):  # noqa: F811 - the fixture
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not here: pip install 'fedrcd[duckdb]'")
    from adbc_driver_postgresql import dbapi

    disk = horizontal(tmp_path / "files")
    plain = conducted(disk, Direct(disk))
    names = [site.name for site in disk.federation.sites]
    tables = {}
    for name in names:
        table = read_table(disk.data(name))
        tables[name] = pa.table(dict(zip(table.columns, table.values.T, strict=True)))
    in_folder, in_duckdb, in_postgres = tables[names[0]], tables[names[1]], tables[names[2]]
    (tmp_path / "folder").mkdir()
    for number, (first, last) in enumerate([(0, 3), (3, 150), (150, None)]):
        parquet.write_table(in_folder[first:last], tmp_path / "folder" / f"{number}.parquet")
    with duckdb.connect(str(tmp_path / "rows.db")) as connection:
        connection.register("given", in_duckdb)
        connection.execute("create table patients as select * from given")
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("of_a_site", in_postgres, mode="replace")
        connection.commit()
    elsewhere = disk.apart(tmp_path / "elsewhere")
    courier = Direct(elsewhere)
    for name, where in zip(
        names,
        [
            {"data": str(tmp_path / "folder")},
            {"data": f"duckdb:{tmp_path / 'rows.db'}", "query": "select * from patients"},
            {"data": server, "query": "select * from of_a_site"},
        ],
        strict=False,
    ):
        courier.services[name] = elsewhere.service(name, **where)
    found = conducted(elsewhere, courier)
    assert found.estimate.B.tobytes() == plain.estimate.B.tobytes()
    assert list(found.estimate.order) == list(plain.estimate.order)
