"""The table at a glance: what `fedrcd site check` sees. Nothing of it leaves, and no value is shown."""

from __future__ import annotations

from starlette.responses import Response

from fedrcd.console.site.place import SitePlace
from fedrcd.console.web import Page, Visit
from fedrcd.data.sources.address import source_at
from fedrcd.federation.site.check import Remark, check_site, tell_columns


def pages(place: SitePlace) -> list[Page]:
    """The page of the table."""

    def computed() -> tuple[list[Remark], list[Remark]]:
        settings, federation = place.settings, place.federation
        place_of_rows = source_at(settings.data, settings.query)
        columns = list(tell_columns(place_of_rows, federation, federation.site(settings.name)))
        with place.copy() as (door, tables):
            return columns, check_site(door, tables)

    def table(visit: Visit) -> Response:
        found = visit.console.computations.find("table", place.stamp, computed)
        settings = place.settings
        return visit.show("site/table.html", found=found, settings=settings)

    return [Page("/table", table, title="Table")]
