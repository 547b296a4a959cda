"""Second step of a transport over machines: is it a usable reply of this site to this question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedrcd.errors import FedrcdError, StatisticError
from fedrcd.federation.coordinator.gather import SiteLost
from fedrcd.federation.messages.requests import Reply, unpack_reply
from fedrcd.protocol.accept import require_usable
from fedrcd.protocol.questions import Question
from fedrcd.protocol.wire import Packet


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a reply must belong to: the run, the question with its digest, and which blocks every site answers for.

    `version` is the one of a site's rows that its answers so far were about, None before the first; `declared` says by
    site and block how many rows sums may be about at most.
    """

    run: str
    digest: str
    question: Question[Any]
    blocks: Mapping[str, Sequence[str]]
    version: Callable[[str], str | None]
    declared: Mapping[tuple[str, str], int] = field(default_factory=dict)


Accept = Callable[[Asked, str, Packet], Reply]
"""The reply of a site in a packet; raises `SiteLost` if it is none that can be used."""


def accept_reply(asked: Asked, site: str, packet: Packet) -> Reply:
    """The reply in a packet, if it is one to this question, of this site, about the same rows as before."""
    try:
        reply = unpack_reply(packet)
    except FedrcdError as problem:
        raise SiteLost(site, f"sent something that is not a reply: {problem}") from None
    if reply.site != site:
        raise SiteLost(site, "answered under another site's name; its key and its --name must belong together")
    if reply.refusal is not None:
        return reply
    if (reply.run, reply.digest) != (asked.run, asked.digest):
        raise SiteLost(site, "answered another question than it was asked")
    if tuple(label for label, _ in reply.blocks) != tuple(asked.blocks[site]):
        raise SiteLost(site, "answered for other blocks of rows than the federation says")
    before = asked.version(site)
    if before is not None and before != reply.version:
        raise SiteLost(site, "changed its rows during the run; start a new one")
    for label, sums in reply.blocks:
        if sums is not None and not asked.question.accepts(sums, (site, label)):
            raise SiteLost(site, "sent sums that are not of the kind or the size that was asked for")
        if sums is not None:
            try:
                require_usable(asked.question, sums, site)
            except StatisticError as problem:
                raise SiteLost(site, f"sent what cannot be added: {problem}") from None
            most = asked.declared.get((site, label))
            if most is not None and sums.most_rows > most:
                raise SiteLost(
                    site,
                    f"sent sums of {sums.most_rows:,} rows of block {label!r}, of which it declared at most {most:,} "
                    "before the run; start a new run if its table grew",
                )
    return reply
