import gzip
import os
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from fedrcd.data import Table, as_table, read_table, write_table
from fedrcd.data.sources.address import ENDINGS
from fedrcd.errors import DataError, FileError

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize("ending", ENDINGS)
@given(values=st.lists(finite, min_size=2, max_size=5, unique=True), scale=st.floats(1e-3, 1e3))
def test_writing_then_reading_gives_the_same_bits(folder, ending, values, scale):
    X = np.column_stack([values, np.arange(len(values)) * scale + 0.1])
    table = Table(X, columns=("a, b", 'é"c'), source="t")
    path = folder / f"t{ending}"
    write_table(path, table)
    back = read_table(path)
    np.testing.assert_array_equal(back.values, X)
    assert back.columns == table.columns
    assert back.source == path.name


def written(tmp_path, name: str, content: str | bytes):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_numbers_names_and_truth_values_are_understood(tmp_path):
    path = written(tmp_path, "a.csv", "\ufeffage, ok ,flag\r\n1, 2.5,true\r\n\r\n-3e2,4,false\r\n")
    table = read_table(path)
    assert table.columns == ("age", " ok ", "flag")
    np.testing.assert_array_equal(table.values, [[1, 2.5, 1], [-300, 4, 0]])


def test_a_path_may_be_a_string_or_go_through_as_table(tmp_path):
    path = written(tmp_path, "a.tsv", "u\tv\n1\t2\n3\t5\n")
    assert as_table(str(path)).columns == as_table(path).columns == ("u", "v")


def test_capital_endings_are_the_same_endings(tmp_path):
    assert read_table(written(tmp_path, "A.CSV", "u,v\n1,2\n3,5\n")).source == "A.CSV"


def test_row_labels_that_pandas_wrote_are_not_a_variable(tmp_path):
    frame = pd.DataFrame({"u": [1.0, 2.0], "v": [3.0, 5.0]}, index=pd.Index([11, 12], name="patient"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").columns == ("u", "v")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3 has 1 fields and the header 2; check quotes and separators, which must be ','"),
        ("a;b\n1,5;2\n3,2;4\n", "line 2 has 2 fields and the header 1"),
        ('a,b\n1,2\n"3,4\n5,6\n', "line 4 has 1 fields and the header 2"),
        ("a;b\n1;2\n3;4\n", "its header has no ','; columns must be separated by it"),
        ("", "it is empty"),
        ("\n\n", "it is empty"),
        ("a,b\n1,é\n".encode("latin-1"), "it is not UTF-8"),
        ("a,é\n1,2\n".encode("latin-1"), "it is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "it is not UTF-8"),
    ],
)
def test_a_malformed_text_file_is_refused_in_one_line(tmp_path, content, message):
    with pytest.raises(FileError) as refusal:
        read_table(written(tmp_path, "a.csv", content))
    assert "a.csv" in str(refusal.value)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.parquet"])
@pytest.mark.parametrize("content", [b"u,v\n1,2\n", gzip.compress(b"u,v\n1,2\n" * 9999)[:-20]])
def test_a_damaged_binary_file_is_refused(tmp_path, name, content):
    with pytest.raises(FileError, match="damaged, or not what its ending says"):
        read_table(written(tmp_path, name, content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n", "a.csv has no rows"),
        ("a\n1\n2\n", "a.csv has 1 column; need at least 2 variables"),
        ("a,a\n1,2\n3,5\n", "a.csv repeats column 'a'"),
        (",a\n0,2\n1,5\n", "column 1 of a.csv has no name"),
        ("a,b\n1,\n3,5\n", "missing values in column 'b' of a.csv"),
        ("a,b\n1,NA\n3,5\n", "missing values in column 'b' of a.csv"),
        ("a,b,c\n1,,2\n3,,5\n", "missing values in column 'b' of a.csv"),
        ("a,b\n1,inf\n3,5\n", "infinite values in column 'b' of a.csv"),
        ("a,b\n1,secret\n3,5\n", "column 'b' of a.csv does not hold real numbers"),
        ("a,b\n1,2020-01-01\n3,2020-01-02\n", "column 'b' of a.csv does not hold real numbers"),
    ],
)
def test_an_unusable_table_in_a_good_file_is_refused_without_its_values(tmp_path, content, message):
    with pytest.raises(DataError) as refusal:
        read_table(written(tmp_path, "a.csv", content))
    assert message in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_repeated_columns_in_parquet_are_refused(tmp_path):
    columns = [pa.array([1.0, 2.0]), pa.array([1.0, 3.0])]
    parquet.write_table(pa.Table.from_arrays(columns, names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="repeats column 'a'"):
        read_table(tmp_path / "a.parquet")


def test_a_missing_file_brings_the_nearest_name(tmp_path):
    written(tmp_path, "hospital_a.csv", "u,v\n1,2\n3,5\n")
    with pytest.raises(FileError, match=r"there is no file .*hospital_aa\.csv; did you mean 'hospital_a\.csv'\?"):
        read_table(tmp_path / "hospital_aa.csv")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        read_table(tmp_path / "nowhere" / "a.csv")


def test_a_folder_without_tables_is_refused(tmp_path):
    written(tmp_path, "notes.txt", "")
    with pytest.raises(FileError, match="holds no file that ends in"):
        read_table(tmp_path)


def test_an_unknown_ending_brings_the_known_ones(tmp_path):
    path = written(tmp_path, "a.xlsx", "")
    with pytest.raises(FileError, match=r"a\.xlsx has an unknown ending; known are \.csv, \.csv\.gz"):
        read_table(path)
    with pytest.raises(FileError, match="unknown ending"):
        write_table(path, Table(np.eye(2), columns=("a", "b"), source="t"))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_file_that_cannot_be_written_is_refused(tmp_path, name):
    with pytest.raises(FileError, match=r"cannot write .*: no such file or directory"):
        write_table(tmp_path / "nowhere" / name, Table(np.eye(2), columns=("a", "b"), source="t"))


@contextmanager
def bound_by_permissions():
    """A while as a user whom permissions bind; the superuser becomes nobody for it."""
    superuser = os.geteuid() == 0
    if superuser:
        os.seteuid(65534)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_file_that_may_not_be_read_is_refused(name):
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = written(Path(folder), name, "u,v\n1,2\n")
        path.chmod(0)
        for named in (path, Path(folder)):
            with bound_by_permissions(), pytest.raises(FileError, match=rf"cannot read .*{name}: permission denied"):
                read_table(named)


def test_a_file_without_a_header_is_refused_without_showing_its_values(tmp_path):
    (tmp_path / "t.csv").write_text("0.3201,-0.29\n1.5,2.5\n0.1,0.2\n")
    with pytest.raises(FileError, match="looks like data") as refusal:
        read_table(tmp_path / "t.csv")
    assert "0.3201" not in str(refusal.value)


def test_columns_that_are_numbered_are_a_header(tmp_path):
    (tmp_path / "t.csv").write_text("0,1\n1.5,2.5\n0.1,0.2\n")
    assert read_table(tmp_path / "t.csv").columns == ("0", "1")
