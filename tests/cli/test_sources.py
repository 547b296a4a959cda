"""Bad sources at the command line: the exit code says what kind of trouble it is, and no value is in the output."""

import sys

import numpy as np
import pandas as pd
import pytest

from fedrcd.cli.main import main
from tests.contracts.doors import Place, table_of, typed

PLANTED = "876543.25"


@pytest.fixture
def folder(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=list("abc"))
    frame.to_parquet(tmp_path / "1.parquet")
    frame.assign(b=PLANTED).to_parquet(tmp_path / "2.parquet")
    for name in ("columns", "damaged"):
        (tmp_path / name).mkdir()
        frame.to_parquet(tmp_path / name / "1.parquet")
    frame.rename(columns={"b": "d"}).to_parquet(tmp_path / "columns" / "2.parquet")
    (tmp_path / "damaged" / "2.parquet").write_text(PLANTED * 100)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["{folder}"], 3),  # a type that changes half-way
        (["{folder}/nowhere"], 4),
        (["{folder}/1.parquet", "--query", "select 1"], 2),
        (["postgresql://me:" + PLANTED + "@host/db", "--query", "select 1"], 2),
        (["dask:" + PLANTED], 2),
        (["{folder}/columns"], 3),
        (["{folder}/damaged"], 4),
        (["duckdb:{folder}/no.db", "--query", "select 1"], 4),
        (["duckdb:", "--query", "select nope, '" + PLANTED + "' from '{folder}/1.parquet'"], 3),
        (["postgresql:///db?host={folder}&user=me", "--query", "select " + PLANTED], 4),
    ],
)
def test_exit_codes(folder, monkeypatch, capsys, words, code):
    monkeypatch.setattr(sys, "argv", ["fedrcd", "discover", *(word.format(folder=folder) for word in words)])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert ended.value.code == code
    *progress, last = shown.err.splitlines()
    assert last.startswith("error: ")
    assert set(progress) <= {"reading tables"}  # where that took long
    assert PLANTED not in shown.out + shown.err


def test_a_site_contributes_and_erases_rows_of_a_query(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not here: pip install 'fedrcd[duckdb]'")
    place = Place.of(tmp_path, table_of(3, 600))
    whole, rest = (place.reference("pairs", {f"r{k}" for k in range(erased)}) for erased in (0, 120))
    with duckdb.connect(str(tmp_path / "rows.db")) as connection:
        connection.execute(f"create table patients as select * from '{place.data}'")
    place.data.unlink()
    place.data = f"duckdb:{tmp_path / 'rows.db'}"
    asked = ("--query", "select * from patients order by id desc")
    assert place.contribute("pairs", *asked).left == {"pairs": whole}
    assert place.erase("pairs", *asked, "--where", "ward < 60").left == {"pairs": rest}
    done = typed("site", "editions", *place.named(), *asked)
    assert done.problem is None
    assert "edition 2, 480 rows" in done.said
