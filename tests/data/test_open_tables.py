import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fedrcd
from fedrcd.data.open_tables import open_tables
from fedrcd.data.table import Table, as_table
from fedrcd.errors import ConfigError, DataError

X = np.random.default_rng(0).exponential(size=(400, 3))
FRAME = pd.DataFrame(X, columns=["x1", "x2", "x3"])
ARROW = pa.Table.from_pandas(FRAME)

every_kind = pytest.mark.parametrize(
    "table",
    [X, FRAME, ARROW, as_table(X, "the table"), Table(X, site="a"), Table(FRAME, site="a")],
    ids=["array", "frame", "arrow", "table", "labelled array", "labelled frame"],
)


def opened(table, **settings):
    return open_tables(table, "the table", gaps=True, **settings)[0]


@every_kind
def test_columns_are_left_out_by_name(table):
    left = opened(table, drop=["x1"])
    assert left.columns == ("x2", "x3")
    assert left.values.flags.c_contiguous
    np.testing.assert_array_equal(left.values, X[:, 1:])


@every_kind
@pytest.mark.parametrize(("name", "hint"), [("xx3", "; did you mean 'x3'"), ("zzz", "$")])
def test_a_column_that_is_not_there_cannot_be_left_out(table, name, hint):
    with pytest.raises(DataError, match=f"the table has no column '{name}' to leave out{hint}"):
        opened(table, drop=[name])


@every_kind
def test_a_column_named_twice_is_left_out_once(table):
    assert opened(table, drop=["x1", "x1"]).columns == ("x2", "x3")


def test_discover_leaves_columns_of_an_array_out():
    assert fedrcd.discover(X, drop=["x2"]).names == ("x1", "x3")


def test_what_is_left_out_may_hold_anything():
    constant = np.column_stack([X, np.ones(len(X))])
    assert opened(constant, drop=["x4"]).columns == ("x1", "x2", "x3")
    mixed = FRAME.assign(note=[1, "one"] * 200)
    assert opened(mixed, drop=["note"]).columns == ("x1", "x2", "x3")
    assert opened(Table(mixed, site="a"), drop=["note"]).columns == ("x1", "x2", "x3")


def test_a_bare_string_to_leave_out_is_answered_with_what_to_write():
    frame = FRAME.set_axis(["a", "b", "c"], axis=1)
    with pytest.raises(ConfigError, match=r"drop must be a list of column names; write drop=\['ab'\]"):
        opened(frame, drop="ab")


@pytest.mark.parametrize("drop", [None, 0, [0], ["x1", None]])
def test_only_names_can_be_left_out(drop):
    with pytest.raises(ConfigError, match="drop must be a list of column names, such as"):
        opened(X, drop=drop)


@pytest.mark.parametrize("codes", [[-9], (-9.0,), np.array([-9]), pd.Series([-9]), [-9, 77], -9])
def test_codes_stand_for_missing_values(codes):
    coded = X.copy()
    coded[::7, 0] = -9
    np.testing.assert_array_equal(np.isnan(opened(coded, codes=codes).values), coded == -9)


@pytest.mark.parametrize("codes", ["-9", ["-9"], [-9, "NA"], None, [None], [True], {-9}, [[-9]]])
def test_codes_that_are_no_numbers_are_refused(codes):
    with pytest.raises(ConfigError, match=r"missing_codes must be a list of numbers, such as \[-9\], got"):
        opened(X, codes=codes)
