import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data import Table, align_tables
from fedrcd.errors import DataError

NAMES = ("a", "b", "c", "d")
X = np.arange(12.0).reshape(3, 4)


def table(names: tuple[str, ...], source: str) -> Table:
    return Table(X[:, : len(names)], columns=names, source=source)


@given(st.permutations(NAMES))
def test_columns_follow_their_names(names):
    shuffled = Table(
        np.ascontiguousarray(X[:, [NAMES.index(name) for name in names]]), columns=tuple(names), source="b.csv"
    )
    first, second = align_tables([Table(X, columns=NAMES, source="a.csv"), shuffled])
    assert first.columns == second.columns == NAMES
    np.testing.assert_array_equal(second.values, X)
    assert second.values.flags.c_contiguous
    assert second.source == "b.csv"


def test_tables_already_in_order_are_not_copied():
    tables = [table(NAMES, "a.csv"), table(NAMES, "b.csv")]
    aligned = align_tables(tables)
    assert all(after is before for after, before in zip(aligned, tables, strict=True))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a", "b", "c"), "b.csv lacks column 'd', compared with a.csv"),
        ((*NAMES, "e"), "b.csv has column 'e' in addition, compared with a.csv"),
        (("a", "b", "C", "D"), "b.csv lacks columns 'c', 'd' and has columns 'C', 'D' in addition, compared"),
    ],
)
def test_other_columns_are_refused_by_name(names, message):
    with pytest.raises(DataError) as refusal:
        align_tables([table(NAMES, "a.csv"), Table(np.zeros((3, len(names))), columns=names, source="b.csv")])
    assert message in str(refusal.value)


def test_no_table_is_refused():
    with pytest.raises(DataError, match="at least one"):
        align_tables([])
