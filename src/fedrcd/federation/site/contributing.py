"""What a site puts into a ledger: the sums that one-round methods ask for, by the door of the site."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import SALT_BYTES, Contribution, Purpose, check_contribution, plan
from fedrcd.federation.site.editions.choosing import EditionChoice
from fedrcd.federation.site.editions.tables import Edition
from fedrcd.federation.site.release import LEDGER, Door, Occasion, Released
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.questions import Question


def contribute(
    door: Door,
    configuration: Configuration,
    table: Table,
    *,
    groups: int = 0,
    version: int,
    purpose: Callable[[EditionChoice], Purpose],
    record: Callable[[Contribution, Edition], None] | None = None,
) -> Contribution:
    """The contribution of a site's rows of one block, if every rule allows it to leave.

    Parameters
    ----------
    door : Door
        Of the site.
    configuration : Configuration
        Of the ledger it is for.
    table : Table
        The rows of one block. Those with gaps are left out of all sums.
    groups : int
        Of how many groups of rows the ledger holds sums; 0 for none.
    version : int
        As in `Contribution`.
    purpose : callable
        Why it is made, by the rows that are chosen.
    record : callable
        Stores the contribution, and the edition it is about, together with the log of what left.
    """
    columns, before = plan(door.federation, door.site, table.block)
    empty = Contribution(
        site=door.site,
        block=table.block,
        version=version,
        purpose="rows",
        configuration=configuration.digest,
        columns=tuple(name for name in configuration.variables if name in columns),
        before=before,
        rows=1,
        salt=door.store.surroundings.token_bytes(SALT_BYTES).hex(),
        sums={},
    )
    filling = _Filling(empty, configuration, groups, purpose, record)
    occasion = Occasion(
        run=f"contribution {version} of block {table.block}",
        round=1,
        digest=f"{configuration.digest} version {version} of block {table.block}",
        layout=empty.layout(configuration.variables),
        federation=LEDGER,
        rejoins=True,  # whoever renews a block has said so
    )
    door.release(ledger_questions(configuration, groups), [table], occasion, filling)
    return filling.contribution


@dataclass(slots=True)
class _Filling:
    """Makes a contribution of what leaves, while it is written down."""

    contribution: Contribution
    configuration: Configuration
    groups: int
    purpose: Callable[[EditionChoice], Purpose]
    record: Callable[[Contribution, Edition], None] | None

    def before(self, choice: EditionChoice) -> None:
        """Why it is made, by the rows that were chosen."""
        self.contribution = replace(self.contribution, purpose=self.purpose(choice))

    def after(self, released: list[Released], editions: Sequence[Edition]) -> None:
        """The sums, and how many rows they are of."""
        labelled = replace(self.contribution, rows=editions[0].block_rows)
        self.contribution = _filled(labelled, dict(zip(self.configuration.families, released, strict=True)))
        check_contribution(self.contribution, self.configuration, self.groups, thorough=False)
        if self.record:
            self.record(self.contribution, editions[0])


def ledger_questions(configuration: Configuration, groups: int) -> list[Question[Any]]:
    """What a ledger asks for, family by family, of all rows or group by group."""
    questions = configuration.questions()
    plain = [questions[family] for family in configuration.families]
    return [GroupedQuestion(question, groups) for question in plain] if groups else plain


def _filled(empty: Contribution, released: Mapping[str, Released]) -> Contribution:
    """The contribution with its sums."""
    sums: dict[str, Any] = {}
    for family, one in released.items():
        [(block, answer)] = one.blocks
        if answer is None:
            raise ConfigError(
                f"site {empty.site!r} answers for nothing of block {block!r}: sites before it hold its columns"
            )
        sums[family] = answer
    return replace(empty, sums=sums)
