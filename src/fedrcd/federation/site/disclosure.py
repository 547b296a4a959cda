r"""Rules of disclosure: what a site refuses, whoever asks.

Sums of few rows are those rows: pair sums of order 4 determine up to 3p + 1 of them exactly, the full tensor more. A
question is an open query interface: free residual maps or frames would isolate single rows. And it all adds up over
rounds and runs. So before anything leaves, a site checks

========================  =============================================================================================
rows                      at least max(100, 10 p) complete rows in a block
tensor                    at least 2 (C(p + 4, 4) - 1) / p rows
cells                     every level of a column with at most 5 levels, and every combination of levels that the
                          statistic can see (2 columns, 4 for the tensor), is shared by 0 or at least 11 rows
budget                    all numbers ever released about a block, divided by its columns, are at most half its rows
maps                      residuals are those of least squares in the moments that come with the question; these are
                          roughly those of the rows here and stay the same in a run, and the variables regressed on
                          grow by one at a time
checks                    powers of residuals leave along at most 3 different orders or moments for the same rows
frame                     one for a federation: the declared one, or the first that was used; values are clipped and
                          rounded on one of the known grids, or never
groups                    sums of at least 10 groups of rows leave if every group keeps the rules on rows, tensor and
                          cells as if it were a block; rows are split once: into as many groups as the first time, by
                          the same secret, which stays here
trim                      rows far out are left out before anything is summed, or never: the limit is the site's own,
                          and stays the same in the same frame
gaps                      rows with missing values are left out before anything is summed; no other way is offered
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

from collections.abc import Callable, Sequence
from dataclasses import replace

from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.site.case import Case
from fedrcd.federation.site.cells import small_cells
from fedrcd.federation.site.log import ANSWERED, LogEntry
from fedrcd.federation.site.residual_rules import few_checks, honest_entropy_map, honest_order, honest_pair_map
from fedrcd.protocol.groups import LEAST_GROUPS
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC

Check = Callable[[Case], None]


def check_question(case: Case) -> None:
    """Raise `Refused` unless every rule allows the question, before its answer is computed."""
    names = case.question.rules
    if not names or any(name not in RULES for name in names):
        raise Refused(Refusal.QUESTION)
    if case.question.variables != case.variables:
        raise Refused(Refusal.QUESTION, "the question is not about all variables of the federation, in their order")
    for name in names:
        RULES[name](case)


def check_budget(case: Case, numbers: int, answer: str) -> None:
    """Raise `Refused` if so many more numbers would be too many; `answer` is the digest of what would leave.

    The same answer again costs nothing, nor do sums that follow from others of the same rows.
    """
    if is_implied(case) or any(entry.answer == answer for entry in case.answered_for_block):
        return
    spent, allowed = spent_numbers(case.history, case.block), case.rules.budget(case.count, case.p)
    if spent + numbers > allowed:
        raise Refused(
            Refusal.BUDGET,
            f"{spent:,} numbers about block {case.block!r} were released, {numbers:,} more asked for, of {allowed:,}",
        )


def spent_numbers(history: Sequence[LogEntry], block: str) -> int:
    """Numbers released about a block so far: every distinct answer once."""
    told = [one for one in history if one.outcome == ANSWERED and one.block == block and not one.implied]
    return sum({entry.answer: entry.numbers for entry in told}.values())


def is_implied(case: Case) -> bool:
    """Whether an answer follows from sums that left before, of the same rows in the same frame, on the same grid."""
    question = case.question
    implying = {_on_grid(family, case) for family in question.implied_by()}
    frame = digest_of(question.frame)
    return any(
        entry.family in implying and entry.version == case.version and entry.frame == frame
        for entry in case.answered_for_block
    )


def family_of(case: Case) -> str:
    """The family of sums that a question asks for, with their grid and share; empty if no ledger stores such."""
    return _on_grid(case.question.family, case) if case.question.family else ""


def _on_grid(family: str, case: Case) -> str:
    """A family of sums on the grid of a question, of the share of a site."""
    grid = case.question.grid
    return f"{family} {grid.bits if grid else 'float'} {case.share}".rstrip()


def coordinator_is_trusted(case: Case) -> None:
    """Refuse what depends on moments of the coordinator's choice, unless the site trusts it."""
    if case.trusted:
        return
    if case.question.needs_trust:
        raise Refused(Refusal.TRUST)
    if case.frame is None:
        raise Refused(Refusal.TRUST, "the federation file declares no frame, so the coordinator would choose one")


