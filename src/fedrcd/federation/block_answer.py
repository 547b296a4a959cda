"""The answer of one block of rows: its sums, if every rule of disclosure allows them."""

from __future__ import annotations

from typing import Any

from fedrcd.errors import StatisticError
from fedrcd.federation.guards import check_budget, check_question, numbers_in
from fedrcd.federation.refusals import Refusal, Refused
from fedrcd.federation.rules import Case
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.site import TableSite
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.coverage import Layout


def answer_block(case: Case, site: TableSite, layout: Layout | None) -> tuple[Any, dict[str, Any]]:
    """The sums that a question asks of a block which has a share in it, and what the log keeps of them.

    Raises
    ------
    Refused
        When a rule forbids them.
    """
    question: Any = case.question
    check_question(case)
    sums = site.answer(question, layout)
    assert sums is not None  # it has a share
    _require_finite(sums)
    numbers, answer = numbers_in(sums), digest_of(sums)
    check_budget(case, numbers, answer)
    each, groups = (question.each, question.groups) if isinstance(question, GroupedQuestion) else (question, 0)
    basis = getattr(each, "basis", None)
    kept = {
        "block": case.block,
        "numbers": numbers,
        "rows": len(case.rows),
        "variables": len(case.columns),
        "version": case.version,
        "frame": digest_of(question.frame),
        "clips": each.grid is not None if hasattr(each, "grid") else None,
        "basis": digest_of(basis.moments) if basis else "",
        "sources": basis.sources if basis else None,
        "groups": groups,
        "split": case.split_tag,
        "trim": case.trim,
        "answer": answer,
    }
    return sums, kept


def _require_finite(sums: Any) -> None:
    """Refuse sums that overflowed: where they do would tell how large the largest value is."""
    try:
        sums.check()
    except StatisticError as problem:
        raise Refused(Refusal.OVERFLOW, str(problem)) from None
