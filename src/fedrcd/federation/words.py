"""Questions in words, for people who decide whether their answers may leave."""

from __future__ import annotations

from typing import Any

from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.questions import (
    EntropyQuestion,
    ExpectationQuestion,
    PairQuestion,
    Question,
    SiteMomentsQuestion,
    TensorQuestion,
)
from fedrcd.protocol.residual_question import ResidualQuestion


def describe(question: Question[Any]) -> str:
    """What an answer would tell, in one line."""
    p = len(question.variables)
    if isinstance(question, PairQuestion):
        what = f"the row count and, for every pair of {p} variables, sums of products of powers up to order "
        if question.residuals is None:
            return f"{what}{question.order}"
        sources = len(question.basis.sources) if question.basis else p - len(question.residuals)
        given = f"{sources} of the variables" if sources != 1 else "one of the variables"
        u = len(question.residuals)
        return (
            f"the row count and, for every pair of {u} residuals given {given}, "
            f"sums of products of powers up to order {question.order}"
        )
    if isinstance(question, GroupedQuestion):
        return f"for each of {question.groups} secret groups of rows: {describe(question.each)}"
    if isinstance(question, ResidualQuestion):
        return (
            f"the row count and, for the residuals of {p} variables along an order, sums of powers up to the twelfth "
            "(which tells about how large the largest is), of products of pairs up to order 4 and with squares of "
            "variables, powers 4, 6 and 8 of the variables, and this site's own mean, variance and fourth moment"
        )
    if isinstance(question, TensorQuestion):
        return f"the row count and sums of all products of up to four of {p} variables"
    if isinstance(question, EntropyQuestion):
        return (
            f"the row count and, for {len(question.residuals)} residuals and {len(question.pairs)} residuals of pairs "
            "of them, two sums from which their entropy follows"
        )
    if isinstance(question, ExpectationQuestion):
        return f"sums of the expected first and second moments of {p} variables, gaps filled"
    if isinstance(question, SiteMomentsQuestion):
        return f"the row count and this site's own mean, variance and fourth moment of each of {p} variables"
    return f"the answer to a {type(question).__name__}"
