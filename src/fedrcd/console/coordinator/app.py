"""All pages of the console of a coordinator."""

from __future__ import annotations

from fedrcd.console.coordinator import actions_page, invitations_page, ledger_page, runs_page, sites_page
from fedrcd.console.coordinator.place import CoordinatorPlace
from fedrcd.console.serving import Listening, sessions_of
from fedrcd.console.token_pages import token_pages
from fedrcd.console.tokens import Tokens
from fedrcd.console.web import Console


def coordinator_console(place: CoordinatorPlace, listening: Listening) -> Console:
    """The console of a coordinator, to be served."""
    tokens = Tokens(place.folder)
    modules = (sites_page, invitations_page, runs_page, ledger_page, actions_page)
    pages = [page for module in modules for page in module.pages(place)]
    return Console(
        title="Coordinator",
        kind="coordinator",
        address=listening.address(tokens),
        sessions=sessions_of(tokens),
        pages=[*pages, *token_pages(tokens)],
        note=place.actions.note,
        stamp=lambda: place.stamp,
    )
