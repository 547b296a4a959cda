r"""Rules of disclosure: what a site refuses, whoever asks.

Sums of few rows are those rows: pair sums of order 4 determine up to 3p + 1 of them exactly, the full tensor more. A
question is an open query interface: free residual maps or frames would isolate single rows. And it all adds up over
rounds and runs. So before anything leaves, a site checks

========================  =============================================================================================
rows                      at least max(100, 10 p) complete rows in a block
tensor                    at least 2 (C(p + 4, 4) - 1) / p rows
cells                     every level of a column with at most 5 levels, and every combination of levels that the
                          statistic can see (2 columns, 4 for the tensor), is shared by 0 or at least 11 rows
budget                    all numbers ever released about a person, divided by the columns, are at most half the rows;
                          a person at the site may allow more, up to as many again
maps                      residuals are those of least squares in the moments that come with the question; these are
                          roughly those of the rows here and stay the same in a run, and the variables regressed on
                          grow by one at a time; directions are of rows that look whitened here
checks                    powers of residuals leave along at most 3 different orders or moments for the same rows
frame                     one for ever: the declared one, or the first that was used; values are clipped and
                          rounded on one of the known grids, or never
groups                    sums of at least 10 groups of rows leave if every group keeps the rules on rows, tensor and
                          cells as if it were a block; rows are split once: into as many groups as the first time, by
                          the same secret, which stays here
trim                      rows far out are left out before anything is summed, or never: the limit is the site's own,
                          and stays the same in the same frame
replay                    where a site works a question out itself, from totals over all sites: up to four few-level
                          columns together, and all of them for entropies and directions, have 0 or at least 11 rows
                          in every cell; standardised quantities have means and variances near 0 and 1 here, too; and
                          the same rows are asked about along one order, under the same moments, and under at most 6
                          whitenings, as many as one run takes
gaps                      rows with missing values are left out before anything is summed; no other way is offered
noise                     sums leave with noise or without it, never both; with noise, no rule here depends on rows,
                          and what all answers lose of privacy stays within the site's budget
trust                     residuals, entropies and whatever else depends on moments that the coordinator chose, and
                          anything in a frame that is not declared, leave only a site that trusts its coordinator:
                          with moments of its own choice a coordinator rebuilt whole rows
========================  =============================================================================================

Checks of assumptions need powers of residuals up to the twelfth, which is near that of the largest alone: they tell
about how far the farthest row lies from what the others predict, in each of p directions. Directions close to each
other would tell a row that lies far out in all of them: hence the rules on maps and on checks.

A question says by their names which rules it falls under. One that names none, or one that is not here, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.site.cell_counts import least_joint_cell, narrowed, small_cells
from fedrcd.federation.site.log import ANSWERED, RENEWED, LogEntry
from fedrcd.federation.site.noise_rules import never_without_noise, only_with_noise
from fedrcd.federation.site.residual_rules import (
    few_checks,
    honest_entropy_map,
    honest_move_map,
    honest_order,
    honest_pair_map,
    moments_like_own,
    one_chain,
)
from fedrcd.federation.site.rule_context import RAW, RuleContext
from fedrcd.federation.site.whitening_rules import honest_whitening, one_path
from fedrcd.protocol.groups import LEAST_GROUPS
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC

NOISE = "noise"
"""The rule of questions that are answered with noise, and what the others must not be mixed with."""

Rule = Callable[[RuleContext], None]


def check_question(context: RuleContext) -> None:
    """Raise `Refused` unless every rule allows the question, before its answer is computed."""
    names = context.question.rules
    if names and context.replayed:
        beside = context.question.replay_rules
        names = None if beside is None else (*names, *beside)
    if not names or any(name not in RULES for name in names):
        raise Refused(Refusal.QUESTION)
    if context.question.variables != context.variables:
        raise Refused(Refusal.QUESTION, "the question is not about all variables of the federation, in their order")
    if NOISE not in (*names, *context.rules.off):
        only_with_noise(context)
    for name in names:
        if name not in context.rules.off:
            RULES[name](context)


def check_budget(context: RuleContext, numbers: int, answer: str) -> None:
    """Raise `Refused` if so many more numbers would be too many; `answer` is the digest of what would leave.

    The same answer again costs nothing, nor do sums that follow from others of the same rows.
    """
    if (
        "budget" in context.rules.off
        or is_implied(context)
        or any(entry.answer == answer for entry in context.answered_about_rows)
    ):
        return
    spent, allowed = allowance(
        context.history, context.vectors, context.version, context.rules.budget(context.count, context.p)
    )
    if spent + numbers > allowed:
        raise Refused(
            Refusal.BUDGET,
            f"{spent:,} numbers about block {context.block!r} were released, {numbers:,} more asked for, "
            f"of {allowed:,}; see `fedrcd site budget`",
        )


class Allowance(NamedTuple):
    """Numbers released about some rows so far, and how many may ever be."""

    spent: int
    allowed: int

    @property
    def left(self) -> int:
        """How many may still be."""
        return max(0, self.allowed - self.spent)


def allowance(history: Sequence[LogEntry], vectors: Iterable[frozenset[str]], version: str, budget: int) -> Allowance:
    """What was released about rows and what may be, of the person with least left; every distinct answer counts once.

    `vectors` are the labels of the editions that persons of these rows were in, `version` that of these rows, `budget`
    what may be released without a person's word. However often a person allows more, it is at most that much again.
    """
    told = [entry for entry in history if entry.outcome == ANSWERED and not entry.implied]
    renewed = [entry for entry in history if entry.outcome == RENEWED]
    each = []
    for vector in (*vectors, frozenset[str]()):
        labels = vector | {version}
        more = sum(entry.numbers for entry in renewed if entry.version in labels)
        each.append(Allowance(_total(told, labels), budget + min(more, budget)))
    return min(each, key=lambda one: one.allowed - one.spent)


def _total(entries: Iterable[LogEntry], editions: frozenset[str]) -> int:
    return sum({entry.answer: entry.numbers for entry in entries if entry.version in editions}.values())


def is_implied(context: RuleContext) -> bool:
    """Whether an answer follows from sums that left before, of the same rows in the same frame, on the same grid."""
    question = context.question
    implying = {_on_grid(family, context) for family in question.implied_by()}
    frame = digest_of(question.frame)
    return any(
        entry.family in implying and entry.version == context.version and entry.frame == frame
        for entry in context.answered_about_rows
    )


def family_of(context: RuleContext) -> str:
    """The family of sums that a question asks for, with their grid and share; empty if no ledger stores such."""
    return _on_grid(context.question.family, context) if context.question.family else ""


def _on_grid(family: str, context: RuleContext) -> str:
    """A family of sums on the grid of a question, of the share of a site."""
    grid = context.question.grid
    return f"{family} {grid.bits if grid else 'float'} {context.share}".rstrip()


def coordinator_is_trusted(context: RuleContext) -> None:
    """Refuse what depends on moments of the coordinator's choice, unless the site trusts it."""
    if context.trusted:
        return
    if context.question.needs_trust:
        raise Refused(Refusal.TRUST)
    if context.frame is None:
        raise Refused(Refusal.TRUST, "the federation file declares no frame, so the coordinator would choose one")


