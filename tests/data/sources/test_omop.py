"""The query of docs/howto/omop.md, over a small database."""

import re
from pathlib import Path

import pytest

import fedrcd
from fedrcd.data.open_tables import open_tables
from fedrcd.data.sources.address import source_at

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "omop.md"
QUERY = re.search(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
TABLES = (
    "create table person as select i as person_id, 1950 + i % 40 as year_of_birth from generate_series(1, 50) as g(i)",
    "create table visit_occurrence as select i as person_id, date '2023-06-01' as visit_start_date "
    "from generate_series(1, 50) as g(i)",
    "create table measurement as select i * 10 + k as measurement_id, i as person_id, c.concept as "
    "measurement_concept_id, c.unit as unit_concept_id, date '2023-05-01' - k as measurement_date, "
    "cast(i * c.concept % 211 + k as double precision) as value_as_number "
    "from generate_series(1, 50) as g(i), generate_series(0, 1) as h(k), "
    "(values (3004249, 8876), (3038553, 9531), (3004501, 8840), (3016723, 8840)) as c(concept, unit)",
)


def expected(i, concept):
    return float(i * concept % 211)


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_the_query_gives_a_row_for_each_person(kind, tmp_path, request):
    if kind == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not here: pip install 'fedrcd[duckdb]'")
        address = f"duckdb:{tmp_path / 'omop.db'}"
        with duckdb.connect(str(tmp_path / "omop.db")) as connection:
            for statement in TABLES:
                connection.execute(statement.replace("- k as", "- cast(k as integer) as"))
    else:
        address = request.getfixturevalue("server")
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            for statement in TABLES:
                cursor.execute(statement)
            connection.commit()
    (table,) = open_tables(fedrcd.Table(source_at(address, QUERY), site="north", id="id"), "rows")
    assert table.columns == ("age", "systolic", "bmi", "glucose", "creatinine")
    assert list(table.ids) == [str(i) for i in range(1, 51)]
    assert table.values[6].tolist() == [2023.0 - 1957, *(expected(7, c) for c in (3004249, 3038553, 3004501, 3016723))]
