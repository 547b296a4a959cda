"""The roll call: one message before the first round, in which every site says what the run would meet there.

No sums travel. A run that some site would refuse half-way does not start, so that no budget is spent on half a run; and
what a site declares here it cannot exceed later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version

from fedrcd.protocol.wire import KINDS, to_bytes
from fedrcd.statistics.units import Mismatch

PROGRAM = version("fedrcd")
"""The version of fedrcd here."""

Option = str | int | float | bool | None
"""A value of an option of a method."""


class LeftOutReason(StrEnum):
    """Why rows of a table do not take part."""

    GAPS = "gaps"
    TRIM = "trim"
    DOMINANT = "dominant"
    RARE = "rare"


class LeftOutShare(StrEnum):
    """How many of the rows, coarsely: a site tells no numbers of them."""

    FEW = "few"
    SOME = "some"
    MANY = "many"

    @classmethod
    def of(cls, part: int, whole: int) -> LeftOutShare:
        """That of some rows among all."""
        return cls.FEW if 20 * part < whole else cls.SOME if 5 * part < whole else cls.MANY


REASONS = {
    LeftOutReason.GAPS: "because values are missing",
    LeftOutReason.TRIM: "because values lie far out (--trim)",
    LeftOutReason.DOMINANT: "because each makes up much of a moment (--dominance)",
    LeftOutReason.RARE: "because few share their combination of levels (--suppress)",
}
SHARES = {
    LeftOutShare.FEW: "fewer than 5 % of its rows",
    LeftOutShare.SOME: "between 5 and 20 % of its rows",
    LeftOutShare.MANY: "more than 20 % of its rows",
}
MISMATCHES = {
    Mismatch.UNIT: "looks as if it were in another unit",
    Mismatch.LEVEL: "has another level",
    Mismatch.SPREAD: "has another spread",
}
"""In what a column of a site does not fit the declared frame."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will ask, as far as the sites need it to judge: everything that decides which questions come.

    `groups` is the number of groups of rows for a bootstrap, 0 for none; `check` says whether checks follow, `within`
    how sites express their rows, "auto" if that is found out.
    """

    method: str
    options: Mapping[str, Option]
    arithmetic: str
    groups: int
    check: bool
    within: str = "none"


@dataclass(frozen=True, slots=True, eq=False)
class RollCallRequest:
    """Asks a site what a run would meet there.

    `run` is the conversation that is to follow, `federation` the digest of the federation file, `cohort` all sites of
    the run in the order of the federation, `program` the version of fedrcd at the coordinator. `log_head` is what
    the site said last of how far its log goes, as far as the coordinator remembers it. `title` and `purpose` are for
    the people at the site; they decide nothing of what is asked.
    """

    run: str
    federation: str
    site: str
    cohort: tuple[str, ...]
    plan: Plan
    program: str
    log_head: str = ""
    title: str = ""
    purpose: str = ""

    @property
    def digest(self) -> str:
        """What identifies plan and cohort, whichever run it is."""
        state = hashlib.sha256(to_bytes(self.plan))
        state.update("\0".join((self.federation, *self.cohort)).encode())
        return state.hexdigest()


@dataclass(frozen=True, slots=True)
class DeclaredBlock:
    """What a site says of a block of rows that it will answer about.

    `edition` is its label, `rows` a bound on its rows, of two digits; `left_out` are reasons and shares, coarsely, and
    the same as long as the edition is. `unlike` are columns that cannot be the quantities that the federation file
    declares, and in what: a word of `Mismatch`, no figure. `few` are columns of at most five levels.
    """

    label: str
    edition: str
    rows: int
    left_out: tuple[tuple[str, str], ...] = ()
    unlike: tuple[tuple[str, str], ...] = ()
    few: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RollCallReply:
    """What a site says before a run: its blocks, and the first refusal that the run would meet, if there is one.

    `checks` is the refusal that only the checks after it would meet, `log_head` how far the site's log goes now.
    """

    site: str
    run: str = ""
    digest: str = ""
    program: str = ""
    blocks: tuple[DeclaredBlock, ...] = ()
    checks: str | None = None
    refusal: str | None = None
    log_head: str = ""


def bound_on(rows: int) -> int:
    """A number of rows, rounded up to two digits."""
    step: int = 10 ** max(0, len(str(rows)) - 2)
    return -(-rows // step) * step


KINDS["run-plan/2"] = Plan
KINDS["roll-call-request/3"] = RollCallRequest
KINDS["declared-block/1"] = DeclaredBlock
KINDS["roll-call-reply/2"] = RollCallReply
