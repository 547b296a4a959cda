"""What a column of Arrow holds: numbers, or what else, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def is_number(kind: pa.DataType) -> bool:
    """Whether a type converts to float64; a column without any entry has the type null."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(kind) for test in tests)


def kind_in_words(kind: pa.DataType) -> str:
    """What a column holds."""
    from pyarrow import types

    if types.is_boolean(kind):
        return "true or false"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_dictionary(kind):
        return kind_in_words(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    return "dates" if types.is_temporal(kind) else "something else"
