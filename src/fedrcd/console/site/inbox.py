"""Answers that wait for a person, and what is allowed in advance."""

from __future__ import annotations

from starlette.responses import Response

from fedrcd.console.site.place import SitePlace
from fedrcd.console.site.rules_in_words import in_words
from fedrcd.console.tokens import APPROVE
from fedrcd.console.web import Page, Visit
from fedrcd.errors import ConfigError
from fedrcd.federation.site.approvals import APPROVED, REFUSED, Pending, standing_approval
from fedrcd.methods.registry import METHODS

LATEST = 20
"""Decisions that are shown below what waits."""


def pages(place: SitePlace) -> list[Page]:
    """The inbox, and what is done there."""

    def inbox(visit: Visit) -> Response:
        with place.store() as store:
            held, standing, runs = store.approvals.held(), store.approvals.standing(), store.approvals.runs()
        waiting = [one for one in held if not one.decision]
        return visit.show(
            "site/inbox.html",
            waiting=[(one, in_words(one.rules), _share(one)) for one in waiting],
            decided=[one for one in held if one.decision][-LATEST:][::-1],
            standing=standing,
            known_runs={one.run for one in runs},
            approves=place.settings.approve,
            purposes=sorted({one.purpose for one in runs if one.purpose}),
            methods=sorted(METHODS),
        )

    def decide(visit: Visit) -> Response:
        said, digest = visit.form.get("decision", ""), visit.form.get("digest", "")
        if said not in {"approve", "rest", "refuse"} or not digest:
            raise ConfigError("say what is decided, and on which answer")
        reason = visit.form.get("reason", "").strip()
        if said == "refuse" and not reason:
            raise ConfigError("say why it is refused: the reason is kept in the log here, and never sent")
        decision = REFUSED if said == "refuse" else APPROVED
        with place.store() as store:
            decided = store.decide(digest, decision, who=visit.who, reason=reason, rest=said == "rest")
        also = " and the rest of its run" if said == "rest" else ""
        return visit.back("/", f"{decided.decision}{also}: {decided.question}")

    def allow(visit: Visit) -> Response:
        with place.store() as store:
            method, purpose = visit.form.get("method", ""), visit.form.get("purpose", "")
            said = standing_approval(method, purpose, visit.who, store.now(), METHODS)
            if visit.form.get("withdraw"):
                store.withdraw_approval(said, visit.who)
                return visit.back("/", f"no longer allowed in advance: {said}")
            store.allow(said)
        return visit.back("/", f"allowed in advance: {said}")

    return [
        Page("/", inbox, title="Inbox"),
        Page("/decide", decide, APPROVE, acts=True),
        Page("/allow", allow, APPROVE, acts=True),
    ]


def _share(one: Pending) -> int:
    """How much of the budget would be spent, in percent."""
    return round(100 * min(1.0, (one.spent + one.numbers) / one.allowed)) if one.allowed else 100
