"""All pages of the console of a site."""

from __future__ import annotations

from fedrcd.console.serving import Listening, sessions_of
from fedrcd.console.site import (
    budget_page,
    editions_page,
    erasure_page,
    federation_page,
    inbox,
    log_pages,
    table_page,
)
from fedrcd.console.site.place import SitePlace
from fedrcd.console.token_pages import token_pages
from fedrcd.console.tokens import Tokens
from fedrcd.console.web import Console


def site_console(place: SitePlace, listening: Listening) -> Console:
    """The console of a site, to be served."""
    tokens = Tokens(place.folder)
    modules = (inbox, log_pages, budget_page, table_page, editions_page, erasure_page, federation_page)
    pages = [page for module in modules for page in module.pages(place)]
    return Console(
        title=f"Site {place.settings.name}",
        kind="site",
        address=listening.address(tokens),
        sessions=sessions_of(tokens),
        pages=[*pages, *token_pages(tokens)],
        note=place.note,
        stamp=lambda: place.stamp,
    )
