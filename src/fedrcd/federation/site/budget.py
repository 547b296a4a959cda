"""How many numbers about its rows a site has released and may release, and a person's word that it may be more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fedrcd.data.rows import count_rows
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.federation.messages.printable import printable
from fedrcd.federation.site.disclosure import Allowance, allowance
from fedrcd.federation.site.editions.choosing import Inquiry
from fedrcd.federation.site.editions.exposure import exposures
from fedrcd.federation.site.log import ANSWERED, RENEWED, LogEntry
from fedrcd.federation.site.noise_rules import loss_spent
from fedrcd.federation.site.preview import preview
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.methods.registry import METHODS
from fedrcd.protocol.questions import PAIR_DEPTH
from fedrcd.statistics.privacy_loss import epsilon_of


@dataclass(frozen=True, slots=True)
class BlockBudget:
    """The budget of the rows of a block: `edition` is the label of those that would be answered about."""

    block: str
    edition: str
    is_new: bool
    """Whether nothing left about exactly these rows yet."""
    rows: int
    columns: int
    most: int
    """Rows of the subject that has most."""
    allowance: Allowance


class Cost(NamedTuple):
    """What a method would cost: numbers of all its questions, and why the site would refuse it, if it would."""

    method: str
    numbers: int
    whole: bool
    """Whether these are all its questions: a site that lacks columns does not know the later ones."""
    refusal: str


class SpentUnderNoise(NamedTuple):
    """Epsilon of all answers with noise at a delta, of the most that there may be."""

    spent: float
    budget: float
    delta: float
    answers: int


def spent_under_noise(door: Door, served: SiteSettings | None) -> SpentUnderNoise | None:
    """What answers with noise have spent; None at a site that never gave any, and offers none."""
    history = door.store.entries()
    answers = len({entry.answer for entry in history if entry.outcome == ANSWERED and entry.loss is not None})
    budget, delta = (0.0, 1e-6) if served is None else (served.epsilon_budget, served.delta)
    if not (answers or budget):
        return None
    return SpentUnderNoise(epsilon_of(loss_spent(history), delta), budget, delta, answers)


def budgets(door: Door, tables: Sequence[Table]) -> list[BlockBudget]:
    """The budget of every block, of the rows that would be answered about now."""
    history = door.store.entries()
    with door.chosen(Inquiry(depth=PAIR_DEPTH), tables) as choice:
        return [
            BlockBudget(
                one.rows.block,
                label,
                one.edition is None,
                rows := count_rows(one.rows),
                p := len(one.rows.columns),
                one.most,
                allowance(history, exposure.vectors, label, door.rules_for(one.most).budget(rows, p)),
            )
            for one, label, exposure in zip(choice.blocks, choice.labels, exposures(choice), strict=True)
        ]


def costs(door: Door, tables: Sequence[Table]) -> list[Cost]:
    """What every method for federations would cost here, in the order of their names."""
    found = []
    for name in sorted(name for name, card in METHODS.items() if not card.one_table):
        seen = preview(door, tables, name)
        refusal = next((one.refusal for one in seen.releases if one.refusal), "")
        found.append(Cost(name, sum(one.numbers for one in seen.releases), seen.whole, refusal))
    return found


def renew(door: Door, tables: Sequence[Table], numbers: int, reason: str, block: str | None = None) -> BlockBudget:
    """Allow more numbers about the rows of a block; it is in the log before this returns.

    Raises
    ------
    ConfigError
        When it is not said why, nothing left about these rows, or the numbers would be as many as the rows have values.
    """
    if not reason.strip():
        raise ConfigError("say why, with --reason: it is kept in the log")
    chosen = [one for one in budgets(door, tables) if block in {None, one.block}]
    if len(chosen) != 1:
        known = ", ".join(repr(table.block) for table in tables)
        raise ConfigError(f"say of which block, with --block: there are {known}")
    [one] = chosen
    base = door.rules_for(one.most).budget(one.rows, one.columns)
    most = 2 * base - one.allowance.allowed
    if one.is_new:
        raise ConfigError("nothing left about these rows yet: their budget is whole")
    if not 0 < numbers <= most:
        raise ConfigError(
            f"at most {most:,} further numbers can be allowed about block {one.block!r}, and at least 1: with more "
            "they would be as many as the rows have values, and could be solved for them. New rows bring a budget of "
            "their own"
        )
    door.store.append(
        [
            LogEntry(
                time=door.store.now(),
                round=0,
                question=f"a person here allowed {numbers:,} further numbers",
                outcome=RENEWED,
                block=one.block,
                numbers=numbers,
                rows=one.rows,
                version=one.edition,
                detail=printable(reason),
            )
        ]
    )
    return next(again for again in budgets(door, tables) if again.block == one.block)
