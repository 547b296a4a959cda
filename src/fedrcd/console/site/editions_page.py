"""Editions: which states of its rows a site answered about, what it would answer about now, and what waits."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from fedrcd.console.site.place import SitePlace
from fedrcd.console.tokens import ADMINISTER
from fedrcd.console.web import Page, Visit
from fedrcd.errors import ConfigError
from fedrcd.federation.site.editions.outlook import Outlook, allow_next, edition_record, outlook


def pages(place: SitePlace) -> list[Page]:
    """The page of editions, and a person's word about the next."""

    def now() -> tuple[list[dict[str, Any]], Outlook]:
        with place.copy() as (door, tables):
            records = [edition_record(door, one) for one in door.store.editions.editions()]
            return records, outlook(door, tables)

    def editions(visit: Visit) -> Response:
        found = visit.console.computations.find("editions", place.stamp, now)
        return visit.show("site/editions.html", found=found, days=place.settings.rules.days)

    def allow(visit: Visit) -> Response:
        how = visit.form.get("how", "")
        if how not in {"fill", "now"}:
            raise ConfigError("say how the next edition is made")
        if how == "now" and not visit.form.get("understood"):
            raise ConfigError("tick that whoever has the sums of before and after can rebuild the rows that changed")
        with place.door() as (door, tables):
            if not allow_next(door, tables, **{how: True}):
                return visit.back("/editions", "nothing waits, so nothing is allowed")
            hides = "hiding who changed among others" if how == "fill" else "WITHOUT HIDING who changed"
            door.store.note_action(f"allowed the next edition at once, {hides}", visit.who)
        return visit.back("/editions", f"the next edition may be made at once, {hides}")

    return [Page("/editions", editions, title="Editions"), Page("/editions/allow", allow, ADMINISTER, acts=True)]
