"""The sites: who is there, what each said last, and who is invited."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from fedrcd.console.coordinator.place import CoordinatorPlace
from fedrcd.console.web import Page, Visit, text_file
from fedrcd.data.federation import Federation, federation_lines
from fedrcd.errors import FedrcdError
from fedrcd.federation.coordinator.called_sites import CalledSite
from fedrcd.federation.flower.coordinator import SETTINGS, Coordinator
from fedrcd.federation.messages.keys import fingerprint_of

NOTHING: tuple[None, str, str] = (None, "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenSite:
    """A site as the coordinator knows it."""

    name: str
    is_online: bool | None
    """None where that is not known: the coordinator has not admitted its key, or asks for none."""
    since: str
    columns: int
    blocks: tuple[str, ...]
    fingerprint: str
    said: CalledSite | None
    when: str
    method: str


def pages(place: CoordinatorPlace) -> list[Page]:
    """The page of sites, and what is done there."""

    def sites(visit: Visit) -> Response:
        federation, seen = place.federation, place.nodes.look()
        return visit.show(
            "coordinator/sites.html",
            sites=seen_sites(place, federation),
            is_running=seen.is_running,
            federation=federation,
            file=place.federation_file,
            invitations=place.invitations.open(),
        )

    def file(_: Visit) -> Response:
        text = "\n".join(federation_lines(place.federation)) + "\n"
        return text_file("federation.toml", text, "application/toml")

    return [Page("/", sites, title="Sites"), Page("/federation.toml", file)]


def seen_sites(place: CoordinatorPlace, federation: Federation) -> list[SeenSite]:
    """All sites of the federation, with what each said in the last roll call that it answered."""
    seen, numbers = place.nodes.look(), _numbers(place)
    told: dict[str, tuple[CalledSite | None, str, str]] = {}
    for _, called in place.latest_called():
        for name, said in called.sites.items():
            told.setdefault(name, (said, called.time, called.method))
    found = []
    for site in federation.sites:
        node = seen.nodes.get(numbers.get(site.name, -1))
        one, when, method = told.get(site.name, NOTHING)
        found.append(
            SeenSite(
                name=site.name,
                is_online=(node is not None and node.is_online) if site.name in numbers else None,
                since=node.since if node else "",
                columns=len(site.columns),
                blocks=site.blocks,
                fingerprint=fingerprint_of(site.key) if site.key else "",
                said=one,
                when=when,
                method=method,
            )
        )
    return found


def _numbers(place: CoordinatorPlace) -> dict[str, int]:
    """The node of every admitted site."""
    if not (place.folder / SETTINGS).exists():
        return {}
    try:
        return dict(Coordinator.read(place.folder).nodes)
    except FedrcdError:  # it is being written
        return {}
