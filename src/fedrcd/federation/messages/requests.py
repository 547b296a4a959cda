"""What coordinator and site say to each other: a question with its circumstances, and a site's reply.

Both are packets of the wire form: a header that JSON can hold, and arrays beside it. Nothing else travels.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from fedrcd.data.agreed import Agreed
from fedrcd.data.federation import Federation, read_federation
from fedrcd.errors import FileError, ProtocolError
from fedrcd.federation.messages.printable import is_name
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.protocol.in_process import WITHIN, Within
from fedrcd.protocol.questions import Question
from fedrcd.protocol.wire import KINDS, Array, Packet, pack, to_bytes, unpack
from fedrcd.statistics.coverage import Layout

VERSION = "fedrcd-federation/1"

MOST_ROUNDS = 2**31

QUESTIONS = tuple(kind for tag, kind in KINDS.items() if tag.split("/")[0].endswith("-question"))
"""Kinds of questions that may travel."""

SUMS = tuple(kind for tag, kind in KINDS.items() if tag.split("/")[0].endswith(("-sums", "-moments")))
"""Kinds of answers that may travel."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One question to one site.

    Parameters
    ----------
    run : str
        The conversation it belongs to; rounds of another one have nothing to do with it.
    round : int
        From 1; for people.
    federation : str
        Digest of the coordinator's federation file.
    site : str
        Who is asked.
    cohort : tuple of str
        All sites that are asked, in the order of the federation: it settles who answers for shared rows.
    question : Question
        What is asked.
    within : {"none", "centre", "standardise"}
        Whether sites express their rows by means, or means and standard deviations, of their own before they sum them.
    """

    run: str
    round: int
    federation: str
    site: str
    cohort: tuple[str, ...]
    question: Question[Any]
    within: Within = "none"

    @property
    def digest(self) -> str:
        """What identifies the question among these sites; the same question asked again has the same."""
        return question_digest(self.question, self.cohort, self.within)


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """A site's answer to one request: sums per block of rows, in its order of blocks, or a refusal.

    `version` changes when the site's rows change and tells nothing else about them. A block that has nothing to say to
    the question has no sums. `log_head` is how far the site's log goes now.
    """

    run: str
    digest: str
    site: str
    version: str = ""
    blocks: tuple[tuple[str, Any], ...] = ()
    refusal: Refusal | None = None
    log_head: str = ""


def question_digest(question: Question[Any], cohort: Sequence[str], within: Within = "none") -> str:
    """Digest of a question, of the sites that are asked, and of how they express their rows."""
    state = hashlib.sha256(to_bytes(question))
    state.update("\0".join(cohort).encode())
    if within != "none":
        state.update(f"\0\0{within}".encode())
    return state.hexdigest()


def federation_digest(federation: Federation) -> str:
    """Digest of everything that a federation file says."""
    frame = [(name, one.centre.hex(), one.scale.hex(), one.unit) for name, one in sorted(federation.frame.items())]
    said = (federation.variables, federation.sites, federation.blocks, frame, federation.id_column)
    more: tuple[object, ...] = ()
    if (federation.unit, federation.trial) != ("row", False):
        more = (federation.unit, federation.trial)
    if federation.colluding != 1:
        more = (*more, "colluding", federation.colluding)
    if federation.development_keys:
        more = (*more, "development keys")
    if federation.agreed != Agreed():
        more = (*more, "agreed", tuple(federation.agreed.lines()))
    if federation.lags:
        how = (federation.time_column, federation.subject_column, federation.step.hex())
        more = (*more, "lags", federation.lags, *how)
    return hashlib.sha256(repr((*said, federation.block_column, *more)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a federation file says, its digest, and the layouts of its cohorts, each made once."""

    federation: Federation
    digest: str
    _layouts: dict[tuple[str, ...], Layout | None] = field(default_factory=dict)

    def layout(self, cohort: tuple[str, ...]) -> Layout | None:
        """Who holds what among some of the sites, as `cohort_layout`."""
        if cohort not in self._layouts:
            self._layouts[cohort] = cohort_layout(self.federation, cohort)
        return self._layouts[cohort]


def read_agreement(path: str | os.PathLike[str]) -> Agreement:
    """What a federation file says; a file that did not change is not read again."""
    try:
        stat = os.stat(path)
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None
    return _agreement(os.fspath(path), stat.st_mtime_ns, stat.st_size, stat.st_ino)


@lru_cache(maxsize=4)
def _agreement(path: str, *_: int) -> Agreement:
    federation = read_federation(path)
    return Agreement(federation, federation_digest(federation))


