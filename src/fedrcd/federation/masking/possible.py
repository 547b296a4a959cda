"""Whether the sites of a federation can be asked under masks: by its file alone, so that no coordinator decides it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError
from fedrcd.federation.masking.coverage import require_hidden
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Question
from fedrcd.statistics.grid import ARITHMETIC


def why_clear(federation: Federation) -> str:
    """Why pair sums over all sites of a federation cannot be masked; empty if they can."""
    keyless = [site.name for site in federation.sites if not site.key]
    if keyless:
        return f"the federation file has no key of site {keyless[0]!r}"
    frame = federation.declared_frame()
    if frame is None:
        return "the federation file does not declare a frame for every variable"
    cohort = [site.name for site in federation.sites]
    question = PairQuestion(federation.variables, frame, 4, grid=ARITHMETIC["exact"])
    try:
        require_hidden(question, cohort_layout(federation, cohort), cohort, federation.colluding)
    except ConfigError as problem:
        return str(problem)
    return ""


def require_keys(federation: Federation) -> None:
    """Raise `ConfigError` unless the federation file has a key of every site."""
    keyless = [site.name for site in federation.sites if not site.key]
    if keyless:
        raise ConfigError(f"masks need a key of every site, and the federation file has none of {keyless[0]!r}")


def require_maskable(federation: Federation, questions: Iterable[Question[Any]]) -> None:
    """Raise `ConfigError` unless all sites of a federation can answer some questions under masks."""
    require_keys(federation)
    cohort = [site.name for site in federation.sites]
    for question in questions:
        if not question.maskable:
            raise ConfigError("only sums of whole numbers can be masked; take --arithmetic exact")
        require_hidden(question, cohort_layout(federation, cohort), cohort, federation.colluding)


def loss_of_one(federation: Federation) -> str:
    """What becomes of masked runs without some site, where there are no sites to spare; empty otherwise."""
    needed = federation.colluding + 2
    if len(federation.sites) > needed:
        return ""
    return (
        f"masks need {needed} sites and there are {len(federation.sites)}: without any one of them there is no result, "
        "unless every site agrees to the clear (--clear)"
    )


def described(federation: Federation) -> list[str]:
    """What can be masked over a federation, in sentences."""
    why = why_clear(federation)
    if why:
        return [f"masks: no, {why}"]
    loss = loss_of_one(federation)
    return ["masks: yes, sums of pairs over all sites", *([loss] if loss else [])]
