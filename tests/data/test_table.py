import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data import Table, as_table, check_table
from fedrcd.errors import DataError

GOOD = np.array([[1.0, 2.0, 7.0], [2.0, 2.5, 5.0], [4.0, 1.0, 6.0]])


FLAGS = GOOD > [1.5, 1.5, 5.5]


def changed(row: int, column: int, value: float) -> np.ndarray:
    X = GOOD.copy()
    X[row, column] = value
    return X


def test_a_good_array_is_kept_without_a_copy():
    table = as_table(GOOD, "table 2")
    assert table.values is GOOD
    assert table.columns == ("x1", "x2", "x3")
    assert table.source == "table 2"


@pytest.mark.parametrize(
    "obj",
    [
        np.asfortranarray(GOOD),
        GOOD.astype(np.float32),
        (2 * GOOD).astype(np.int32),
        FLAGS,
        pd.DataFrame(GOOD),
        pd.DataFrame(2 * GOOD).astype(np.int16),
        pd.DataFrame(GOOD).astype("Float64"),
        pd.DataFrame(FLAGS).astype("boolean"),
        pd.DataFrame(FLAGS).convert_dtypes(dtype_backend="pyarrow"),
        pa.table({"a": [1, 2, 3], "b": [True, False, True], "c": pa.array([0.5, 1, 2], pa.float32())}),
    ],
)
def test_other_numbers_become_contiguous_doubles(obj):
    values = as_table(obj).values
    assert values.dtype == np.float64
    assert values.flags.c_contiguous
    expected = obj if isinstance(obj, np.ndarray) else obj.to_pandas() if isinstance(obj, pa.Table) else obj
    np.testing.assert_array_equal(values, np.asarray(expected, dtype=np.float64))


def test_a_frame_keeps_its_names_and_drops_its_index():
    frame = pd.DataFrame(GOOD, columns=["age", 7, "bmi"], index=["p", "q", "r"])
    assert as_table(frame).columns == ("age", "7", "bmi")


def test_a_table_is_checked_again_and_kept():
    table = Table(GOOD, columns=("a", "b", "c"), source="t")
    assert as_table(table) is table


def test_rows_do_not_show_when_a_table_is_printed():
    table = Table(np.array([[12345.678, 1.0], [2.0, 3.0]]), columns=("a", "b"), source="t")
    assert "12345" not in repr(table)


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (GOOD[0], "must be 2-d, rows by variables, got 1-d"),
        (GOOD[None], "must be 2-d, rows by variables, got 3-d"),
        (GOOD[:, :0], "has no columns; need at least 2 variables"),
        (GOOD[:, :1], "has 1 column; need at least 2 variables"),
        (GOOD[:0], "has no rows; need at least 2 rows"),
        (GOOD[:1], "has 1 row; need at least 2 rows"),
        (GOOD.astype(complex), "must hold real numbers, got dtype complex128"),
        (GOOD.astype(str), "must hold real numbers, got dtype str"),
        (GOOD.astype(object), "must hold real numbers, got dtype object"),
        (
            changed(1, 1, np.nan),
            "missing values in column 'x2' of t.csv; fill them or remove those rows first",
        ),
        (np.ma.masked_greater(GOOD, 6.5), "missing values in column 'x3' of t.csv"),
        (changed(2, 0, np.inf), "infinite values in column 'x1' of t.csv; remove those rows first"),
        (changed(2, 0, -np.inf), "infinite values in column 'x1' of t.csv; remove those rows first"),
        (GOOD * [1, 0, 1], "no variation in column 'x2' of t.csv; leave constant columns out"),
        (GOOD * [0, 0, 1], "no variation in columns 'x1', 'x2' of t.csv"),
        (GOOD[:, [0, 1, 0]], "columns 'x1', 'x3' of t.csv are identical; leave one out"),
        (GOOD.tolist(), "must be a DataFrame, a 2-d array, an Arrow stream or a path, got list"),
        (pd.Series([1.0, 2.0]), "got Series"),
        (pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}), "column 'b' of t.csv does not hold real numbers"),
        (pd.DataFrame({"a": [1, 2], "b": [1, "v"]}), "column 'b' of t.csv does not hold real numbers"),
        (
            pd.DataFrame({"a": [1, 2], "b": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
            "column 'b' of t.csv does not hold real numbers",
        ),
        (pd.DataFrame({"a": [1, 2], "b": [1j, 2j]}), "column 'b' of t.csv does not hold real numbers"),
        (pd.DataFrame({"a": [1, 2], "b": pd.Categorical([1, 2])}), "column 'b' of t.csv does not hold real"),
        (pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [1, 2]}), "missing values in column 'a'"),
        (pd.DataFrame(GOOD, columns=["a", "b", "a"]), "t.csv repeats column 'a'; give every column a name"),
        (pd.DataFrame(GOOD, columns=["a", " ", "c"]), "column 2 of t.csv has no name"),
        (pd.DataFrame(GOOD, columns=["a", None, "c"]), "column 2 of t.csv has no name"),
        (
            pd.DataFrame(GOOD, columns=pd.MultiIndex.from_product([["a"], ["b", "c", "d"]])),
            "column names of several levels",
        ),
        (pa.table({"a": [1, 2], "b": ["u", "v"]}), "column 'b' of t.csv does not hold real numbers"),
        (pa.table({"a": [1, None], "b": [1, 2]}), "missing values in column 'a'"),
        (Table(GOOD, columns=("a", "b"), source="t.csv"), "with a name per column"),
    ],
)
def test_an_unusable_table_is_refused_in_one_line_that_names_it(obj, message):
    with pytest.raises(DataError) as refusal:
        as_table(obj, "t.csv")
    assert message in str(refusal.value)
    assert "t.csv" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_messages_do_not_list_columns_without_end():
    with pytest.raises(DataError, match="'x05' and 35 more of table"):
        as_table(np.zeros((3, 40)))


@given(st.integers(0, 2**32 - 1), st.integers(0, 19_999))
def test_columns_that_differ_in_one_row_are_not_identical(seed, row):
    X = np.random.default_rng(seed).integers(0, 2, (20_000, 2)).astype(float)
    X[:, 1] = X[:, 0]
    X[row, 1] = 0.5
    as_table(X)


def test_identical_columns_are_found_beyond_the_first_piece():
    X = np.random.default_rng(0).integers(0, 2, (20_000, 4)).astype(float)
    X[:, 3] = X[:, 1]
    with pytest.raises(DataError, match="'x2', 'x4' of table are identical"):
        check_table(Table(X, columns=("x1", "x2", "x3", "x4"), source="table"))


def test_importing_the_package_loads_no_heavy_library():
    code = "import sys, fedrcd.data; print(sorted({'pandas', 'pyarrow', 'scipy', 'networkx'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
