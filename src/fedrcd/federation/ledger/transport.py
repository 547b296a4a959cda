"""A transport that asks nobody: it answers from the sums in a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fedrcd.errors import ProtocolError
from fedrcd.federation.ledger.contribution import Statistic
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.roster import Roster
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.protocol.wire import to_bytes


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
        family = question.stored_in()
        stored: Any = None if family is None else self.pooled.get(family)
        if stored is None or question.variables != self.setting.variables:
            raise ProtocolError(
                "the ledger holds the sums that one-round methods ask for, and this method asks the sites for more: it "
                "needs a new run over the sites; or take a method that `fedrcd methods` calls erasable"
            )
        if to_bytes(question.frame) != to_bytes(self.setting.frame):
            raise ProtocolError("the question is in another frame than the sums of the ledger")
        self.traffic.note_clipped(stored)
        result: S = question.from_stored(stored)
        return result
