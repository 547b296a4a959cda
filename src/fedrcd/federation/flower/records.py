"""Packets as records of Flower: the header as text, arrays as arrays; small whole numbers take a byte each.

What arrives may be anything. Nothing is made of it but arrays of listed types, as long as the bytes that came.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import numpy as np
import numpy.lib.format as npy
import numpy.typing as npt
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedrcd.errors import ProtocolError
from fedrcd.protocol.wire import DTYPES, Packet, array_in, narrow, read_header

HEADER, ARRAYS, TEXT = "fedrcd", "arrays", "header"
FORM = "numpy.ndarray"
"""How Flower calls arrays in NumPy's own form."""


def to_records(packet: Packet) -> RecordDict:
    """The records of a packet."""
    arrays = {str(number): Array(narrow(array)) for number, array in enumerate(packet.arrays)}
    text = json.dumps(packet.header, separators=(",", ":"), ensure_ascii=True)
    return RecordDict({HEADER: ConfigRecord({TEXT: text}), ARRAYS: ArrayRecord(arrays)})


def from_records(records: RecordDict) -> Packet:
    """The packet in records; `ProtocolError` unless they have its form."""
    if set(records.keys()) != {HEADER, ARRAYS}:
        raise ProtocolError("the message does not have the records of fedrcd")
    header, arrays = records[HEADER], records[ARRAYS]
    if not isinstance(header, ConfigRecord) or not isinstance(arrays, ArrayRecord):
        raise ProtocolError("the message does not have the records of fedrcd")
    text = header.get(TEXT)
    if not isinstance(text, str) or set(arrays) != {str(k) for k in range(len(arrays))}:
        raise ProtocolError("the message does not have the records of fedrcd")
    return Packet(read_header(text), tuple(_array(arrays[str(k)]) for k in range(len(arrays))))


def _array(sent: Array) -> npt.NDArray[Any]:
    """The array in its bytes; what is said of it beside them is not believed."""
    if sent.stype != FORM:
        raise ProtocolError("an array of the message is not in the form of NumPy")
    stream = BytesIO(sent.data)
    try:
        version = npy.read_magic(stream)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, columns, dtype = read(stream)
    except Exception:  # NumPy evaluates the text of the header, in which anything may go wrong
        raise ProtocolError("an array of the message cannot be read") from None
    if not isinstance(dtype, np.dtype) or dtype not in DTYPES.values():
        raise ProtocolError("an array of the message holds what does not travel")
    return array_in(memoryview(sent.data)[stream.tell() :], dtype, shape, columns=columns)
