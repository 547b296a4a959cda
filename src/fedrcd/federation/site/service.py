"""A site of a federation of machines: reads its table and answers by its door; no word of a network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedrcd.data.federation import Federation
from fedrcd.data.site_file import read_site, require_declared
from fedrcd.data.table import Table
from fedrcd.errors import ProtocolError
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.messages.requests import Reply, Request, pack_reply, read_agreement, unpack_request
from fedrcd.federation.site.release import Door, Occasion, code_of, unstruck
from fedrcd.federation.site.secret import read_secret
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import Store
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import Packet


@dataclass(frozen=True, slots=True)
class SiteService:
    """Answers requests under the rules of a site."""

    settings: SiteSettings
    surroundings: Surroundings = REAL

    @contextmanager
    def store(self) -> Iterator[Store]:
        """What the site remembers, open."""
        settings = self.settings
        with Store(settings.state, settings.name, self.surroundings, wait=settings.deadline) as opened:
            yield opened

    def respond(self, packet: Packet) -> Packet:
        """The reply to a request, whatever it is: sums, or a fixed code; the text of no exception leaves."""
        try:
            request = unpack_request(packet)
        except ProtocolError:
            return pack_reply(Reply("", "", self.settings.name, refusal=Refusal.MESSAGE))
        return pack_reply(self.reply(request))

    def reply(self, request: Request) -> Reply:
        """The reply to a request that was understood; what happened is in the log before this returns."""
        try:
            return self._answer(request)
        except Exception as problem:  # whatever it is, its text may hold data: it is in the log here, a code leaves
            return Reply(request.run, request.digest, self.settings.name, refusal=code_of(problem))

    def _answer(self, request: Request) -> Reply:
        agreement = read_agreement(self.settings.federation)
        federation = agreement.federation
        with self.store() as store:
            door = open_door(self.settings, federation, store)
            occasion = Occasion(request.run, request.round, request.digest, None, request.federation)
            try:
                self._require_for_us(request, federation, agreement.digest)
                tables = read_tables(federation, self.settings, store)
                occasion = occasion._replace(layout=agreement.layout(request.cohort))
            except Exception as problem:
                door.note([request.question], occasion, problem)
                raise
            [released] = door.release([request.question], tables, occasion)
        return Reply(request.run, request.digest, self.settings.name, released.version, released.blocks)

    def _require_for_us(self, request: Request, federation: Federation, digest: str) -> None:
        """Refuse a question of another federation, for another site, or of a cohort that cannot be."""
        if request.federation != digest:
            raise Refused(Refusal.FEDERATION)
        if request.site != self.settings.name:
            raise Refused(Refusal.NAME)
        cohort = frozenset(request.cohort)
        in_order = tuple(site.name for site in federation.sites if site.name in cohort)
        if request.cohort != in_order or self.settings.name not in in_order:
            raise Refused(Refusal.MESSAGE)


def open_door(settings: SiteSettings, federation: Federation, store: Store) -> Door:
    """The door of a site, as its settings say."""
    secret = read_secret(Path(settings.group_secret)) if settings.group_secret else b""
    return Door(
        site=settings.name,
        federation=federation,
        store=store,
        rules=settings.rules,
        trim=settings.trim,
        trusts=settings.trust_coordinator,
        approve=settings.approve,
        group_secret=secret,
    )


def read_tables(federation: Federation, settings: SiteSettings, store: Store) -> list[Table]:
    """The rows of a site's table, a table per block, as many as the federation file says or less those erased."""
    return declared_tables(federation, settings.name, settings.data, store)


def declared_tables(
    federation: Federation, site: str, data: str | os.PathLike[str], store: Store | None = None
) -> list[Table]:
    """As `read_tables`; without a store nothing was ever erased."""
    tables = read_site(data, federation, federation.site(site))
    if store is None:
        require_declared(tables, federation)
        return tables
    remaining = [unstruck(table, store) for table in tables]
    require_declared(remaining, federation, {table.block: len(store.gone(table.block)) for table in tables})
    return remaining
