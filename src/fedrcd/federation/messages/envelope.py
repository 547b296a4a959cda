"""Packets of messages that are no questions: each holds one value of a listed kind, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fedrcd.errors import ProtocolError
from fedrcd.federation.messages.printable import is_name
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import VERSION, unpack_reply
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
    if not all(
        is_name(getattr(message, name, "")) for name in ("run", "federation", "site", "digest", "ledger", "log_head")
    ):
        raise ProtocolError("the message has a name that is none")
    code = getattr(message, "refusal", None)
    if code is not None and code not in set(Refusal):
        raise ProtocolError("the reply refuses for a reason that is not known here; update fedrcd")
    return message


def unpack_answer(packet: Packet, wanted: Callable[..., M]) -> M:
    """What a site answers to a message: of the wanted kind, or a bare refusal of a site that came to nothing more."""
    if is_message(packet):
        answer: M = unpack_message(packet, wanted)  # type: ignore[arg-type]  # a class, called below
        return answer
    reply = unpack_reply(packet)
    if reply.refusal is None:
        raise ProtocolError("this is the answer to a question, and none was asked")
    return wanted(site=reply.site, refusal=reply.refusal.value)
