"""The ledger: who is in its state, which results are out of date, whether it is as it was written; its refresh."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.responses import Response

from fedrcd.api.from_ledger import discover_stored, rediscover
from fedrcd.api.machines import RUNS, Machines, settings_of
from fedrcd.console.coordinator.place import REFRESH, CoordinatorPlace
from fedrcd.console.tokens import ADMINISTER
from fedrcd.console.web import Page, Visit, document
from fedrcd.errors import ConfigError
from fedrcd.federation.coordinator.run_folder import REFRESHED, read_json
from fedrcd.federation.ledger.certificate import as_page, certify
from fedrcd.federation.ledger.entries import ERASED, LEFT
from fedrcd.federation.ledger.export import entry_parts
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.verify import verify_ledger
from fedrcd.methods.auto import AUTO
from fedrcd.methods.registry import METHODS


def pages(place: CoordinatorPlace) -> list[Page]:
    """The page of the ledger, and what is done there."""

    def path() -> Path:
        if place.ledger is None:
            raise ConfigError("this console was started without --ledger")
        return place.ledger

    def ledger(visit: Visit) -> Response:
        refreshes = [one for one in place.runs() if one.plan.ledger]
        latest = refreshes[0] if refreshes else None
        more: dict[str, Any] = {"latest": latest, "content": None, "came": None, "problems": None, "methods": []}
        if latest is not None and (latest.folder / REFRESHED).exists():
            more["came"] = read_json(latest.folder / REFRESHED)
        under_way = latest is not None and latest.is_here and not latest.has_result
        if place.ledger is None or not place.ledger.exists() or under_way:
            return visit.show("coordinator/ledger.html", path=place.ledger, under_way=under_way, **more)
        stamp = place.stamp
        more["problems"] = visit.console.computations.find(
            "verify", stamp, lambda: [str(one) for one in verify_ledger(path())]
        )
        with Ledger.open(path(), key=place.ledger_key) as book:
            standings = [book.roster.standings[one] for one in sorted(book.roster.standings)]
            more["content"] = {
                "identity": book.identity,
                "state": book.state_id,
                "masked": book.masked,
                "standings": standings,
                "suspended": book.roster.suspended(),
                "results": [(one, one.state == book.state_id) for one in book.roster.results][::-1],
                "entries": [
                    (entry, "; ".join(entry_parts(entry)), entry.kind in (ERASED, LEFT)) for entry in book.entries
                ][::-1],
            }
        once = sorted(name for name, card in METHODS.items() if card.rounds.once and not card.one_table)
        more["methods"] = [AUTO, *once]
        return visit.show("coordinator/ledger.html", path=place.ledger, under_way=False, **more)

    def refresh(visit: Visit) -> Response:
        machines, book = place.machines, path()
        plan = machines.plan(settings_of(AUTO, {}))
        folder = Path(machines.coordinator.state) / RUNS / f"{REFRESH}{plan.run}"
        plan = replace(plan, folder=str(folder), ledger=str(book.resolve()))

        def act(there: Machines) -> None:
            there.refresh(book, ledger_key=place.ledger_key, out=folder)
            with Ledger.open(book, key=place.ledger_key) as opened:
                if opened.roster.active():
                    rediscover(opened)

        place.begin(plan, act)
        place.actions.note("began to bring the ledger up to date", visit.who)
        return visit.back("/ledger", "the sites are asked for their present editions")

    def discover(visit: Visit) -> Response:
        with Ledger.open(path(), key=place.ledger_key) as book:
            found = discover_stored(book, visit.form.get("method") or AUTO)
        place.actions.note(f"computed a result of {found.method} from the ledger", visit.who)
        return visit.back("/ledger", f"{found.method}: {', '.join(found.order)}")

    def certificate(visit: Visit) -> Response:
        number = visit.values["number"]
        if not number.isdecimal():
            raise ConfigError("there is no such entry")
        with Ledger.open(path(), key=place.ledger_key) as book:
            return document(as_page(certify(book, int(number))))

    return [
        Page("/ledger", ledger, title="Ledger"),
        Page("/ledger/refresh", refresh, ADMINISTER, acts=True),
        Page("/ledger/discover", discover, ADMINISTER, acts=True),
        Page("/ledger/certificates/{number}", certificate),
    ]
