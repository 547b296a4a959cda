"""Whether an answer has the form its question asks for: what a sum's own `check` cannot know."""

from __future__ import annotations

from typing import Any

from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.questions import EntropyQuestion, PairQuestion, Question, SiteMomentsQuestion, TensorQuestion
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.statistics.entropy_sums import EntropySums
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.grouped_sums import GroupedSums, Origin
from fedrcd.statistics.pair_sums import POWERS, PairSums
from fedrcd.statistics.residual_sums import ResidualSums
from fedrcd.statistics.site_moments import SiteMoments
from fedrcd.statistics.tensor_sums import TensorSums


def fits(question: Question[Any], sums: Any, origin: Origin) -> bool:
    """Whether sums are of the kind and the size that were asked for; `origin` is whose they are."""
    if isinstance(question, GroupedQuestion):
        if not isinstance(sums, GroupedSums) or set(sums.groups) != {origin}:
            return False
        parts = sums.groups[origin]
        return len(parts) == question.groups and all(fits(question.each, part, origin) for part in parts)
    grid = question.grid if isinstance(question, PairQuestion | TensorQuestion) else None
    if isinstance(sums, ExactSums):
        return sums.grid == grid and _fits(question, sums.low) and _fits(question, sums.high)
    return grid is None and _fits(question, sums)


def _fits(question: Question[Any], sums: Any) -> bool:
    p = len(question.variables)
    if isinstance(question, PairQuestion):
        u = p if question.residuals is None else len(question.residuals)
        return (
            isinstance(sums, PairSums)
            and sums.order == question.order
            and tuple(sums.sums) == POWERS[question.order]
            and all(values.ndim == 2 and len(values) == u for values in sums.sums.values())
        )
    if isinstance(question, TensorQuestion):
        return isinstance(sums, TensorSums) and sums.p == p and sums.packed.ndim == 1
    if isinstance(question, EntropyQuestion):
        m = len(question.pairs) + (len(question.residuals) if question.singles else 0)
        return isinstance(sums, EntropySums) and sums.log_cosh.shape == sums.gauss.shape == (m,)
    if isinstance(question, SiteMomentsQuestion):
        return isinstance(sums, SiteMoments) and sums.sums.shape == (7, p)
    if isinstance(question, ResidualQuestion):
        return isinstance(sums, ResidualSums) and sums.fits(p)
    return False
