"""Who is in the state: follows from the entries of the ledger alone.

A block that several sites share is *suspended* while its sites do not speak of the same rows: when one of them replaced
its contribution over other rows, until all others of the block have too, and all say the same number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fedrcd.errors import ProtocolError
from fedrcd.federation.ledger.contribution import Contribution
from fedrcd.federation.ledger.entries import CONTRIBUTIONS, LEFT, RESULT, Entry
from fedrcd.statistics.coverage import Holding, Layout

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
    waiting: dict[str, frozenset[str]] = field(default_factory=dict)
    """By block, the sites that have yet to replace theirs over the rows that another changed to."""
    results: list[RecordedResult] = field(default_factory=list)
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
        if entry.kind in CONTRIBUTIONS:
            self.take(standing_of(entry), content["purpose"])
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
        reasons = {}
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

    def require_acceptable(self, contribution: Contribution) -> None:
        """Raise unless a contribution goes with those that are here: a later version, and nobody's rows twice."""
        place = contribution.site, contribution.block
        latest = self.versions.get(place, 0)
        if contribution.version <= latest:
            raise ProtocolError(
                f"version {contribution.version} of site {contribution.site!r} for block {contribution.block!r} is not "
                f"new: version {latest} was here already"
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
