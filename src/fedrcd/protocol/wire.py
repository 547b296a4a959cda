"""The wire form of questions and sums: a small header and plain arrays, the same for every statistic.

Every kind of value that may travel is a frozen dataclass, listed in `KINDS` under a versioned tag. Its fields are
walked, not known: numbers and texts go into a header, arrays beside it, bit for bit. So a new statistic travels once
it is listed, and a method never hears of it. What arrives must have exactly the fields and types of its kind; whether
the numbers make sense is for `check` of the statistic to say.

As bytes the form is canonical: equal values give equal bytes, on any machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from fedrcd.errors import FedrcdError, ProtocolError
from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.protocol.entropy_question import EntropyQuestion, MoveEntropyQuestion
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.moment_questions import ExpectationQuestion, SiteMomentsQuestion
from fedrcd.protocol.noisy_question import NoisyQuestion
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Basis
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.added_noise import Losses
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.directions import Whitening
from fedrcd.statistics.entropy_sums import EntropySums
from fedrcd.statistics.exact_sums import Clipped, ExactSums
from fedrcd.statistics.expectation import ExpectedMoments, Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.grouped_sums import GroupedSums
from fedrcd.statistics.noisy_sums import NoisySums
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.residual_sums import ResidualSums
from fedrcd.statistics.site_moments import SiteMoments
from fedrcd.statistics.tensor_sums import TensorSums

KINDS: dict[str, type[Any]] = {
    "frame/1": Frame,
    "holding/1": Holding,
    "layout/1": Layout,
    "gaussian/1": Gaussian,
    "basis/1": Basis,
    "pair-question/1": PairQuestion,
    "tensor-question/1": TensorQuestion,
    "entropy-question/2": EntropyQuestion,
    "move-entropy-question/1": MoveEntropyQuestion,
    "expectation-question/1": ExpectationQuestion,
    "site-moments-question/1": SiteMomentsQuestion,
    "grouped-question/1": GroupedQuestion,
    "residual-question/1": ResidualQuestion,
    "whitening/1": Whitening,
    "direction-question/3": DirectionQuestion,
    "direction-tensor-question/3": DirectionTensorQuestion,
    "losses/1": Losses,
    "noisy-question/1": NoisyQuestion,
    "grid/1": Grid,
    "clipped/1": Clipped,
    "exact-sums/1": ExactSums,
    "pair-sums/1": PairSums,
    "tensor-sums/1": TensorSums,
    "entropy-sums/1": EntropySums,
    "noisy-sums/1": NoisySums,
    "expected-moments/1": ExpectedMoments,
    "site-moments/1": SiteMoments,
    "grouped-sums/1": GroupedSums,
    "residual-sums/1": ResidualSums,
}
"""What may travel, by its tag; a change of fields or meaning needs a new number. Layers above enter their own kinds."""

MAGIC = b"fedrcd-wire/1\n"
DTYPES: dict[str, np.dtype[Any]] = {
    "i8": np.dtype("<i8"),
    "i1": np.dtype("i1"),
    "f8": np.dtype("<f8"),
    "b1": np.dtype("?"),
}
"""Types of numbers that may travel, kept to the last bit; whole numbers that fit travel as one byte."""

LONGEST_HEADER = 2**24
"""Characters of a header: whoever reads it needs some twenty times as much memory."""

MOST_AXES = 4
"""Axes of an array that may travel."""

MOST_NUMBERS = 2**48
"""Along one of them."""

DEEPEST = 32
"""How deep what arrives may be nested; nothing that is sent comes near."""

T = TypeVar("T")
Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Packet:
    """A value taken apart: a header that JSON can hold, and the arrays it refers to by number."""

    header: Any
    arrays: tuple[Array, ...]


def pack(value: Any) -> Packet:
    """Take a value of a listed kind apart."""
    arrays: list[Array] = []
    return Packet(_taken_apart(value, arrays), tuple(arrays))


def unpack(packet: Packet, wanted: type[T] | tuple[type[T], ...]) -> T:
    """The value a packet holds; `ProtocolError` unless it is of a wanted kind and has the right fields."""
    value = _put_together(packet.header, packet.arrays)
    if not isinstance(value, wanted):
        raise ProtocolError(f"an unexpected kind of message arrived: {_tag(type(value)) or 'a bare value'}")
    return value


def read_header(text: str | bytes) -> Any:
    """The header in a text from elsewhere; `ProtocolError` if it is too long, too deep, or no JSON."""
    if len(text) > LONGEST_HEADER:
        raise ProtocolError("the header of the message is too long")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError("the header of the message cannot be read") from None


def to_bytes(value: Any) -> bytes:
    """The canonical bytes of a value of a listed kind."""
    text, arrays = _form(value)
    bodies = [np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays]
    return b"".join([MAGIC, len(text).to_bytes(4, "little"), text, *bodies])


def size_of(value: Any) -> int:
    """How many bytes `to_bytes` gives, without making them; sums of a kind that is not listed count 8 a number."""
    if _tag(type(value)) is None:
        return 8 * int(value.numbers)
    text, arrays = _form(value)
    return len(MAGIC) + 4 + len(text) + sum(array.nbytes for array in arrays)


def most_bytes(value: Any) -> int:
    """How many bytes a value of these shapes takes at most, whatever its numbers."""
    text, arrays = _form(value, wide=True)
    return len(MAGIC) + 4 + len(text) + sum(array.nbytes for array in arrays)


def _form(value: Any, *, wide: bool = False) -> tuple[bytes, list[Array]]:
    """The header of a value as text, and its arrays as they travel, or as wide as they can be."""
    packet = pack(value)
    arrays = list(packet.arrays) if wide else [narrow(array) for array in packet.arrays]
    shapes = [[_dtype_name(array.dtype), list(array.shape)] for array in arrays]
    text = json.dumps([packet.header, shapes], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode(), arrays


def digest_of(value: Any) -> str:
    """A short digest of a value of the wire form; empty for None."""
    return "" if value is None else hashlib.sha256(to_bytes(value)).hexdigest()[:32]


def from_bytes(data: bytes, wanted: type[T] | tuple[type[T], ...]) -> T:
    """The value that `to_bytes` gave these bytes for."""
    if not data.startswith(MAGIC):
        raise ProtocolError("this is not a message of fedrcd, or of a version that is not known here")
    start = len(MAGIC) + 4
    length = int.from_bytes(data[len(MAGIC) : start], "little")
    if length > len(data):
        raise ProtocolError("the message is cut short")
    described = read_header(data[start : start + length])
    try:
        header, shapes = described
        places = [(DTYPES[name], tuple(int(n) for n in shape)) for name, shape in shapes]
    except (ValueError, TypeError, KeyError, OverflowError):
        raise ProtocolError("the header of the message cannot be read") from None
    arrays, at = [], start + length
    for dtype, shape in places:
        size = size_in_bytes(dtype, shape)
        if at + size > len(data):
            raise ProtocolError("the message is cut short")
        arrays.append(array_in(memoryview(data)[at : at + size], dtype, shape))
        at += size
    if at != len(data):
        raise ProtocolError("the message is longer than its header says")
    return unpack(Packet(header, tuple(arrays)), wanted)


def size_in_bytes(dtype: np.dtype[Any], shape: Sequence[int]) -> int:
    """Bytes of an array of a shape, which may come from anywhere."""
    if len(shape) > MOST_AXES or not all(type(n) is int and 0 <= n < MOST_NUMBERS for n in shape):
        raise ProtocolError("an array of the message has a shape that no array here has")
    return math.prod(shape) * dtype.itemsize


def array_in(data: bytes | memoryview, dtype: np.dtype[Any], shape: Sequence[int], *, columns: bool = False) -> Array:
    """The array of a shape in just as many bytes; `columns` says whether they hold one column after the other."""
    if size_in_bytes(dtype, shape) != len(data):
        raise ProtocolError("an array of the message is not as long as its shape says")
    return widened(np.frombuffer(data, dtype).reshape(shape, order="F" if columns else "C"))


def narrow(array: Array) -> Array:
    """Whole numbers in one byte each, if all fit."""
    if array.dtype.kind != "i" or not -128 <= array.min(initial=0) <= array.max(initial=0) < 128:
        return array
    return array.astype(np.int8)


def widened(array: Array) -> Array:
    """Whole numbers as they are worked with."""
    return array.astype(np.int64) if array.dtype.kind == "i" else array


def _tag(kind: type[Any]) -> str | None:
    tag = _tags.get(kind)
    if tag is None or KINDS.get(tag) is not kind:  # layers above enter theirs, and what is taken out travels no more
        tag = next((one for one, known in KINDS.items() if known is kind), None)
        if tag is not None:
            _tags[kind] = tag
    return tag


_tags: dict[type[Any], str] = {}


def _dtype_name(dtype: np.dtype[Any]) -> str:
    if dtype not in _DTYPE_NAMES:
        raise TypeError(f"arrays of {dtype} do not travel")
    return _DTYPE_NAMES[dtype]


_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def _taken_apart(value: Any, arrays: list[Array]) -> Any:
    """The header of a value; its arrays are appended."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, np.ndarray):
        _dtype_name(value.dtype)
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, tuple):
        return [_taken_apart(item, arrays) for item in value]
    tag = _tag(type(value))
    if tag is not None:
        named = _hints(type(value))  # type: ignore[arg-type]  # a class is hashable
        return {"kind": tag, "fields": {name: _taken_apart(getattr(value, name), arrays) for name in named}}
    if isinstance(value, Mapping):
        return {"map": [[_taken_apart(key, arrays), _taken_apart(item, arrays)] for key, item in value.items()]}
    raise TypeError(f"a {type(value).__name__} does not travel")


