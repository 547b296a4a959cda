"""The coordinator's part in the roll call: asks every site what a run would meet there, before anything is spent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fedrcd.data.federation import MOST_ROWS, Federation
from fedrcd.federation.coordinator.gather import Gather, SiteLost, reply_in
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.coordinator.transport import MachineTransport
from fedrcd.federation.coordinator.unlike_sites import require_alike
from fedrcd.federation.messages.envelope import pack_message
from fedrcd.federation.messages.refusals import WORDS, Refusal
from fedrcd.federation.messages.roll_call import (
    PROGRAM,
    REASONS,
    SHARES,
    DeclaredBlock,
    LeftOutReason,
    LeftOutShare,
    Plan,
    RollCallReply,
    RollCallRequest,
)
from fedrcd.protocol.wire import Packet
from fedrcd.statistics.few_levels import note_on_few_levels
from fedrcd.statistics.units import Mismatch

FAR_MORE = 10
"""Times by which a site may have more rows than the federation file says: beyond, one of the two is wrong."""

LONGEST_LABEL = 64
"""Characters of a label of an edition, and of a version."""


class Called(NamedTuple):
    """What came of a roll call: the transport, bound to what the sites declared, and what the operator should know."""

    transport: Any
    notes: tuple[str, ...]
    no_checks: SiteLost | None
    """Who would refuse the checks after the run, if they were asked for."""
    replies: Mapping[str, RollCallReply]
    """What each site said."""


@dataclass(frozen=True, slots=True)
class RollCaller:
    """Calls the roll of a cohort for one run."""

    federation: Federation
    plan: RunPlan
    transport: MachineTransport

    def held(self, method: str) -> Called:
        """What the sites said before a run of a method.

        Raises
        ------
        SiteLost
            When a site would refuse the run, first or half-way; its code says by which rule.
        SitesDiffer
            When a column of a site cannot be the quantity that was declared, and nobody has accepted that.
        """
        transport, request = self.transport, self._request(method)
        gather: Gather[RollCallReply] = Gather(
            courier=transport.courier,
            cohort=transport.cohort,
            pack=lambda site: pack_message(replace(request, site=site, log_head=self.known_head(site))),
            judge=lambda site, packet: self._read(request, site, packet),
            accepted=self._remember,
            retry_policy=transport.retry_policy,
            progress=transport.progress,
            warn=transport.warn,
            surroundings=transport.surroundings,
            heads=transport.heads,
        )
        recorded = {site: transport.answers.call(transport.run, site) for site in transport.cohort}
        replies = gather.answers(0, {site: reply for site, reply in recorded.items() if reply is not None})
        notes = self.require_alike(replies)
        for site, reply in replies.items():
            transport.answers.record_call(transport.run, site, reply)
        declared = {(site, one.label): one.rows for site, reply in replies.items() for one in reply.blocks}
        codes = [(site, Refusal(reply.checks)) for site, reply in replies.items() if reply.checks is not None]
        lost = [SiteLost(site, f"refused: {WORDS[code]}", code) for site, code in codes]
        return Called(
            replace(transport, declared=declared),
            (*notes_on(replies, self.federation), *notes),
            lost[0] if lost else None,
            replies,
        )

    def known_head(self, site: str) -> str:
        """How far the log of a site went when it was last heard."""
        return "" if self.transport.heads is None else self.transport.heads.of(site)

    def _remember(self, site: str, reply: RollCallReply) -> None:
        """Keep a reply that cannot stop the run; any other site is asked again: it may have mended its table."""
        if not any(block.unlike for block in reply.blocks):
            self.transport.answers.record_call(self.transport.run, site, reply)

    def _request(self, method: str) -> RollCallRequest:
        settings, resampling = self.plan.settings, self.plan.resampling
        plan = Plan(
            method=method,
            options=settings.method_options,
            arithmetic=settings.arithmetic,
            groups=resampling.groups if resampling else 0,
            check=self.plan.check,
            within=settings.within,
        )
        transport, told = self.transport, {"title": self.plan.title, "purpose": self.plan.purpose}
        return RollCallRequest(transport.run, transport.federation, "", transport.cohort, plan, PROGRAM, **told)

    def require_alike(self, replies: Mapping[str, RollCallReply]) -> list[str]:
        """Raise where columns of sites cannot be what was declared; notes on those that were accepted."""
        unlike = [(site, *code) for site, reply in replies.items() for block in reply.blocks for code in block.unlike]
        return require_alike(((a, b, Mismatch(code)) for a, b, code in unlike), self.plan)

    def _read(self, request: RollCallRequest, site: str, packet: Packet) -> RollCallReply:
        """The reply of a site in a packet."""
        return self.judged(request.run, request.digest, site, reply_in(site, packet, RollCallReply))

    def judged(self, run: str, digest: str, site: str, reply: RollCallReply) -> RollCallReply:
        """The reply of a site, if it is one to this roll call that can be."""
        if reply.refusal is not None:
            return reply
        if (reply.run, reply.digest) != (run, digest):
            raise SiteLost(site, "answered the roll call of another run")
        labels = [one.label for one in reply.blocks]
        if len(set(labels)) != len(labels) or not set(labels) <= set(self.transport.blocks[site]):
            raise SiteLost(site, "answered for other blocks of rows than the federation says")
        if reply.checks is not None and reply.checks not in set(Refusal):
            raise SiteLost(site, "sent something that is not a reply to a roll call")
        columns = set(self.federation.site(site).columns)
        if len(reply.program) > LONGEST_LABEL or not all(_is_sound(one, columns) for one in reply.blocks):
            raise SiteLost(site, "sent something that is not a reply to a roll call")
        about = {block.label: block.rows for block in self.federation.blocks}
        for one in reply.blocks:
            if one.rows > FAR_MORE * max(about[one.label], 1):
                raise SiteLost(
                    site,
                    f"says that block {one.label!r} has up to {one.rows:,} rows; the federation file says about "
                    f"{about[one.label]:,}. If they are right, give all sites and the coordinator a corrected copy",
                )
        return reply


def _is_sound(block: DeclaredBlock, columns: Collection[str]) -> bool:
    """Whether what a site says of a block can be."""
    odd = [name for name, _ in block.unlike]
    codes = all(reason in set(LeftOutReason) and share in set(LeftOutShare) for reason, share in block.left_out)
    return (
        codes
        and len(set(block.few)) == len(block.few)
        and set(block.few) <= set(columns)
        and len(set(odd)) == len(odd)
        and set(odd) <= set(columns)
        and all(code in set(Mismatch) for _, code in block.unlike)
        and len(block.left_out) <= len(LeftOutReason)
        and len(block.edition) <= LONGEST_LABEL
        and (1 <= block.rows <= MOST_ROWS)
    )


def notes_on(replies: Mapping[str, RollCallReply], federation: Federation) -> Iterator[str]:
    """What the operator should know of the rows behind a result."""
    for site, reply in replies.items():
        if reply.program != PROGRAM:
            yield f"site {site!r} runs another version of fedrcd than the coordinator; install the same everywhere"
        for block in reply.blocks:
            for reason, share in block.left_out:
                told = f"{SHARES[LeftOutShare(share)]} {REASONS[LeftOutReason(reason)]}"
                yield f"site {site!r} leaves out {told} in block {block.label!r}"
    held = [
        (set(federation.site(site).columns), set(one.few)) for site, reply in replies.items() for one in reply.blocks
    ]
    few = [
        name
        for name in federation.variables
        if {name in levels for columns, levels in held if name in columns} == {True}
    ]
    if few:
        yield note_on_few_levels(map(repr, few))
