"""Variables of few levels: what they do to arrows, in words for people."""

from __future__ import annotations

from collections.abc import Iterable

FEW_LEVELS = 5
"""Values up to which a variable is one of few levels."""


def note_on_few_levels(variables: Iterable[str]) -> str:
    """What to know of such variables, each as it is to be shown; empty if there are none."""
    listed = ", ".join(variables)
    if not listed:
        return ""
    return (
        f"few levels: {listed}. The model takes effects for linear and errors for continuous, so arrows into such a "
        "variable are doubtful, and arrows out of it are often there only because it cannot look like an effect. What "
        "nothing here can cause, such as sex or the arm of a trial, state as a root: Knowledge(exogenous=[...])"
    )
