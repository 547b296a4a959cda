"""What one site puts into a federation for one block of rows: the sums that one-round methods ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError, ProtocolError, StatisticError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.messages.digests import canonical, digest
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.protocol.wire import KINDS, from_bytes, to_bytes
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.grouped_sums import GroupedSums
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.suggest import did_you_mean

Purpose = Literal["rows", "values", "erase"]
"""Why a contribution was made: rows came (or it is the first), values of the same rows changed, rows were erased."""

Statistic = ExactSums | PairSums | TensorSums | GroupedSums

SALT_BYTES = 32


@dataclass(frozen=True, slots=True, eq=False)
class Contribution:
    """Sums of one site's columns over one block of rows, in the configuration of a ledger.

    Parameters
    ----------
    site, block : str
        Whose sums, over which rows.
    version : int
        Counts what the site ever sent for the block, from 1.
    purpose : {"rows", "values", "erase"}
        Why it was made.
    configuration : str
        Digest of the configuration.
    columns : tuple of str
        What the site holds of the block, in the order of the variables.
    before : tuple of (site, columns)
        The sites of the block that come first and answer for what they hold.
    rows : int
        Rows the site has of the block, also those with gaps, which count in no sum.
    salt : str
        Random: without it a digest of the contribution says nothing about its numbers.
    sums : mapping of family to sums
        The sums of all variables of the federation, of the entries that this site answers for.
    """

    site: str
    block: str
    version: int
    purpose: str
    configuration: str
    columns: tuple[str, ...]
    before: tuple[tuple[str, tuple[str, ...]], ...]
    rows: int
    salt: str
    sums: Mapping[str, Statistic]

    def to_bytes(self) -> bytes:
        """The canonical bytes."""
        return to_bytes(self)

    @property
    def commitment(self) -> str:
        """Salted digest by which it is known; nobody can test a guess of the numbers without the salt."""
        return digest("contribution", self.to_bytes())

    def layout(self, variables: tuple[str, ...]) -> Layout | None:
        """Who holds what of the block up to this site; None for all columns of rows of its own."""
        if not self.before and set(self.columns) == set(variables):
            return None
        holdings = [Holding(site, self.block, columns, self.rows) for site, columns in self.before]
        return Layout(variables, (*holdings, Holding(self.site, self.block, self.columns, self.rows)))


@dataclass(frozen=True, slots=True, eq=False)
class SignedContribution:
    """A contribution with the version that it follows in the ledger, signed by its site; unsigned in a trial."""

    contribution: Contribution
    follows: int
    signature: str

    @classmethod
    def by(cls, key: SiteKey | None, contribution: Contribution, follows: int) -> SignedContribution:
        """A contribution signed with the key of its site, if there is one."""
        statement = contribution_statement(labels_of(contribution), follows)
        return cls(contribution, follows, "" if key is None else key.sign(CONTRIBUTION, statement))


@dataclass(frozen=True, slots=True)
class SignedWithdrawal:
    """Asks the coordinator to take out the latest version that a site has in for a block; signed like contributions."""

    site: str
    block: str
    version: int
    signature: str

    @property
    def place(self) -> tuple[str, str]:
        """Its site and block."""
        return self.site, self.block

    @classmethod
    def by(cls, key: SiteKey | None, site: str, block: str, version: int) -> SignedWithdrawal:
        """A withdrawal signed with the key of a site, if there is one."""
        statement = withdrawal_statement(site, block, version)
        return cls(site, block, version, "" if key is None else key.sign(WITHDRAWAL, statement))


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """What a site hands over in one file."""

    items: tuple[SignedContribution | SignedWithdrawal, ...]


KINDS["contribution/1"] = Contribution
KINDS["signed-contribution/1"] = SignedContribution
KINDS["signed-withdrawal/1"] = SignedWithdrawal
KINDS["parcel/2"] = Parcel

CONTRIBUTION, WITHDRAWAL = "contribution", "withdrawal"
"""Kinds of what sites sign."""

LABELS = ("site", "block", "version", "purpose", "configuration", "columns", "before", "rows", "commitment")
"""What the entry of a contribution says of it, and its site signs: all but the numbers, which the commitment covers."""


def labels_of(contribution: Contribution) -> dict[str, Any]:
    """A contribution without its numbers."""
    return {name: getattr(contribution, name) for name in LABELS}


def contribution_statement(labels: Mapping[str, Any], follows: int) -> bytes:
    """What a site signs of a contribution."""
    return canonical({**{name: labels[name] for name in LABELS}, "follows": follows}).encode()


def withdrawal_statement(site: str, block: str, version: int) -> bytes:
    """What a site signs to withdraw."""
    return canonical({"site": site, "block": block, "version": version}).encode()


def read_contribution(data: bytes) -> Contribution:
    """The contribution with these bytes."""
    return from_bytes(data, Contribution)


def plan(
    federation: Federation, site: str, block: str
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """The columns a site holds of a block, and the sites of it that come before."""
    names = [entry.name for entry in federation.sites]
    if site not in names:
        raise ConfigError(f"there is no site {site!r} in the federation{did_you_mean(site, names)}")
    place = names.index(site)
    entry = federation.sites[place]
    if block not in entry.blocks:
        raise ConfigError(f"site {site!r} has no block {block!r} in the federation{did_you_mean(block, entry.blocks)}")
    earlier = tuple((one.name, one.columns) for one in federation.sites[:place] if block in one.blocks)
    return entry.columns, earlier


def check_contribution(
    contribution: Contribution, configuration: Configuration, groups: int = 0, *, thorough: bool = True
) -> None:
    """Raise unless a contribution can be added: right configuration, right sums, and only what its site answers for.

    A ledger with `groups` holds the sums of so many groups of rows each. A `thorough` look also asks whether any rows
    can have these sums, which a site need not ask of its own.

    Raises
    ------
    ProtocolError
        When it was made for another configuration or says something impossible about itself.
    StatisticError
        When its numbers are no sums of rows.
    """
    who = f"the contribution of site {contribution.site!r} for block {contribution.block!r}"
    if contribution.configuration != configuration.digest:
        raise ProtocolError(
            f"{who} was made for other variables, or in another frame or grid than the ledger's; make it anew with the "
            "ledger's federation file"
        )
    _check_labels(contribution, configuration, who)
    if tuple(contribution.sums) != configuration.families:
        raise ProtocolError(f"{who} does not hold the sums {', '.join(configuration.families)}")
    for family, sums in contribution.sums.items():
        try:
            for part in _parts(sums, contribution, groups):
                _check_kind(part, family, configuration)
                part.check(configuration.variables)
                if thorough:
                    part.check_possible()
            _check_owned(total_of(sums), family, contribution, configuration)
        except StatisticError as problem:
            raise StatisticError(f"{who} cannot be used: {problem}") from None


def _parts(sums: Any, contribution: Contribution, groups: int) -> tuple[Any, ...]:
    """The sums, or those of every group."""
    if not groups:
        return (sums,)
    origin = contribution.site, contribution.block
    if sums.kind != GroupedSums.kind or set(sums.groups) != {origin} or len(sums.groups[origin]) != groups:
        raise StatisticError(f"the ledger holds sums of {groups} groups of rows, and these are others")
    return tuple(sums.groups[origin])


def total_of(sums: Any) -> Any:
    """The sums over all rows, of groups or not."""
    return sums.total() if sums.kind == GroupedSums.kind else sums


def _check_labels(contribution: Contribution, configuration: Configuration, who: str) -> None:
    """Raise unless names, version, purpose and columns make sense."""
    if not (contribution.site.strip() and contribution.block.strip()):
        raise ProtocolError("a contribution has no site or no block")
    if contribution.version < 1 or contribution.rows < 1 or contribution.purpose not in Purpose.__args__:  # type: ignore[attr-defined]
        raise ProtocolError(f"{who} has an impossible version, purpose or number of rows")
    if len(contribution.salt) != 2 * SALT_BYTES:
        raise ProtocolError(f"{who} has no proper salt")
    held = [contribution.columns, *(columns for _, columns in contribution.before)]
    if not all(columns and set(columns) <= set(configuration.variables) for columns in held):
        raise ProtocolError(f"{who} is about columns that are not variables of the ledger")
    sites = [contribution.site, *(site for site, _ in contribution.before)]
    if len(set(sites)) < len(sites):
        raise ProtocolError(f"{who} names a site twice")


def _check_kind(sums: Any, family: str, configuration: Configuration) -> None:
    """Raise unless these are the sums of a family, on the grid or in float64."""
    if sums.grid != configuration.grid:
        raise StatisticError("its sums are not on the ledger's grid")
    if not all(configuration.questions()[family].fits(plane) for plane in sums.planes):
        raise StatisticError(f"its {family} sums are of another kind or of other variables")


def _check_owned(sums: Any, family: str, contribution: Contribution, configuration: Configuration) -> None:
    """Raise if an entry that others answer for has rows here, or any has more rows than the block."""
    counts, owned = configuration.owned(family, sums.planes[0], contribution.layout(configuration.variables))
    if counts[~owned].any():
        raise StatisticError("it holds sums of columns that its site does not answer for")
    if (counts > contribution.rows).any():
        raise StatisticError("its sums are over more rows than it says")