def _put_together(header: Any, arrays: Sequence[Array], depth: int = 0) -> Any:
    """The value of a header."""
    if header is None or isinstance(header, bool | str):
        return header
    if isinstance(header, int):
        return _whole(header)
    if depth > DEEPEST or not isinstance(header, list | dict):
        raise ProtocolError("the header of the message cannot be read")
    if isinstance(header, list):
        return tuple(_put_together(item, arrays, depth + 1) for item in header)
    try:
        if header.keys() == {"array"}:
            return arrays[header["array"]]
        if header.keys() == {"float"}:
            return float.fromhex(header["float"])
        if header.keys() == {"map"}:
            return {
                _put_together(key, arrays, depth + 1): _put_together(item, arrays, depth + 1)
                for key, item in header["map"]
            }
    except (ValueError, TypeError, IndexError, OverflowError):
        raise ProtocolError("the header of the message cannot be read") from None
    if header.keys() == {"kind", "fields"} and isinstance(header["fields"], dict):
        return _value_of_kind(header["kind"], header["fields"], arrays, depth + 1)
    raise ProtocolError("the header of the message cannot be read")


def _whole(number: int) -> int:
    """A whole number of 64 bits: Python would take any."""
    if not -(2**63) <= number < 2**63:
        raise ProtocolError("a number in the header of the message is too large")
    return number


