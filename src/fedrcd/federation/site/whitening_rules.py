"""The rule for questions about directions of rows: under their whitening the rows here look whitened.

Under a whitening that stretches one direction far, all rows but those with the very value of its centre have the same
direction, and what is left of the sums is those rows. Where rows far out count less, a whitening far from honest could
leave few others, too. Many whitenings would tell all that sums over the rows can tell; so where sites work them out by
themselves, with totals that one of them may have set, the same rows are asked about along one path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedrcd.errors import ProtocolError
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.site.residual_rules import rank_of_rows
from fedrcd.federation.site.rule_context import RuleContext
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.directions import LEAST_NEAR, LEAST_SPREAD, directions, spread_of
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.typing import Matrix


def honest_whitening(context: RuleContext) -> None:
    """Refuse a whitening under which the rows here are far from whitened, but for the one that every run starts with.

    Every variable by itself in the declared frame is where runs start.
    """
    question: Any = context.question
    p = len(context.variables)
    if not question.near:  # less those where far rows count less, such sums are the far rows
        raise Refused(Refusal.QUESTION, "directions are asked for with all rows alike, and are told with far ones less")
    try:
        question.whitening.require(p, question.grid)
    except ProtocolError as problem:
        raise Refused(Refusal.MAP, str(problem)) from None
    if not question.needs_trust:
        return
    spread, rank = _spread_of_own(context), rank_of_rows(context)
    if not np.linalg.eigvalsh(spread)[p - rank] >= LEAST_SPREAD:
        raise Refused(Refusal.MAP, "the rows here look much alike under the whitening of the question")


def one_path(context: RuleContext) -> None:
    """Refuse directions of the same rows under more whitenings than one run of the method asks about, in replays."""
    before = {
        entry.basis
        for entry in context.answered_about_rows
        if entry.version == context.version and entry.masked and entry.basis and entry.sources is None
    }
    before.add(digest_of(context.question.derived))
    if len(before) > context.rules.whitenings:
        raise Refused(Refusal.CHAIN)


def _spread_of_own(context: RuleContext) -> Matrix:
    """The spread of the directions of the rows here, chunk by chunk."""
    question: Any = context.question
    chosen = [context.columns.index(name) for name in context.variables]
    expressed = (question.frame.express(values[:, chosen]) for values, *_ in context.rows.chunks())
    points = directions(expressed, question.whitening, lifted=True, near=question.near)
    sums = pair_sums(points, len(chosen) + 1, 2)
    if np.trace(sums.at(1, 1)) < LEAST_NEAR * sums.count.max():
        raise Refused(Refusal.MAP, "most rows here are far from all others under the whitening of the question")
    return spread_of(sums)
