"""What a site's own copy of a method asks first, to be held against what the coordinator asks."""

from __future__ import annotations

from typing import Any, NamedTuple

from fedrcd.confidence.replicates import one_round
from fedrcd.data.federation import Federation
from fedrcd.errors import FedrcdError
from fedrcd.federation.site.approvals import CalledRun
from fedrcd.methods.registry import build, find
from fedrcd.methods.skeleton import Parts
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.in_process import WITHIN, after_own
from fedrcd.protocol.questions import Question
from fedrcd.protocol.transport import Setting
from fedrcd.protocol.wire import to_bytes
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.grid import ARITHMETIC


class Compared(NamedTuple):
    """Whether a question is what the site's own copy of the method asks, and that in words."""

    is_own: bool
    words: str


def parts_of(method: str, options: dict[str, Any], groups: int) -> Parts[Any]:
    """The method as a run takes it: with groups, the one of one round that gives the same order."""
    return one_round(find(method), options) if groups else build(method, **options)


def compared_with_own(
    question: Question[Any], federation: Federation, layout: Layout | None, run: CalledRun | None
) -> Compared:
    """What the site's own copy of the method of a run says to a question that was asked in the clear."""
    if run is None:
        return Compared(False, "no roll call told of this run: nobody said which method it is of, or what it is for")
    if question.each.needs_trust or federation.declared_frame() is None:
        return Compared(False, "it depends on numbers of the coordinator's choice, which this site cannot work out")
    try:
        own = _first_question(federation, layout, run)
    except (FedrcdError, TypeError, ValueError, KeyError, StopIteration):
        return Compared(False, f"what {run.method} asks could not be worked out here")
    if to_bytes(own) == to_bytes(question):
        return Compared(True, f"the same as {run.method} asks first, worked out here from the federation file")
    return Compared(False, f"NOT what {run.method} asks first by the federation file, which is: {own.describe()}")


def _first_question(federation: Federation, layout: Layout | None, run: CalledRun) -> Question[Any]:
    plan, frame = run.plan, federation.declared_frame()
    assert frame is not None  # was looked at before
    within = next(one for one in WITHIN if one == plan["within"])
    setting = Setting(federation.variables, after_own(frame, within), layout, grid=ARITHMETIC[plan["arithmetic"]])
    asked: Question[Any] = next(parts_of(run.method, dict(plan["options"]), plan["groups"]).rounds(setting))
    if plan["groups"]:
        asked = GroupedQuestion(asked, plan["groups"])  # type: ignore[arg-type]
    return asked
