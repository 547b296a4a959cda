"""The budget: what was released, when, and may be; what each method would cost; a person's word that it may be more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from fedrcd.console.site.place import SitePlace
from fedrcd.console.tokens import ADMINISTER
from fedrcd.console.web import Page, Visit
from fedrcd.errors import ConfigError
from fedrcd.federation.site.budget import BlockBudget, Cost, SpentUnderNoise, budgets, costs, renew, spent_under_noise
from fedrcd.federation.site.log import ANSWERED, RENEWED, LogEntry

WIDTH, HEIGHT = 640, 160


@dataclass(frozen=True, slots=True)
class Spending:
    """How the numbers about a block grew: a line in the units of a chart, and every step in words."""

    block: str
    points: str
    steps: list[tuple[str, str, int, int]]
    most: int


def pages(place: SitePlace) -> list[Page]:
    """The budget, and its renewal."""

    def computed() -> tuple[list[BlockBudget], list[Cost], SpentUnderNoise | None]:
        with place.copy() as (door, tables):
            return budgets(door, tables), costs(door, tables), spent_under_noise(door, place.settings)

    def budget(visit: Visit) -> Response:
        found = visit.console.computations.find("budget", place.stamp, computed)
        with place.store() as store:
            entries = store.entries()
        return visit.show("site/budget.html", found=found, spending=spending(entries), width=WIDTH, height=HEIGHT)

    def renewal(visit: Visit) -> Response:
        numbers = visit.form.get("numbers", "").replace(",", "").strip()
        if not numbers.isdecimal():
            raise ConfigError("say how many further numbers are allowed")
        with place.door() as (door, tables):
            reason = f"{visit.form.get('reason', '').strip()}"
            if not reason:
                raise ConfigError("say why more is allowed: it is kept in the log")
            renewed = renew(door, tables, int(numbers), f"{visit.who}: {reason}", visit.form.get("block") or None)
        return visit.back("/budget", f"block {renewed.block}: {renewed.allowance.left:,} numbers may still leave")

    return [Page("/budget", budget, title="Budget"), Page("/budget/renew", renewal, ADMINISTER, acts=True)]


def spending(entries: Sequence[LogEntry]) -> list[Spending]:
    """What left and was allowed, block by block; the same answer again is no step."""
    found = []
    for block in sorted({one.block for one in entries if one.outcome == ANSWERED and one.block}):
        mine = [one for one in entries if one.block == block and one.outcome in {ANSWERED, RENEWED}]
        seen: set[tuple[str, str]] = set()
        steps, total = [], 0
        for one in mine:
            if one.outcome == RENEWED:
                steps.append((one.time, one.question, 0, total))
                continue
            if (one.version, one.answer) in seen or one.implied:
                continue
            seen.add((one.version, one.answer))
            total += one.numbers
            steps.append((one.time, one.question, one.numbers, total))
        found.append(Spending(block, _line([after for *_, after in steps]), steps[::-1], total))
    return found


def _line(totals: Sequence[int]) -> str:
    """Steps from the left to the right of the chart."""
    most, count = max([*totals, 1]), len(totals)
    points, before = [f"0,{HEIGHT}"], HEIGHT
    for k, total in enumerate(totals):
        x, y = round(WIDTH * (k + 1) / (count + 1)), round(HEIGHT * (1 - total / most))
        points += [f"{x},{before}", f"{x},{y}"]
        before = y
    return " ".join([*points, f"{WIDTH},{before}"])
