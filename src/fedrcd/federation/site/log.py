"""A site's own record of every question it was asked: what left, when, how large, by which door.

Only ever appended, each entry with the digest of the one before it, so that one that was changed or taken out shows.
It is on the disk before the answer leaves. It never leaves the site; the rules of disclosure that look back (the
budget, one frame, maps that grow by one) are judged by it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from fedrcd.errors import FileError
from fedrcd.federation.messages.printable import printable

START = "0" * 64
"""What the first entry follows."""

LONGEST_DETAIL = 2000
"""Characters of what is told of a question and of a failure: others choose what is in it."""

OF_OTHERS = ("question", "detail", "title", "purpose", "who")
"""Texts in which others choose what is said."""

ANSWERED = "answered"

CALLED = "roll call"
"""A site said what a run would meet there: nothing left."""

UNLIKE = "unlike the frame"
"""A column cannot be the quantity that was declared, as was told in a roll call: nothing left."""

DECIDED = "decided"
"""A person at the site approved or refused something, or allowed it in advance: nothing left."""

ENTERED = "console"
"""Somebody did something at the console of the site, or was not let in: nothing left."""

RENEWED = "renewed"
"""A person at the site allowed more numbers about rows: nothing left, and nothing was asked."""

STRUCK = "struck"
"""What a person at the site erased: nothing left, and nothing was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """What happened to one question for one block of rows.

    `digest` identifies the question, `version` the rows as they were; `frame` and `basis` are digests of the frame and
    of the moments behind a residual map, `sources` the variables regressed on, if any. `outcome` is "answered", or the
    code of a refusal, with `detail` for people at the site. `clips` says whether values were clipped on a grid, where
    the question leaves a choice; `groups` is the number of groups that rows were split into, if they were, and `split`
    tells one way to split from another. `within` says by what moments of their own rows were expressed before they were
    summed, if that was asked for. `trim` is empty, or tells how rows far out were left out. `family` names
    the kind of sums that a ledger stores, and their grid; `implied` says that they follow from others that left before.
    `answer` is the digest of what left, or of the sums that left under masks if it is `masked`. `loss` is what an
    answer with noise loses of privacy; the same again loses nothing. `title` and `purpose` are what the coordinator
    said of the run in its roll call; `who` is the person here who decided.
    """

    time: str
    run: str = ""  # texts that others choose may be empty, and are then not written
    round: int
    federation: str = ""
    digest: str = ""
    question: str = ""
    outcome: str
    block: str = ""
    numbers: int = 0
    rows: int = 0
    variables: int = 0
    version: str = ""
    frame: str = ""
    clips: bool | None = None
    basis: str = ""
    sources: tuple[int, ...] | None = None
    groups: int = 0
    split: str = ""
    within: str = "none"
    trim: str = ""
    family: str = ""
    implied: bool | None = None
    answer: str = ""
    masked: bool | None = None
    loss: float | None = None
    detail: str = ""
    title: str = ""
    purpose: str = ""
    who: str = ""


class LogLine(NamedTuple):
    """An entry as it is kept: a line of JSON, and its digest."""

    text: str
    hash: str


def chained(entries: Iterable[LogEntry], before: str) -> Iterator[LogLine]:
    """Entries as lines that follow each other."""
    for entry in entries:
        content = {key: value for key, value in asdict(entry).items() if value not in ("", None)}
        content |= {key: printable(content[key], LONGEST_DETAIL) for key in OF_OTHERS if key in content}
        text = json.dumps({"before": before, **content}, separators=(",", ":"), ensure_ascii=True)
        before = digest_of_line(text)
        yield LogLine(text, before)


def parsed(lines: Iterable[str], where: str) -> list[LogEntry]:
    """The entries of all lines, in order; `FileError` if one was changed or taken out."""
    entries, before = [], START
    for number, text in enumerate(lines, 1):
        entries.append(_parsed(text, before, f"{where}, line {number}"))
        before = digest_of_line(text)
    return entries


def digest_of_line(line: str) -> str:
    """What the next line is chained to."""
    return hashlib.sha256(line.encode()).hexdigest()


def _parsed(line: str, before: str, where: str) -> LogEntry:
    try:
        content: dict[str, Any] = json.loads(line)
        follows = content.pop("before")
        known = {field.name for field in fields(LogEntry)}
        if content.get("sources") is not None:
            content["sources"] = tuple(content["sources"])
        entry = LogEntry(**{key: value for key, value in content.items() if key in known})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FileError(f"{where}: not a line of a site's log") from None
    if follows != before:
        raise FileError(f"{where}: the line before it was changed or taken out; keep the file and ask who did it")
    return entry