def enough_rows(context: RuleContext) -> None:
    """Refuse a block of few rows."""
    needed = context.rules.needed_rows(context.p)
    if context.count < needed:
        raise Refused(Refusal.ROWS, f"{context.count} complete rows; {needed} are needed for {context.p} columns")


def enough_rows_for_tensor(context: RuleContext) -> None:
    """Refuse the full tensor of a block that it would nearly determine."""
    needed = context.rules.needed_tensor_rows(context.p)
    if context.count < needed:
        raise Refused(
            Refusal.TENSOR_ROWS, f"{context.count} complete rows; the tensor of {context.p} columns needs {needed}"
        )


def one_frame(context: RuleContext) -> None:
    """Refuse any frame but the declared one, and any but the first in which sums left: differences isolate rows."""
    question = context.question
    if context.frame is not None and digest_of(question.frame) != digest_of(context.frame):
        raise Refused(Refusal.FRAME)
    before = {entry.within for entry in context.answered_about_rows} - {RAW}
    if before - {context.within}:
        raise Refused(Refusal.FRAME, f"these rows were summed with within={min(before)!r} before, which stays")
    values = zip(question.frame.centre.tolist(), question.frame.scale.tolist(), strict=True)
    for name, one in zip(question.variables, values, strict=True):
        if context.pinned.get(name, one) != one:
            raise Refused(Refusal.FRAME, f"sums of {name!r} left in another frame before, which stays")


