"""Rules for questions about residuals: they are what they are called, and not chosen to isolate rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.site.rule_context import RuleContext
from fedrcd.methods.deflations.entropies import standardised_residuals
from fedrcd.protocol.questions import Basis
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.moved_residuals import moved_residuals
from fedrcd.statistics.residual_maps import residual_map
from fedrcd.typing import Matrix, Vector

CLOSE = 1e-6
"""How far a residual map may be from the one it claims to be, relative to its largest entry; rounding of exact sums
stays far below."""


UNLIKE = 25.0
"""Times by which the variance of rows here may differ, in any direction, from what a question says it is over all."""

MOST_MEAN = 1.0
"""How far the mean of a standardised quantity over the rows here may be from 0."""

MOST_SPREAD = 4.0
"""Times by which its variance over the rows here may differ from 1."""

NO_VARIANCE = 1e-9
"""Eigenvalue of a correlation matrix below which rows do not vary in a direction."""


def honest_pair_map(context: RuleContext) -> None:
    """Refuse residuals that are not those of least squares in the moments that came with them."""
    question: Any = context.question
    if question.residuals is None and question.basis is None:
        return
    if question.residuals is None:
        raise Refused(Refusal.MAP, "the question says where residuals come from and asks for none")
    basis = _basis(question.basis, context)
    R, _ = residual_map(basis.moments.cov, basis.sources)
    _require_close(question.residuals, R)
    _grows_by_one(context, basis)


def honest_entropy_map(context: RuleContext) -> None:
    """As `honest_pair_map`, for residuals that are standardised; their offsets and correlations are checked too."""
    question: Any = context.question
    basis = _basis(question.basis, context)
    true = standardised_residuals(basis.moments, basis.sources, question.grid)
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
    _grows_by_one(context, basis)


def honest_move_map(context: RuleContext) -> None:
    """Refuse anything but standardised residuals that moving one variable of an order can meet, as they are met."""
    question: Any = context.question
    basis, p = _basis(question.basis, context), len(context.variables)
    if sorted(question.order) != list(range(p)) or len(question.pairs) or not question.singles:
        raise Refused(Refusal.MAP, "the question does not say which order its residuals are about")
    _last_residuals(context, basis)
    there = moved_residuals(basis.moments.cov, question.order, exact=question.grid is not None)
    for row in question.residuals:
        if row.shape != (p,) or not any(_close(row, residual) for _, residual in there):
            raise Refused(Refusal.MAP)
    _require_close(question.offset, question.residuals @ basis.moments.mean)


def moments_like_own(context: RuleContext) -> None:
    """Refuse entropies of quantities that are not near standardised over the rows here.

    One site that colludes can set pooled moments; far from the rows' own they isolate the farthest of them.
    """
    question: Any = context.question
    mean, cov = moments_here(context)
    own_mean = question.residuals @ mean - question.offset
    own_cov = question.residuals @ cov @ question.residuals.T
    left, right = question.pairs.T
    scale = 1 / np.sqrt(1 - question.rho**2)
    means = np.concatenate([own_mean, scale * (own_mean[left] - question.rho * own_mean[right])])
    variance = np.diagonal(own_cov)
    crossed = variance[left] + question.rho**2 * variance[right] - 2 * question.rho * own_cov[left, right]
    variances = np.concatenate([variance, scale**2 * crossed])
    if not (
        (np.abs(means) <= MOST_MEAN).all() and (variances >= 1 / MOST_SPREAD).all() and (variances <= MOST_SPREAD).all()
    ):
        raise Refused(Refusal.UNLIKE, "over the rows here a standardised quantity is far from standardised")


def one_chain(context: RuleContext) -> None:
    """Refuse residuals of the same rows under other moments, or along another order, than in replays before.

    Two or three orders gave every cell of columns with few levels.
    """
    question: Any = context.question
    if question.basis is None:
        return
    moments, sources = digest_of(question.basis.moments), question.basis.sources
    for entry in context.answered_about_rows:
        if entry.version == context.version and entry.sources is not None and entry.masked:
            short, long = sorted((entry.sources, sources), key=len)
            if entry.basis != moments or long[: len(short)] != short:
                raise Refused(Refusal.CHAIN)


def honest_order(context: RuleContext) -> None:
    """Refuse residuals along something that is not an order, or not the one that the run has found so far."""
    question: Any = context.question
    basis = _basis(question.basis, context, most=len(context.variables))
    if len(basis.sources) != len(context.variables):
        raise Refused(Refusal.MAP, "residuals are asked for along an order of some of the variables")
    last = _last_residuals(context, basis)
    if last is not None and basis.sources[: len(last)] != last:
        raise Refused(Refusal.PREFIX)


def few_checks(context: RuleContext) -> None:
    """Refuse residual powers along many different orders or moments: close to each other they tell single rows."""
    question: Any = context.question
    p = len(context.variables)
    before = {
        (entry.basis, entry.sources)
        for entry in context.answered_about_rows
        if entry.version == context.version and entry.sources is not None and len(entry.sources) == p
    }
    before.add((digest_of(question.basis.moments), question.basis.sources))
    if len(before) > context.rules.checks:
        raise Refused(Refusal.CHECKS)


def _basis(basis: Basis | None, context: RuleContext, most: int | None = None) -> Basis:
    """The moments and sources a map claims to come from, if they can be such; all but one are sources at most."""
    if basis is None:
        raise Refused(Refusal.MAP, "the question does not say where its residual map comes from")
    p, moments, sources = len(context.variables), basis.moments, basis.sources
    if moments.cov.shape != (p, p) or moments.mean.shape != (p,) or len(set(sources)) != len(sources):
        raise Refused(Refusal.MAP)
    if not all(0 <= source < p for source in sources) or len(sources) > (most or p - 1):
        raise Refused(Refusal.MAP)
    finite = np.isfinite(moments.cov).all() and np.isfinite(moments.mean).all()
    if not finite or not np.array_equal(moments.cov, moments.cov.T):
        raise Refused(Refusal.MAP, "the covariance that came with the residual map is none")
    _require_like_own(context, moments)
    return basis


def _require_like_own(context: RuleContext, moments: Gaussian) -> None:
    """Refuse a covariance far from that of the rows here: then residuals could be about anything.

    Compared in every direction in which the rows here vary, by the ratio of variances.
    """
    own = _covariance(context)
    rank = _rank(own)
    try:
        W = np.linalg.inv(np.linalg.cholesky(moments.cov))
    except np.linalg.LinAlgError:
        raise Refused(Refusal.MAP, "the covariance that came with the residual map is none") from None
    ratios = np.linalg.eigvalsh(W @ own @ W.T)[len(own) - rank :]
    if not (np.isfinite(ratios).all() and (ratios >= 1 / UNLIKE).all() and (ratios <= UNLIKE).all()):
        raise Refused(Refusal.UNLIKE)


def rank_of_rows(context: RuleContext) -> int:
    """In how many directions the rows here vary."""
    return _rank(_covariance(context))


def _rank(own: Matrix) -> int:
    sd = np.sqrt(np.diagonal(own))
    safe = np.where(sd > 0, sd, 1.0)
    return int((np.linalg.eigvalsh(own / np.outer(safe, safe)) > NO_VARIANCE).sum())


def _covariance(context: RuleContext) -> Matrix:
    """The covariance of the rows here in the frame of the question."""
    return moments_here(context)[1]


def moments_here(context: RuleContext) -> tuple[Vector, Matrix]:
    """Mean and covariance of the rows here in the frame of the question, chunk by chunk."""
    chosen = [context.columns.index(name) for name in context.variables]
    frame, p = context.question.frame, len(chosen)
    mean, cov = np.zeros(p), np.zeros((p, p))
    for values, *_ in context.rows.chunks():
        mean += frame.express(values[:, chosen]).sum(axis=0)
    mean /= context.count
    for values, *_ in context.rows.chunks():
        centred = frame.express(values[:, chosen]) - mean
        cov += centred.T @ centred
    return mean, cov / context.count


def _require_close(came: Matrix, true: Matrix) -> None:
    if came.shape != true.shape or not _close(came, true):
        raise Refused(Refusal.MAP)


def _close(came: Matrix, true: Matrix) -> bool:
    return bool(np.abs(came - true).max(initial=0) <= CLOSE * np.abs(true).max(initial=1))


def _grows_by_one(context: RuleContext, basis: Basis) -> None:
    """Refuse other moments than before in the run, and sources that are not those of before and at most one more.

    What lies in the past is taken out first and together: the federation file says what that is, and nobody chooses.
    """
    last = _last_residuals(context, basis)
    if last is None:
        if len(basis.sources) > 1 and basis.sources != context.past:
            raise Refused(Refusal.PREFIX, "the first residuals of a run are given at most one variable")
    elif basis.sources not in (last, last or context.past) and basis.sources[:-1] != last:
        raise Refused(Refusal.PREFIX)


def _last_residuals(context: RuleContext, basis: Basis) -> tuple[int, ...] | None:
    """The variables that the last residuals of this run were given, if there were any; they had the same moments."""
    before = [entry for entry in context.answered if entry.run == context.run and entry.sources is not None]
    if before and digest_of(basis.moments) != before[-1].basis:
        raise Refused(Refusal.MAP, "the covariance behind the residual maps changed within a run")
    return before[-1].sources if before else None
