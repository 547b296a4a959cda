"""Packets as records of Flower: the header as text, arrays as arrays; small whole numbers take a byte each."""

from __future__ import annotations

import json

from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedrcd.errors import ProtocolError
from fedrcd.protocol.wire import Packet, narrow, widened

HEADER, ARRAYS, TEXT = "fedrcd", "arrays", "header"
LONGEST = 2**26
"""Characters of a header."""


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
    if not isinstance(text, str) or len(text) > LONGEST or set(arrays) != {str(k) for k in range(len(arrays))}:
        raise ProtocolError("the message does not have the records of fedrcd")
    try:
        return Packet(json.loads(text), tuple(widened(arrays[str(k)].numpy()) for k in range(len(arrays))))
    except (ValueError, TypeError, KeyError, EOFError):
        raise ProtocolError("the message cannot be read") from None
