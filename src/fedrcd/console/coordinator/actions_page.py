"""What was done at the console of a coordinator, and by whom."""

from __future__ import annotations

from starlette.responses import Response

from fedrcd.console.coordinator.place import CoordinatorPlace
from fedrcd.console.web import Page, Visit
from fedrcd.errors import FileError

SHOWN = 500


def pages(place: CoordinatorPlace) -> list[Page]:
    """The page of actions."""

    def actions(visit: Visit) -> Response:
        try:
            done, problem = place.actions.all(), ""
        except FileError as damaged:
            done, problem = [], str(damaged)
        words = visit.values.get("q", "").casefold().split()
        texts = (f"{one.time} {one.what} {one.who} {one.detail}".casefold() for one in done)
        found = [one for one, text in zip(done, texts, strict=True) if all(word in text for word in words)]
        return visit.show(
            "coordinator/actions.html",
            done=found[-SHOWN:][::-1],
            total=len(done),
            problem=problem,
            words=visit.values.get("q", ""),
        )

    return [Page("/actions", actions, title="Log")]
