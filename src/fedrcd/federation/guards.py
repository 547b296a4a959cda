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
gaps                      rows with missing values are left out before anything is summed; no other way is offered
========================  =============================================================================================

Checks of assumptions need powers of residuals up to the twelfth, which is near that of the largest alone: they tell
about how far the farthest row lies from what the others predict, in each of p directions. Directions close to each
other would tell a row that lies far out in all of them: hence the rules on maps and on checks.

A kind of question without a rule here is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from fedrcd.federation.refusals import Refusal, Refused
from fedrcd.federation.site_log import ANSWERED, Entry
from fedrcd.methods.deflations.entropies import standardised_residuals
from fedrcd.protocol.groups import LEAST_GROUPS, GroupedQuestion
from fedrcd.protocol.questions import (
    Basis,
    EntropyQuestion,
    PairQuestion,
    Question,
    SiteMomentsQuestion,
    TensorQuestion,
)
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.protocol.wire import to_bytes
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.grouped_sums import GroupedSums
from fedrcd.statistics.residual_maps import residual_map
from fedrcd.typing import IntVector, Matrix

CLOSE = 1e-6
"""How far a residual map may be from the one it claims to be, relative to its largest entry; rounding of exact sums
stays far below."""


UNLIKE = 25.0
"""Times by which the variance of rows here may differ, in any direction, from what a question says it is over all."""

