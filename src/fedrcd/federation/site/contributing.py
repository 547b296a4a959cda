"""What a site puts into a ledger: the sums that one-round methods ask for, by the door of the site."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fedrcd.data.rows import count_rows
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import SALT_BYTES, Contribution, Purpose, check_contribution, plan
from fedrcd.federation.site.release import Door, Occasion, Released


def contribute(
    door: Door,
    configuration: Configuration,
    table: Table,
    *,
    version: int,
    purpose: Purpose,
    record: Callable[[Contribution], None] | None = None,
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
    version, purpose
        As in `Contribution`.
    record : callable
        Stores the contribution together with the log of what left.
    """
    columns, before = plan(door.federation, door.site, table.block)
    empty = Contribution(
        site=door.site,
        block=table.block,
        version=version,
        purpose=purpose,
        configuration=configuration.digest,
        columns=tuple(name for name in configuration.variables if name in columns),
        before=before,
        rows=count_rows(door.unstruck(table)),
        salt=door.store.surroundings.token_bytes(SALT_BYTES).hex(),
        sums={},
    )
    made: list[Contribution] = []

    def finish(released: list[Released]) -> None:
        made.append(_filled(empty, dict(zip(configuration.families, released, strict=True))))
        check_contribution(made[0], configuration, thorough=False)
        if record:
            record(made[0])

    questions = configuration.questions()
    occasion = Occasion(
        run=f"contribution {version}",
        round=1,
        digest=configuration.digest,
        layout=empty.layout(configuration.variables),
        federation="ledger",
        rejoins=True,  # whoever renews a block has said so
    )
    door.release([questions[family] for family in configuration.families], [table], occasion, finish)
    return made[0]


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
