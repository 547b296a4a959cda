"""Packets of messages that are no questions: each holds one value of a listed kind, and nothing else."""

from __future__ import annotations

from typing import Any, TypeVar

from fedrcd.errors import ProtocolError
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import VERSION
from fedrcd.protocol.wire import Packet, pack, unpack

M = TypeVar("M")

MESSAGE = "message"
"""Key of a packet's header that holds one of these, where a question has its own."""


def pack_message(message: Any) -> Packet:
    """The packet of a message."""
    packed = pack(message)
    return Packet({"fedrcd": VERSION, MESSAGE: packed.header}, packed.arrays)


def is_message(packet: Packet) -> bool:
    """Whether a packet holds one of these messages."""
    return isinstance(packet.header, dict) and MESSAGE in packet.header


def unpack_message(packet: Packet, wanted: type[M] | tuple[type[M], ...]) -> M:
    """The message in a packet; `ProtocolError` unless it is of a wanted kind."""
    header = packet.header
    if not isinstance(header, dict) or set(header) != {"fedrcd", MESSAGE} or header["fedrcd"] != VERSION:
        raise ProtocolError(f"this is not a message of {VERSION}")
    message = unpack(Packet(header[MESSAGE], packet.arrays), wanted)
    code = getattr(message, "refusal", None)
    if code is not None and code not in set(Refusal):
        raise ProtocolError("the reply refuses for a reason that is not known here; update fedrcd")
    return message
