"""Who is in the state: follows from the entries of the ledger alone.

A block that several sites share is *suspended* while its sites do not speak of the same rows: when one of them replaced
its contribution over other rows, until all others of the block have too, and all say the same number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fedrcd.errors import ProtocolError
from fedrcd.federation.ledger.contribution import (
    CONTRIBUTION,
    WITHDRAWAL,
    Contribution,
    SignedContribution,
    SignedWithdrawal,
    contribution_statement,
    labels_of,
    withdrawal_statement,
)
from fedrcd.federation.ledger.entries import ADMITTED, CONTRIBUTIONS, LEFT, OPENED, POOLED, RESULT, Entry
from fedrcd.federation.ledger.masked_totals import held_of
from fedrcd.federation.messages.signatures import is_signed_by
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.suggest import did_you_mean

Place = tuple[str, str]
"""A site and a block."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A contribution that is in the ledger, without its numbers."""

    site: str
    block: str
    version: int
    rows: int
    columns: tuple[str, ...]
    before: tuple[tuple[str, tuple[str, ...]], ...]
    commitment: str
    number: int
    """Of its entry."""

    @property
    def place(self) -> Place:
        """Its site and block."""
        return self.site, self.block


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A result that was computed from a state: enough to find it again, not the result itself."""

    number: int
    time: str
    state: str
    method: str
    options: dict[str, Any]
    digest: str


@dataclass(slots=True)
class Roster:
    """Everything the entries so far say; `follow` takes the next one."""

    standings: dict[Place, Standing] = field(default_factory=dict)
    versions: dict[Place, int] = field(default_factory=dict)
    """The latest version ever sent, also of sites that left."""
    admitted: dict[str, str] = field(default_factory=dict)
    """The sites that may contribute, with the keys they sign with; an empty one in a trial."""
    waiting: dict[str, frozenset[str]] = field(default_factory=dict)
    """By block, the sites that have yet to replace theirs over the rows that another changed to."""
    results: list[RecordedResult] = field(default_factory=list)
    editions: dict[str, str] = field(default_factory=dict)
    """In a ledger of totals: about which edition each site answered for the present one."""
    state: str = ""

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Roster:
        """What a list of entries amounts to."""
        roster = cls()
        for entry in entries:
            roster.follow(entry)
        return roster

    def follow(self, entry: Entry) -> None:
        """Take one more entry into account."""
        content = entry.content
        if entry.kind in (OPENED, ADMITTED):
            self.admitted |= content.get("admitted", {})
        elif entry.kind in CONTRIBUTIONS:
            self.take(standing_of(entry), content["purpose"])
        elif entry.kind == POOLED:
            self.pool(content, entry.number)
        elif entry.kind == LEFT:
            self.leave((content["site"], content["block"]))
        elif entry.kind == RESULT:
            names = ("time", "state", "method", "options", "digest")
            self.results.append(RecordedResult(entry.number, **{name: content[name] for name in names}))
        self.state = entry.state

    def take(self, standing: Standing, purpose: str) -> None:
        """Enter a contribution, new or in place of an older one."""
        block, replaces = standing.block, standing.place in self.standings
        agreed = block not in self.suspended()
        self.standings[standing.place] = standing
        self.versions[standing.place] = standing.version
        others = frozenset(one.site for one in self.of_block(block)) - {standing.site}
        waiting = self.waiting.get(block, frozenset())
        if replaces and purpose != "values":
            waiting = others if agreed else waiting - {standing.site}
        self._wait(block, waiting & others)

    def pool(self, content: Mapping[str, Any], number: int) -> None:
        """Enter a total, in place of the one before; a site that answered about another edition has another version."""
        former, self.standings = self.standings, {}
        for site, block, rows, columns in held_of(content):
            place, before = (site, block), former.get((site, block))
            if before is None or content["editions"][site] != self.editions.get(site):
                self.versions[place] = self.versions.get(place, 0) + 1
                before = Standing(site, block, self.versions[place], rows, columns, (), "", number)
            self.standings[place] = before
        self.editions = dict(content["editions"])

    def leave(self, place: Place) -> None:
        """Take a contribution out."""
        site, block = place
        del self.standings[place]
        remaining = {one.site for one in self.of_block(block)}
        self._wait(block, (self.waiting.get(block, frozenset()) - {site}) & remaining)

    def _wait(self, block: str, sites: frozenset[str]) -> None:
        if sites:
            self.waiting[block] = sites
        else:
            self.waiting.pop(block, None)

    def of_block(self, block: str) -> list[Standing]:
        """Contributions for one block."""
        return [standing for standing in self.standings.values() if standing.block == block]

    def suspended(self) -> dict[str, str]:
        """Blocks that are not in the state, with the reason in words."""
        reasons: dict[str, str] = {}
        if self.editions:
            return reasons  # a total is of all sites or of none
        for block in sorted({standing.block for standing in self.standings.values()}):
            rows = {standing.rows for standing in self.of_block(block)}
            if block in self.waiting:
                names = ", ".join(map(repr, sorted(self.waiting[block])))
                reasons[block] = f"waiting for {names} to replace what they sent over the former rows"
            elif len(rows) > 1:
                reasons[block] = "its sites do not say the same number of rows"
        return reasons

    def active(self) -> list[Standing]:
        """The contributions that make the state, sorted by site and block."""
        suspended = self.suspended()
        return [self.standings[place] for place in sorted(self.standings) if place[1] not in suspended]

    def layout(self, variables: tuple[str, ...]) -> Layout | None:
        """Who holds what of the state; None if every site has all variables of rows of its own."""
        active = self.active()
        alone = len({standing.block for standing in active}) == len(active)
        if alone and all(set(standing.columns) == set(variables) for standing in active):
            return None
        return Layout(variables, tuple(Holding(one.site, one.block, one.columns, one.rows) for one in active))

    def require_signed(self, site: str, kind: str, statement: bytes, signature: str) -> None:
        """Raise unless a site that was admitted signed a statement; one without a key signs nothing."""
        if site not in self.admitted:
            raise ProtocolError(
                f"site {site!r} was not admitted to the ledger{did_you_mean(site, self.admitted)}; see "
                "`fedrcd ledger admit`"
            )
        public = self.admitted[site]
        if public and not is_signed_by(public, kind, statement, signature):
            raise ProtocolError(f"this was not signed with the key of site {site!r}; it is not taken in")

    def require_withdrawable(self, withdrawal: SignedWithdrawal) -> None:
        """Raise unless a withdrawal is by its site, and about what is in now."""
        site, block, version = withdrawal.site, withdrawal.block, withdrawal.version
        statement = withdrawal_statement(site, block, version)
        self.require_signed(site, WITHDRAWAL, statement, withdrawal.signature)
        if self.versions.get((site, block), 0) != version:
            raise ProtocolError(f"site {site!r} withdraws version {version} of block {block!r}, which is not in")

    def require_acceptable(self, signed: SignedContribution) -> None:
        """Raise unless a contribution is by its site, follows what is here, and counts nobody's rows twice."""
        contribution: Contribution = signed.contribution
        place = contribution.site, contribution.block
        statement = contribution_statement(labels_of(contribution), signed.follows)
        self.require_signed(contribution.site, CONTRIBUTION, statement, signed.signature)
        latest = self.versions.get(place, 0)
        if contribution.version <= latest:
            raise ProtocolError(
                f"version {contribution.version} of site {contribution.site!r} for block {contribution.block!r} is not "
                f"new: version {latest} was here already"
            )
        if signed.follows != latest:
            raise ProtocolError(
                f"version {contribution.version} of site {contribution.site!r} for block {contribution.block!r} "
                f"follows version {signed.follows}, and the last one here is {latest}: add what is missing, or let the "
                f"site contribute with --after {latest}"
            )
        for other in self.of_block(contribution.block):
            if other.site == contribution.site or not set(other.columns) & set(contribution.columns):
                continue
            mine = dict(contribution.before).get(other.site)
            theirs = dict(other.before).get(contribution.site)
            if not (_same(mine, other.columns) or _same(theirs, contribution.columns)):
                raise ProtocolError(
                    f"sites {contribution.site!r} and {other.site!r} would both answer for the same columns of block "
                    f"{contribution.block!r}: they used different federation files; let {other.site!r} contribute anew"
                )


def _same(known: tuple[str, ...] | None, columns: tuple[str, ...]) -> bool:
    """Whether a site is known to hold exactly these columns."""
    return known is not None and set(known) == set(columns)


def standing_of(entry: Entry) -> Standing:
    """The contribution that an entry tells of."""
    content = entry.content
    return Standing(
        site=content["site"],
        block=content["block"],
        version=content["version"],
        rows=content["rows"],
        columns=tuple(content["columns"]),
        before=tuple((site, tuple(columns)) for site, columns in content["before"]),
        commitment=content["commitment"],
        number=entry.number,
    )