def _value_of_kind(tag: Any, parts: dict[str, Any], arrays: Sequence[Array], depth: int) -> Any:
    """A dataclass from its fields, each of the type that is declared."""
    kind = KINDS.get(tag) if isinstance(tag, str) else None
    if kind is None:
        raise ProtocolError(f"a kind of message arrived that is not known here: {str(tag)[:40]!r}; update fedrcd")
    hints = _hints(kind)  # type: ignore[arg-type]  # a class is hashable
    if parts.keys() != hints.keys():
        raise ProtocolError(f"a message of kind {tag} has wrong fields")
    values = {name: _put_together(part, arrays, depth) for name, part in parts.items()}
    for name, value in values.items():
        if not _fits(value, hints[name]):
            raise ProtocolError(f"a message of kind {tag} has a wrong {name!r}")
    try:
        return kind(**values)
    except FedrcdError as problem:
        raise ProtocolError(f"a message of kind {tag} is wrong: {problem}") from None
    except (ValueError, TypeError, IndexError, KeyError, ArithmeticError):  # arrays of shapes that nobody expects
        raise ProtocolError(f"a message of kind {tag} makes no sense") from None


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """Declared types of the fields of a dataclass."""
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; of arrays, whether they hold such numbers."""
    if type(value) is hint:
        return True
    origin, args = _read(hint)
    if origin in {Union, types.UnionType}:
        return any(_fits(value, arg) for arg in args)
    if origin is np.ndarray or origin is npt.NDArray:  # which of the two depends on the version of numpy
        return isinstance(value, np.ndarray) and value.dtype.kind in _number_kinds(args)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if args[-1] is Ellipsis:
            return all(_fits(item, args[0]) for item in value)
        return len(value) == len(args) and all(map(_fits, value, args))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, dict) and all(_fits(k, args[0]) and _fits(v, args[1]) for k, v in value.items())
    if hint in {int, float}:
        return type(value) is hint  # True is not a number here
    return isinstance(value, hint)


@cache
def _read(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Of what a declared type is made."""
    return get_origin(hint), get_args(hint)


def _number_kinds(args: Sequence[Any]) -> str:
    """The kinds of numbers that an array of a declared type may hold: whole ones do for others."""
    [number] = get_args(args[-1]) if get_args(args[-1]) else args[-1:]
    return "fi" if number is np.float64 else np.dtype(number).kind
