"""The rules for answers with noise, which depend on public constants and on what left before, and not on rows.

A refusal that depended on rows would tell of them without noise. So budgets are kept for the site as a whole: its loss
bounds that of every person, whichever editions that person is in, and no refusal tells who that is. For the same reason
a site lets sums out either with noise or without it, whatever rows they are about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.site.log import ANSWERED, LogEntry
from fedrcd.federation.site.rule_context import RuleContext
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.privacy_loss import composed

ROUNDING = 1e-9
"""By how much, relatively, sums of shares may miss the whole."""


def loss_spent(history: Iterable[LogEntry]) -> float:
    """What all different answers with noise have lost of privacy."""
    losses = {entry.answer: entry.loss for entry in history if entry.outcome == ANSWERED and entry.loss is not None}
    return composed(losses.values())


def require_loss(spent: float, loss: float, most: float) -> None:
    """Refuse to lose more of privacy than the site may."""
    if composed([spent, loss]) > most * (1 + ROUNDING):
        raise Refused(
            Refusal.LOSS, f"a loss of {spent:.4g} was spent and {loss:.4g} more asked for, of {most:.4g} in all"
        )


def require_offered(most: float, history: Iterable[LogEntry]) -> None:
    """Refuse noise at a site that offers none, or that sums have left without."""
    if not most:
        raise Refused(Refusal.NOISE, "this site offers no noise; see `fedrcd site serve --epsilon-budget`")
    if any(entry.outcome == ANSWERED and entry.loss is None for entry in history):
        raise Refused(
            Refusal.NOISE, "sums have left this site without noise: take a new --state for rows of none of them"
        )


def only_with_noise(context: RuleContext) -> None:
    """Refuse sums without noise at a site that offers noise, or has done so."""
    if context.most_loss or any(entry.loss is not None for entry in context.answered):
        raise Refused(Refusal.NOISE, "this site answers with noise, and nothing leaves it without")


def never_without_noise(context: RuleContext) -> None:
    """Refuse noise at a site that offers none, or that sums have left without; and noise that does not hide a row."""
    question: Any = context.question
    require_offered(context.most_loss, context.history)
    if not context.single_rows:
        raise Refused(Refusal.NOISE, "noise hides single rows, and several are protected as one")
    if context.trim or context.rules.suppress or context.rules.dominance < 1 or context.within != "none":
        raise Refused(Refusal.NOISE, "rows are left out, or expressed, by what others hold")
    if context.past:
        raise Refused(Refusal.NOISE, "every row holds steps of time that others hold, too: a person has several")
    if context.frame is None or digest_of(question.frame) != digest_of(context.frame):
        raise Refused(Refusal.FRAME)
    if question.grid is None or question.grid not in ARITHMETIC.values():
        raise Refused(Refusal.FRAME, "noise is for whole sums, on a known grid")
    losses = question.losses
    if not losses.by_degree or not all(0 < loss < math.inf for loss in losses.by_degree.values()):
        raise Refused(Refusal.NOISE, "the losses of the question are no losses")
    if not losses.part * context.noise_parts >= 1 - ROUNDING:
        raise Refused(Refusal.NOISE, "the parts of the noise do not make up all of it")