def enough_rows(case: Case) -> None:
    """Refuse a block of few rows."""
    needed = case.rules.needed_rows(case.p)
    if case.count < needed:
        raise Refused(Refusal.ROWS, f"{case.count} complete rows; {needed} are needed for {case.p} columns")


def enough_rows_for_tensor(case: Case) -> None:
    """Refuse the full tensor of a block that it would nearly determine."""
    needed = case.rules.needed_tensor_rows(case.p)
    if case.count < needed:
        raise Refused(Refusal.TENSOR_ROWS, f"{case.count} complete rows; the tensor of {case.p} columns needs {needed}")


def one_frame(case: Case) -> None:
    """Refuse any frame but the declared one; without one, any but the first that was used."""
    digest = digest_of(case.question.frame)
    if case.frame is not None:
        if digest != digest_of(case.frame):
            raise Refused(Refusal.FRAME)
        return
    used = {entry.frame for entry in case.answered} - {"", digest_of(Frame.identity(len(case.variables)))}
    if used and digest not in used:
        raise Refused(Refusal.FRAME)


def known_grid(case: Case) -> None:
    """Refuse grids of one's own, and float64 sums once there were clipped ones: the difference is the clipped rows."""
    grid = case.question.grid
    if grid not in ARITHMETIC.values():
        raise Refused(Refusal.FRAME, "the grid is none of the known ones")
    used = {entry.clips for entry in case.answered} - {None}
    if used and (grid is not None) not in used:
        raise Refused(Refusal.FRAME, "sums were released on a grid and are now asked for without, or the reverse")


def frame_or_none(case: Case) -> None:
    """As `one_frame`; the question that a frame is made from is asked in none, where none is declared."""
    undeclared = digest_of(Frame.identity(len(case.variables)))
    if case.frame is not None or digest_of(case.question.frame) != undeclared:
        one_frame(case)


def one_trim(case: Case) -> None:
    """Refuse rows that were trimmed otherwise before: the difference is the few rows between."""
    if {entry.trim for entry in case.answered_for_block} - {case.trim}:
        raise Refused(Refusal.TRIM)


def no_filling(case: Case) -> None:
    """Refuse to fill gaps: what is observed where would leave with the sums."""
    if case.question.given is not None:
        raise Refused(Refusal.GAPS)


def pairs_of_levels(case: Case) -> None:
    """Refuse small cells of single few-level columns and of pairs of them."""
    _check_cells(case, 2)


def quadruples_of_levels(case: Case) -> None:
    """Refuse small cells of up to four few-level columns together."""
    _check_cells(case, 4)


def _check_cells(case: Case, most: int) -> None:
    small = next(small_cells(case.rows, most, case.rules), None)
    if small is not None:
        names = ", ".join(map(repr, small))
        raise Refused(Refusal.CELLS, f"fewer than {case.rules.cell} rows share a combination of levels of {names}")


def one_split(case: Case) -> None:
    """Refuse another split than before: where two cross, sets of rows are smaller than in either."""
    question = case.question
    before = {(entry.groups, entry.split) for entry in case.answered_for_block if entry.groups}
    if before - {(question.groups, case.split_tag)}:
        raise Refused(Refusal.SPLIT)


def group_by_group(case: Case) -> None:
    """Refuse unless every group of rows keeps the rules as if it were a block of its own."""
    question = case.question
    assert case.split is not None
    room = case.count // case.rules.needed_rows(case.p)
    if not LEAST_GROUPS <= question.groups <= room:  # before anybody splits into a million
        raise Refused(
            Refusal.GROUPS, f"{question.groups} groups; at least {LEAST_GROUPS}, and there is room for {room}"
        )
    for rows in case.split(question.groups):
        try:
            check_question(replace(case, question=question.each, rows=rows, split=None))
        except Refused as refused:
            if refused.code in {Refusal.ROWS, Refusal.TENSOR_ROWS, Refusal.CELLS}:
                raise Refused(Refusal.GROUPS, f"in one of {question.groups} groups: {refused}") from None
            raise


RULES: dict[str, Check] = {
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
    "pair map": honest_pair_map,
    "entropy map": honest_entropy_map,
    "order": honest_order,
    "checks": few_checks,
    "split": one_split,
    "groups": group_by_group,
}
"""The rules by the names under which questions know them."""
