"""Bringing a ledger of totals up to date: if some edition is another, all sites answer anew under masks.

No site says why its rows are others, and the coordinator sees no sums of it. So nobody can be asked alone: as long as
a site cannot answer, the ledger keeps the former total.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.federation.coordinator.gather import SiteLost
from fedrcd.federation.coordinator.ledger_news import NewsOfLedger
from fedrcd.federation.coordinator.masked import MaskedTransport, gather_of
from fedrcd.federation.coordinator.refresh import Refreshed
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.ledger.certificate import as_json, certify, replaced_in
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.entries import POOLED
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.masked_totals import HeldRows, SignedTotal
from fedrcd.federation.ledger.refresh_messages import NewsReply
from fedrcd.federation.masking.statements import RollCall
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.methods.registry import METHODS, build
from fedrcd.methods.settings import Settings
from fedrcd.protocol.wire import to_bytes
from fedrcd.runs.finding import Resampling
from fedrcd.statistics.grid import ARITHMETIC


class Calls(Protocol):
    """Calls the roll of a masked run of a method, as a plan has it; raises `SiteLost` where a site would refuse."""

    def __call__(self, plan: RunPlan, method: str) -> MaskedTransport:
        """How its questions are asked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedRefresher:
    """Brings a ledger of totals up to date with the sites of a cohort."""

    plan: RunPlan
    federation: Federation
    ledger: Ledger
    cohort: tuple[str, ...]
    calls: Calls
    warn: Callable[[str], None]

    def run(self) -> Refreshed:
        """Ask, enter and tell; what came of it. Where a site waits until its rows may be others, nothing changes.

        Raises
        ------
        SiteLost
            When a site cannot be had, or does not believe the ledger.
        """
        missing = tuple(site.name for site in self.federation.sites if site.name not in self.cohort)
        nothing: dict[str, list[int]] = {site: [] for site in self.cohort}
        try:
            called = {family: self._called(family) for family in self.ledger.configuration.families}
        except SiteLost as lost:
            if lost.refusal is not Refusal.EDITION:
                raise
            self.warn(f"{lost}; the ledger keeps the former total")
            blocks = self.federation.site(lost.site).blocks
            held = [{"block": block, "persons": None, "due": None} for block in blocks]
            return Refreshed(nothing, {lost.site: held}, {}, missing)
        editions = [{one.site: one.edition for one in said_in(transport)} for transport in called.values()]
        if any(one != editions[0] for one in editions):
            raise ProtocolError("rows of a site became others meanwhile; give the same command again")
        is_new = editions[0] != self.ledger.roster.editions
        entered = [self._pooled(called)] if is_new else []
        self._tell(next(iter(called.values())))
        for number in entered:
            for transport in called.values():
                transport.close(self.ledger.entries[number - 1].hash)
        return Refreshed(dict.fromkeys(self.cohort, entered), {}, {}, missing)

    def _called(self, family: str) -> MaskedTransport:
        """The roll call of a run that asks for a family of the sums of the ledger."""
        ledger = self.ledger
        [arithmetic] = [name for name, grid in ARITHMETIC.items() if grid == ledger.configuration.grid]
        method = method_asking(ledger.configuration, family)
        resampling = Resampling(replicates=1, groups=ledger.groups, seed=0) if ledger.groups else None
        plan = replace(
            self.plan,
            settings=Settings.of(method, arithmetic=arithmetic, masked=True),
            resampling=resampling,
            folder=str(Path(self.plan.folder) / family.replace("/", "-")),
        )
        return self.calls(plan, method)

    def _pooled(self, called: dict[str, MaskedTransport]) -> int:
        """Have all sites answer, and enter the total; the number of its entry."""
        questions = self.ledger.configuration.questions()
        sums: dict[str, Any] = {}
        for family, transport in called.items():
            question: Any = transport.planned.question
            if to_bytes(question.each) != to_bytes(questions[family]):
                raise ConfigError("the ledger is of another frame or other variables than the federation file")
            sums[family] = transport.pool(question)
        total = SignedTotal(
            runs={family: transport.signed_run for family, transport in called.items()},
            held=self._held(next(iter(called.values()))),
            sums=sums,
        )
        return self.ledger.pool(total).entry.number

    def _held(self, transport: MaskedTransport) -> Sequence[HeldRows]:
        """What the sites said they hold."""
        rows = transport.reaches.declared
        return [
            HeldRows(site.name, block, rows[site.name, block], site.columns)
            for site in self.federation.sites
            for block in site.blocks
            if (site.name, block) in rows
        ]

    def _tell(self, transport: MaskedTransport) -> None:
        """Tell all sites what became of the ledger; those whose former sums are gone get a certificate.

        A site that has not seen the last total yet gets its receipt, whenever that was entered.
        """
        news, ledger = NewsOfLedger(self.federation, self.ledger), self.ledger
        heads = {head.site: head for head in ledger.heads()}
        last = max((entry.number for entry in ledger.entries if entry.kind == POOLED), default=0)
        gone = replaced_in(ledger, last) if last else []

        def packet(site: str) -> Any:
            head = heads.get(site)
            unseen = last if head is None or head.number < last else 0
            certificates = [as_json(certify(ledger, unseen, site))] if unseen and site in gone else []
            return news.packet(site, head, [unseen] if unseen else [], certificates)

        heard: dict[str, NewsReply] = gather_of(transport.reaches, packet, news.heard).answers(2)
        news.note_heads(heard.values())


def said_in(transport: MaskedTransport) -> list[RollCall]:
    """What the sites of a run signed in its roll call."""
    return [RollCall.read(one.text) for one in transport.roll_calls.values()]


def method_asking(configuration: Configuration, family: str) -> str:
    """A method of one round that asks exactly for a family of the sums of a ledger."""
    wanted = to_bytes(configuration.questions()[family])
    for name, card in METHODS.items():
        if card.erasable and card.maskable and card.rounds.once:
            question = next(build(name).rounds(configuration.setting()))
            if to_bytes(question) == wanted:
                return name
    raise ConfigError(f"no method asks for the {family} sums of the ledger alone, so they cannot be masked")