NO_VARIANCE = 1e-9
"""Eigenvalue of a correlation matrix below which rows do not vary in a direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The numbers in the rules; a site may only make them stricter."""

    rows: int = 100
    rows_per_variable: int = 10
    rows_per_tensor: float = 2.0
    """Rows, in multiples of what the full tensor determines."""
    levels: int = 5
    cell: int = 11
    share: float = 0.5
    """Of the rows, that all released numbers may determine."""
    checks: int = 3
    """Different questions for powers of residuals that may be answered about the same rows."""

    def needed_rows(self, p: int) -> int:
        """Complete rows that a block of p columns needs to be summed at all."""
        return max(self.rows, self.rows_per_variable * p)

    def needed_tensor_rows(self, p: int) -> int:
        """Rows that a block needs before the full tensor of p columns leaves."""
        return int(np.ceil(self.rows_per_tensor * (comb(p + 4, 4) - 1) / p))

    def budget(self, rows: int, p: int) -> int:
        """Numbers that may ever be released about a block."""
        return int(self.share * rows * p)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question put to one block: everything that the rules look at.

    `rows` are the complete rows of `block`, `columns` its columns; `frame` is the declared one, if it is declared;
    `history` is what the site logged about this federation. `version` tags the rows as they are; `split` gives the rows
    of each of some number of groups, and `split_tag` tells one way to split from another.
    """

    question: Question[Any]
    run: str
    variables: tuple[str, ...]
    frame: Frame | None
    columns: tuple[str, ...]
    rows: Matrix
    history: Sequence[Entry]
    rules: Rules
    block: str = ""
    version: str = ""
    split: Callable[[int], Sequence[IntVector]] | None = None
    split_tag: str = ""

    @property
    def p(self) -> int:
        """Columns of the block."""
        return len(self.columns)

    @property
    def answered(self) -> list[Entry]:
        """What left before."""
        return [entry for entry in self.history if entry.outcome == ANSWERED]

    @property
    def answered_for_block(self) -> list[Entry]:
        """What left before about this block."""
        return [entry for entry in self.answered if entry.block == self.block]


Check = Callable[[Case], None]


def check_question(case: Case) -> None:
    """Raise `Refused` unless every rule allows the question, before its answer is computed."""
    rules = KINDS.get(type(case.question))
    if rules is None:
        raise Refused(Refusal.QUESTION)
    if case.question.variables != case.variables:
        raise Refused(Refusal.QUESTION, "the question is not about all variables of the federation, in their order")
    for rule in rules:
        rule(case)


def check_budget(case: Case, numbers: int, answer: str) -> None:
    """Raise `Refused` if so many more numbers would be too many; the same answer again costs nothing.

    `answer` is the digest of what would leave.
    """
    spent = spent_numbers(case.history, case.block)
    known = any(entry.answer == answer for entry in case.answered_for_block)
    allowed = case.rules.budget(len(case.rows), case.p)
    if not known and spent + numbers > allowed:
        raise Refused(
            Refusal.BUDGET,
            f"{spent:,} numbers about block {case.block!r} were released, {numbers:,} more asked for, of {allowed:,}",
        )


def spent_numbers(history: Sequence[Entry], block: str) -> int:
    """Numbers released about a block so far: every distinct answer once."""
    distinct = {entry.answer: entry.numbers for entry in history if entry.outcome == ANSWERED and entry.block == block}
    return sum(distinct.values())


def numbers_in(sums: Any) -> int:
    """How many numbers about rows an answer tells; an exact one is a single number, however many bytes it takes."""
    if isinstance(sums, GroupedSums):
        return sum(numbers_in(part) for parts in sums.groups.values() for part in parts)
    counted = sums.low if isinstance(sums, ExactSums) else sums
    return int(counted.numbers)


def digest_of(value: Any) -> str:
    """A short digest of a value of the wire form; empty for None."""
    return "" if value is None else hashlib.sha256(to_bytes(value)).hexdigest()[:32]


def enough_rows(case: Case) -> None:
    """Refuse a block of few rows."""
    needed = case.rules.needed_rows(case.p)
    if len(case.rows) < needed:
        raise Refused(Refusal.ROWS, f"{len(case.rows)} complete rows; {needed} are needed for {case.p} columns")


def enough_rows_for_tensor(case: Case) -> None:
    """Refuse the full tensor of a block that it would nearly determine."""
    needed = case.rules.needed_tensor_rows(case.p)
    if len(case.rows) < needed:
        raise Refused(
            Refusal.TENSOR_ROWS, f"{len(case.rows)} complete rows; the tensor of {case.p} columns needs {needed}"
        )


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
    grid = case.question.grid  # type: ignore[attr-defined]
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


def no_filling(case: Case) -> None:
    """Refuse to fill gaps: what is observed where would leave with the sums."""
    if getattr(case.question, "given", None) is not None:
        raise Refused(Refusal.GAPS)


def pairs_of_levels(case: Case) -> None:
    """Refuse small cells of single few-level columns and of pairs of them."""
    _check_cells(case, 2)


def quadruples_of_levels(case: Case) -> None:
    """Refuse small cells of up to four few-level columns together."""
    _check_cells(case, 4)


def _check_cells(case: Case, most: int) -> None:
    small = next(small_cells(case.rows, case.columns, most, case.rules), None)
    if small is not None:
        names = ", ".join(map(repr, small))
        raise Refused(Refusal.CELLS, f"fewer than {case.rules.cell} rows share a combination of levels of {names}")


def small_cells(rows: Matrix, columns: Sequence[str], most: int, rules: Rules) -> Iterator[tuple[str, ...]]:
    """Combinations of up to `most` few-level columns with a cell that too few rows share."""
    levels = few_levels(rows, columns, rules.levels)
    for size in range(1, most + 1):
        for names in combinations(levels, size):
            codes = np.zeros(len(rows), dtype=np.int64)
            for name in names:
                codes = codes * (rules.levels + 1) + levels[name]
            counts = np.bincount(codes)
            if counts[counts > 0].min() < rules.cell:
                yield names


def few_levels(rows: Matrix, columns: Sequence[str], most: int) -> dict[str, Any]:
    """The columns with at most so many different values, each as codes from 0."""
    found = {}
    for name, values in zip(columns, rows.T, strict=True):
        if len(np.unique(values[:1000])) > most:
            continue
        levels, codes = np.unique(values, return_inverse=True)
        if len(levels) <= most:
            found[name] = codes
    return found


def honest_pair_map(case: Case) -> None:
    """Refuse residuals that are not those of least squares in the moments that came with them."""
    question = case.question
    assert isinstance(question, PairQuestion)
    if question.residuals is None:
        return
    basis = _basis(question.basis, case)
    R, _ = residual_map(basis.moments.cov, basis.sources)
    _require_close(question.residuals, R)
    _grows_by_one(case, basis)


def honest_entropy_map(case: Case) -> None:
    """As `honest_pair_map`, for residuals that are standardised; their offsets and correlations are checked too."""
    question = case.question
    assert isinstance(question, EntropyQuestion)
    basis = _basis(question.basis, case)
    true = standardised_residuals(basis.moments, basis.sources)
    u = len(true.variables)
    pairs = question.pairs
    if (
        pairs.ndim != 2
        or pairs.shape[1] != 2
        or ((pairs < 0) | (pairs >= u)).any()
        or (pairs[:, 0] == pairs[:, 1]).any()
    ):
        raise Refused(Refusal.MAP, "the pairs are not pairs of residuals")
    _require_close(question.residuals, true.R)
    _require_close(question.offset, true.offset)
    _require_close(question.rho, true.rho[pairs[:, 0], pairs[:, 1]])
    _grows_by_one(case, basis)


def honest_order(case: Case) -> None:
    """Refuse residuals along something that is not an order, or not the one that the run has found so far."""
    question = case.question
    assert isinstance(question, ResidualQuestion)
    basis = _basis(question.basis, case, most=len(case.variables))
    if len(basis.sources) != len(case.variables):
        raise Refused(Refusal.MAP, "residuals are asked for along an order of some of the variables")
    last = _last_residuals(case, basis)
    if last is not None and basis.sources[: len(last)] != last:
        raise Refused(Refusal.PREFIX)


def few_checks(case: Case) -> None:
    """Refuse residual powers along many different orders or moments: close to each other they tell single rows."""
    question = case.question
    assert isinstance(question, ResidualQuestion)
    p = len(case.variables)
    before = {
        (entry.basis, entry.sources)
        for entry in case.answered_for_block
        if entry.version == case.version and entry.sources is not None and len(entry.sources) == p
    }
    before.add((digest_of(question.basis.moments), question.basis.sources))
    if len(before) > case.rules.checks:
        raise Refused(Refusal.CHECKS)


def one_split(case: Case) -> None:
    """Refuse another split than before: where two cross, sets of rows are smaller than in either."""
    question = case.question
    assert isinstance(question, GroupedQuestion)
    before = {(entry.groups, entry.split) for entry in case.answered_for_block if entry.groups}
    if before - {(question.groups, case.split_tag)}:
        raise Refused(Refusal.SPLIT)


def group_by_group(case: Case) -> None:
    """Refuse unless every group of rows keeps the rules as if it were a block of its own."""
    question = case.question
    assert isinstance(question, GroupedQuestion)
    assert case.split is not None
    room = len(case.rows) // case.rules.needed_rows(case.p)
    if not LEAST_GROUPS <= question.groups <= room:  # before anybody splits into a million
        raise Refused(
            Refusal.GROUPS, f"{question.groups} groups; at least {LEAST_GROUPS}, and there is room for {room}"
        )
    for rows in case.split(question.groups):
        try:
            check_question(replace(case, question=question.each, rows=case.rows[rows], split=None))
        except Refused as refused:
            if refused.code in {Refusal.ROWS, Refusal.TENSOR_ROWS, Refusal.CELLS}:
                raise Refused(Refusal.GROUPS, f"in one of {question.groups} groups: {refused}") from None
            raise


def _basis(basis: Basis | None, case: Case, most: int | None = None) -> Basis:
    """The moments and sources a map claims to come from, if they can be such; all but one are sources at most."""
    if basis is None:
        raise Refused(Refusal.MAP, "the question does not say where its residual map comes from")
    p, moments, sources = len(case.variables), basis.moments, basis.sources
    if moments.cov.shape != (p, p) or moments.mean.shape != (p,) or len(set(sources)) != len(sources):
        raise Refused(Refusal.MAP)
    if not all(0 <= source < p for source in sources) or len(sources) > (most or p - 1):
        raise Refused(Refusal.MAP)
    finite = np.isfinite(moments.cov).all() and np.isfinite(moments.mean).all()
    if not finite or not np.array_equal(moments.cov, moments.cov.T):
        raise Refused(Refusal.MAP, "the covariance that came with the residual map is none")
    _require_like_own(case, moments)
    return basis


def _require_like_own(case: Case, moments: Gaussian) -> None:
    """Refuse a covariance far from that of the rows here: then residuals could be about anything.

    Compared in every direction in which the rows here vary, by the ratio of variances.
    """
    chosen = [case.columns.index(name) for name in case.variables]
    own = np.cov(case.question.frame.express(case.rows[:, chosen]).T, ddof=0).reshape(len(chosen), -1)
    sd = np.sqrt(np.diagonal(own))
    safe = np.where(sd > 0, sd, 1.0)
    rank = int((np.linalg.eigvalsh(own / np.outer(safe, safe)) > NO_VARIANCE).sum())
    try:
        W = np.linalg.inv(np.linalg.cholesky(moments.cov))
    except np.linalg.LinAlgError:
        raise Refused(Refusal.MAP, "the covariance that came with the residual map is none") from None
    ratios = np.linalg.eigvalsh(W @ own @ W.T)[len(own) - rank :]
    if not (np.isfinite(ratios).all() and (ratios >= 1 / UNLIKE).all() and (ratios <= UNLIKE).all()):
        raise Refused(Refusal.UNLIKE)


def _require_close(came: Matrix, true: Matrix) -> None:
    if came.shape != true.shape or not np.abs(came - true).max(initial=0) <= CLOSE * np.abs(true).max(initial=1):
        raise Refused(Refusal.MAP)


def _grows_by_one(case: Case, basis: Basis) -> None:
    """Refuse other moments than before in the run, and sources that are not those of before and at most one more."""
    last = _last_residuals(case, basis)
    if last is None:
        if len(basis.sources) > 1:
            raise Refused(Refusal.PREFIX, "the first residuals of a run are given at most one variable")
    elif basis.sources != last and basis.sources[:-1] != last:
        raise Refused(Refusal.PREFIX)


def _last_residuals(case: Case, basis: Basis) -> tuple[int, ...] | None:
    """The variables that the last residuals of this run were given, if there were any; they had the same moments."""
    before = [entry for entry in case.answered if entry.run == case.run and entry.sources is not None]
    if before and digest_of(basis.moments) != before[-1].basis:
        raise Refused(Refusal.MAP, "the covariance behind the residual maps changed within a run")
    return before[-1].sources if before else None


COMMON: tuple[Check, ...] = (no_filling, enough_rows)

KINDS: dict[type[Any], tuple[Check, ...]] = {
    PairQuestion: (*COMMON, one_frame, known_grid, pairs_of_levels, honest_pair_map),
    TensorQuestion: (*COMMON, one_frame, known_grid, enough_rows_for_tensor, quadruples_of_levels),
    EntropyQuestion: (*COMMON, one_frame, pairs_of_levels, honest_entropy_map),
    SiteMomentsQuestion: (*COMMON, frame_or_none, pairs_of_levels),
    ResidualQuestion: (*COMMON, one_frame, known_grid, pairs_of_levels, honest_order, few_checks),
    GroupedQuestion: (one_split, group_by_group),
}
"""The rules by kind of question."""
