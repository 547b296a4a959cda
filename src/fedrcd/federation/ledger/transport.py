"""A transport that asks nobody: it answers from the sums in a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fedrcd.errors import ProtocolError
from fedrcd.federation.ledger.contribution import Statistic, total_of
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.roster import Roster
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.protocol.wire import to_bytes
from fedrcd.statistics.grouped_sums import GroupedSums


@dataclass(frozen=True, slots=True)
class LedgerTransport:
    """Pooled sums of a state; methods of one round run on it unchanged."""

    setting: Setting
    pooled: Mapping[str, Statistic]
    traffic: Traffic = field(default_factory=Traffic)

    @classmethod
    def of(cls, ledger: Ledger, roster: Roster | None = None) -> LedgerTransport:
        """Over the present state of a ledger, or over that of another roster of its contributions."""
        chosen = roster or ledger.roster
        if not chosen.active():
            reasons = [f"block {block!r} is {reason}" for block, reason in chosen.suspended().items()]
            raise ProtocolError("; ".join(["no contribution is in the state of the ledger", *reasons]))
        layout = chosen.layout(ledger.configuration.variables)
        return cls(replace(ledger.configuration.setting(), layout=layout), ledger.pooled(chosen))

    def pool(self, question: Question[S]) -> S:
        """The sum of all contributions, if they hold what is asked for."""
        family = question.each.stored_in()
        stored: Any = None if family is None else self.pooled.get(family)
        if stored is None or question.variables != self.setting.variables:
            raise ProtocolError(
                "the ledger holds the sums that one-round methods ask for, and this method asks the sites for more: it "
                "needs a new run over the sites; or take a method that `fedrcd methods` calls erasable"
            )
        if to_bytes(question.frame) != to_bytes(self.setting.frame):
            raise ProtocolError("the question is in another frame than the sums of the ledger")
        self.traffic.note_clipped(stored)
        if question.groups:
            return self._grouped(question, stored)
        result: S = question.from_stored(total_of(stored))
        return result

    def _grouped(self, question: Question[S], stored: Any) -> S:
        """The sums of every group, if contributions hold as many as are asked for."""
        held = {len(parts) for parts in stored.groups.values()} if stored.kind == GroupedSums.kind else set()
        if held != {question.groups}:
            raise ProtocolError(
                "the ledger holds no sums of groups of rows to resample, or of another number of them; open one with "
                "`fedrcd ledger new --groups`"
            )
        grouped: S = stored.arranged_by(question.each.from_stored)
        return grouped