def known_grid(context: RuleContext) -> None:
    """Refuse grids of one's own, and float64 sums once there were clipped ones: the difference is the clipped rows."""
    grid = context.question.grid
    if grid not in ARITHMETIC.values():
        raise Refused(Refusal.FRAME, "the grid is none of the known ones")
    used = {entry.clips for entry in context.answered} - {None}
    if used and (grid is not None) not in used:
        raise Refused(Refusal.FRAME, "sums were released on a grid and are now asked for without, or the reverse")


def frame_or_none(context: RuleContext) -> None:
    """As `one_frame`; moments from which a frame is made, or which tell sites that differ, are asked for in none."""
    if digest_of(context.question.frame) != digest_of(Frame.identity(len(context.variables))):
        one_frame(context)


def one_trim(context: RuleContext) -> None:
    """Refuse rows that were trimmed otherwise before: the difference is the few rows between."""
    if {entry.trim for entry in context.answered_about_rows} - {context.trim}:
        raise Refused(Refusal.TRIM)


def no_filling(context: RuleContext) -> None:
    """Refuse to fill gaps: what is observed where would leave with the sums."""
    if context.question.given is not None:
        raise Refused(Refusal.GAPS)


def pairs_of_levels(context: RuleContext) -> None:
    """Refuse small cells of single few-level columns and of pairs of them."""
    _check_cells(context, 2)


def quadruples_of_levels(context: RuleContext) -> None:
    """Refuse small cells of up to four few-level columns together."""
    _check_cells(context, 4)


def all_levels_together(context: RuleContext) -> None:
    """Refuse small cells of all few-level columns together: from entropies along some orders each cell follows."""
    least = least_joint_cell(context.rows, context.rules)
    if least < context.rules.cell:
        raise Refused(
            Refusal.CELLS, f"fewer than {context.rules.cell} rows share a combination of all few-level columns"
        )


def _check_cells(context: RuleContext, most: int) -> None:
    small = next(small_cells(context.few_levels or context.rows, most, context.rules), None)
    if small is not None:
        names = ", ".join(map(repr, small))
        raise Refused(Refusal.CELLS, f"fewer than {context.rules.cell} rows share a combination of levels of {names}")


def one_split(context: RuleContext) -> None:
    """Refuse another split than before: where two cross, sets of rows are smaller than in either."""
    question = context.question
    before = {(entry.groups, entry.split) for entry in context.answered_about_rows if entry.groups}
    if before - {(question.groups, context.split_tag)}:
        raise Refused(Refusal.SPLIT)


def group_by_group(context: RuleContext) -> None:
    """Refuse unless every group of rows keeps the rules as if it were a block of its own."""
    question = context.question
    assert context.split is not None
    if context.past and not context.rows.identified:
        raise Refused(Refusal.GROUPS, "rows of a series are grouped by subjects, whom the federation file protects not")
    room = context.count // context.rules.needed_rows(context.p)
    if not LEAST_GROUPS <= question.groups <= room:  # before anybody splits into a million
        raise Refused(
            Refusal.GROUPS, f"{question.groups} groups; at least {LEAST_GROUPS}, and there is room for {room}"
        )
    split = context.split(question.groups)
    with narrowed(split, context.rules.levels) as few_levels:
        for rows, few in zip(split, few_levels, strict=True):
            try:
                check_question(replace(context, question=question.each, rows=rows, split=None, few_levels=few))
            except Refused as refused:
                if refused.code in {Refusal.ROWS, Refusal.TENSOR_ROWS, Refusal.CELLS}:
                    raise Refused(Refusal.GROUPS, f"in one of {question.groups} groups: {refused}") from None
                raise


RULES: dict[str, Rule] = {
    "trust": coordinator_is_trusted,
    "gaps": no_filling,
    "trim": one_trim,
    "rows": enough_rows,
    "frame": one_frame,
    "frame or none": frame_or_none,
    "grid": known_grid,
    "tensor rows": enough_rows_for_tensor,
    "pair cells": pairs_of_levels,
    "quadruple cells": quadruples_of_levels,
    "joint cells": all_levels_together,
    "own moments": moments_like_own,
    "one chain": one_chain,
    "pair map": honest_pair_map,
    "entropy map": honest_entropy_map,
    "move map": honest_move_map,
    "whitening": honest_whitening,
    "one path": one_path,
    "order": honest_order,
    "checks": few_checks,
    "split": one_split,
    "groups": group_by_group,
    NOISE: never_without_noise,
}
"""The rules by the names under which questions know them."""
