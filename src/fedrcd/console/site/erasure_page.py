"""Erasure: by identifiers or a condition, tried first, then carried out; what waits, and the certificates."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from starlette.responses import Response

from fedrcd.api.membership import Rehearsed, rehearse, strike
from fedrcd.console.site.place import SitePlace
from fedrcd.console.tokens import ADMINISTER
from fedrcd.console.web import Page, Visit, document, text_file
from fedrcd.data.site_file import rows_matching
from fedrcd.errors import ConfigError
from fedrcd.federation.ledger.certificate import as_page
from fedrcd.federation.site.editions.outlook import Outlook, outlook
from fedrcd.federation.site.refreshing import CERTIFICATES


@dataclass(frozen=True, slots=True)
class Wish:
    """Whom to erase. It stays in the memory of the console: identifiers are in no page."""

    ids: tuple[str, ...]
    conditions: tuple[str, ...]
    name: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def words(self) -> str:
        """What it is, without identifiers."""
        if self.conditions:
            return f"rows where {' and '.join(self.conditions)}"
        return f"{len(self.ids)} identifier{'s' * (len(self.ids) != 1)} from a list"


def pages(place: SitePlace) -> list[Page]:
    """The page of erasures, and what is done there."""

    def whom(wish: Wish) -> dict[str, Any]:
        if not wish.conditions:
            return {"ids": wish.ids}
        settings, federation = place.settings, place.federation
        entry = federation.site(settings.name)
        return {"matching": rows_matching(settings.data, federation, entry, wish.conditions, query=settings.query)}

    def rehearsed(wish: Wish) -> Rehearsed:
        with place.copy() as (door, tables):
            return rehearse(door, tables, **whom(wish))

    def now() -> Outlook:
        with place.copy() as (door, tables):
            return outlook(door, tables)

    def erasure(visit: Visit) -> Response:
        wish: Wish | None = visit.session.kept.get("wish")
        computations, stamp = visit.console.computations, place.stamp
        tried = None
        if wish is not None:
            tried = computations.find(f"erasure {wish.name}", stamp, lambda: rehearsed(wish))
        with place.store() as store:
            pending: dict[date, int] = Counter(store.struck.pending().values())
            erased = len(store.struck.erased())
        return visit.show(
            "site/erasure.html",
            wish=wish,
            tried=tried,
            outlook=computations.find("outlook", stamp, now),
            pending=sorted(pending.items()),
            erased=erased,
            certificates=certificates(place.folder),
            days=place.settings.rules.days,
        )

    def wish(visit: Visit) -> Response:
        ids = tuple(dict.fromkeys(line.strip() for line in visit.form.get("ids", "").splitlines() if line.strip()))
        lines = visit.form.get("conditions", "").splitlines()
        conditions = tuple(line.strip() for line in lines if line.strip())
        if bool(ids) == bool(conditions):
            raise ConfigError("say whom to erase by identifiers, or by a condition: one of them")
        visit.session.keep("wish", Wish(ids, conditions))
        return visit.back("/erasure")

    def forget(visit: Visit) -> Response:
        visit.session.kept.pop("wish", None)
        return visit.back("/erasure", "nobody was erased")

    def carry_out(visit: Visit) -> Response:
        wish: Wish | None = visit.session.kept.get("wish")
        if wish is None or wish.name != visit.form.get("wish"):
            raise ConfigError("this was done already, or was given up; begin again with whom to erase")
        with place.door() as (door, tables):
            number = strike(door, tables, **whom(wish))
            said = f"erased {number} row{'s' * (number != 1)}: {wish.words}"
            door.store.note_action(said, visit.who, visit.form.get("reason", "").strip())
        visit.session.kept.pop("wish", None)
        return visit.back("/erasure", f"{said}. From now on they are in no sum that is made here.")

    def certificate(visit: Visit) -> Response:
        found = certificates(place.folder).get(visit.values["name"])
        if found is None:
            raise ConfigError("there is no such certificate")
        if visit.values.get("as") == "json":
            return text_file(visit.values["name"], json.dumps(found, indent=1) + "\n", "application/json")
        return document(as_page(found))

    return [
        Page("/erasure", erasure, title="Erasure"),
        Page("/erasure/wish", wish, ADMINISTER, acts=True),
        Page("/erasure/forget", forget, ADMINISTER, acts=True),
        Page("/erasure/carry-out", carry_out, ADMINISTER, acts=True),
        Page("/certificates/{name}", certificate),
    ]


def certificates(folder: Path) -> dict[str, dict[str, Any]]:
    """The certificates that the coordinator gave back, which the site verified when they came; by file."""
    paths = sorted((folder / CERTIFICATES).glob("*.json"))
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}