def cohort_layout(federation: Federation, cohort: Sequence[str]) -> Layout | None:
    """Who holds what among some of the sites; None where all hold all variables of rows of their own."""
    members = frozenset(cohort)
    holdings = tuple(holding for holding in federation.layout().holdings if holding.site in members)
    alone = len({holding.block for holding in holdings}) == len(holdings)
    if alone and all(set(holding.columns) == set(federation.variables) for holding in holdings):
        return None
    return Layout(federation.variables, holdings)


def pack_request(request: Request) -> Packet:
    """The packet of a request."""
    asked = pack(request.question)
    said: dict[str, Any] = {name: getattr(request, name) for name in ("run", "round", "federation", "site")}
    said |= {"within": request.within}
    return Packet({"fedrcd": VERSION, **said, "cohort": list(request.cohort), "question": asked.header}, asked.arrays)


def unpack_request(packet: Packet) -> Request:
    """The request in a packet; `ProtocolError` unless it has exactly the right form."""
    said = {"run": str, "round": int, "federation": str, "site": str, "cohort": list, "within": str}
    header = _header(packet, said)
    if not all(isinstance(name, str) and is_name(name) for name in header["cohort"]):
        raise ProtocolError("the message has a wrong 'cohort'")
    if not 0 <= header["round"] < MOST_ROUNDS:
        raise ProtocolError("the message has a wrong 'round'")
    if header["within"] not in WITHIN:
        raise ProtocolError("the message has a wrong 'within'")
    question: Question[Any] = unpack(Packet(packet.header.get("question"), packet.arrays), QUESTIONS)
    return Request(
        run=header["run"],
        round=header["round"],
        federation=header["federation"],
        site=header["site"],
        cohort=tuple(header["cohort"]),
        question=question,
        within=header["within"],
    )


def pack_reply(reply: Reply) -> Packet:
    """The packet of a reply."""
    said: dict[str, Any] = {name: getattr(reply, name) for name in ("run", "digest", "site", "version", "log_head")}
    arrays: list[Array] = []
    blocks = []
    for label, sums in reply.blocks:
        packed = pack(sums) if sums is not None else None
        blocks.append([label, packed.header if packed else None, len(packed.arrays) if packed else 0])
        arrays += packed.arrays if packed else ()
    refusal = reply.refusal.value if reply.refusal else None
    return Packet({"fedrcd": VERSION, **said, "blocks": blocks, "refusal": refusal}, tuple(arrays))


def unpack_reply(packet: Packet) -> Reply:
    """The reply in a packet; `ProtocolError` unless it has exactly the right form."""
    said = {"run": str, "digest": str, "site": str, "version": str, "log_head": str, "blocks": list}
    header = _header(packet, said)
    refusal = packet.header.get("refusal")
    if refusal is not None and not (isinstance(refusal, str) and refusal in set(Refusal)):
        raise ProtocolError("the reply refuses for a reason that is not known here; update fedrcd")
    blocks, at = [], 0
    for entry in header["blocks"]:
        if not _is_block(entry):
            raise ProtocolError("the message has wrong 'blocks'")
        label, described, count = entry
        own = packet.arrays[at : at + count]
        at += count
        blocks.append((label, None if described is None else unpack(Packet(described, own), SUMS)))
    if at != len(packet.arrays):
        raise ProtocolError("the message holds arrays that its header does not know")
    return Reply(
        run=header["run"],
        digest=header["digest"],
        site=header["site"],
        version=header["version"],
        blocks=tuple(blocks),
        log_head=header["log_head"],
        refusal=None if refusal is None else Refusal(refusal),
    )


def _is_block(entry: Any) -> bool:
    """Whether an entry is a label, a header or nothing, and a number of arrays."""
    if not isinstance(entry, list) or len(entry) != 3:
        return False
    return isinstance(entry[0], str) and type(entry[2]) is int and entry[2] >= 0


def _header(packet: Packet, wanted: Mapping[str, type]) -> dict[str, Any]:
    """The header of a packet, with the wanted entries of the wanted types."""
    header = packet.header
    if not isinstance(header, dict) or header.get("fedrcd") != VERSION:
        raise ProtocolError(f"this is not a message of {VERSION}")
    for name, kind in wanted.items():
        if type(header.get(name)) is not kind:
            raise ProtocolError(f"the message has a wrong {name!r}")
        if kind is str and name != "version" and not is_name(header[name]):
            raise ProtocolError(f"the message has a wrong {name!r}")
    return header
