"""The log: searched, verified, printed, saved as a table; and the runs in it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from starlette.responses import Response

from fedrcd.console.site.place import SitePlace
from fedrcd.console.web import Page, Visit, text_file
from fedrcd.errors import FedrcdError, FileError
from fedrcd.federation.site.log import ANSWERED, CALLED, DECIDED, ENTERED, RENEWED, STRUCK, UNLIKE, LogEntry
from fedrcd.federation.site.release import REPEATED

PER_PAGE = 100

SEARCHED = ("run", "title", "purpose", "question", "detail", "who", "block", "outcome")

KINDS = {
    "answered": {ANSWERED, REPEATED},
    "decided": {DECIDED, RENEWED, STRUCK},
    "roll calls": {CALLED, UNLIKE},
    "console": {ENTERED},
}
"""Kinds of entries; all others are refusals."""

REFUSALS = "refused"

DANGEROUS = "=+-@\t\r"
"""With which a cell begins that a spreadsheet would run."""


def kind_of(entry: LogEntry) -> str:
    """Of which kind an entry is."""
    return next((kind for kind, outcomes in KINDS.items() if entry.outcome in outcomes), REFUSALS)


def pages(place: SitePlace) -> list[Page]:
    """The log and the runs."""

    def log(visit: Visit) -> Response:
        try:
            with place.store() as store:
                entries, problem = store.entries(), ""
                head = store.head()
        except FileError as damaged:
            entries, problem, head = [], str(damaged), ""
        words, kind = visit.values.get("q", "").strip(), visit.values.get("kind", "")
        found = _found(list(enumerate(entries, 1)), words, kind)[::-1]
        every = bool(visit.values.get("all"))
        number = max(1, int(visit.values["page"])) if visit.values.get("page", "").isdecimal() else 1
        shown = found if every else found[(number - 1) * PER_PAGE : number * PER_PAGE]
        return visit.show(
            "site/log.html",
            entries=[(at, one, kind_of(one)) for at, one in shown],
            total=len(entries),
            found=len(found),
            pages=max(1, -(-len(found) // PER_PAGE)),
            number=number,
            every=every,
            words=words,
            kind=kind,
            kinds=[*KINDS, REFUSALS],
            problem=problem,
            head=head,
            left=sum(one.numbers for one in entries if one.outcome == ANSWERED),
        )

    def as_csv(_: Visit) -> Response:
        with place.store() as store:
            entries = store.entries()
        return text_file(f"{place.settings.name}-log.csv", csv_of(entries), "text/csv")

    def runs(visit: Visit) -> Response:
        with place.store() as store:
            entries, results, called = store.entries(), store.masked.results(), store.approvals.runs()
        listed, every = _runs(entries, results, called), bool(visit.values.get("all"))
        return visit.show("site/runs.html", runs=listed if every else listed[:PER_PAGE], total=len(listed))

    def run(visit: Visit) -> Response:
        with place.store() as store:
            text = store.masked.results().get(visit.values["run"])
            called = store.approvals.run(visit.values["run"])
        if text is None:
            raise FedrcdError("this site has no result of such a run")
        found: dict[str, Any] = json.loads(text)
        names = found["variables"]
        effects = [
            (names[j], names[i], value)
            for i, row in enumerate(found["effects"])
            for j, value in enumerate(row)
            if value
        ]
        effects.sort(key=lambda one: -abs(one[2]))
        order = [names[k] for k in found["order"]]
        return visit.show("site/result.html", found=found, order=order, effects=effects, called=called)

    return [
        Page("/log", log, title="Log"),
        Page("/log.csv", as_csv),
        Page("/runs", runs, title="Runs"),
        Page("/runs/{run}", run),
    ]


def csv_of(entries: Sequence[LogEntry]) -> str:
    """The log as a table for an audit; nothing in it is a formula."""
    text = io.StringIO()
    names = ["number", *(field.name for field in fields(LogEntry))]
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    for number, entry in enumerate(entries, 1):
        writer.writerow({"number": number, **{name: _cell(value) for name, value in asdict(entry).items()}})
    return text.getvalue()


def _cell(value: Any) -> Any:
    text = "" if value is None else value
    return f"'{text}" if isinstance(text, str) and text.startswith(tuple(DANGEROUS)) else text


def _found(entries: list[tuple[int, LogEntry]], words: str, kind: str) -> list[tuple[int, LogEntry]]:
    """The entries that have all words, of a kind."""
    wanted = words.casefold().split()
    if kind:
        entries = [one for one in entries if kind_of(one[1]) == kind]
    if not wanted:
        return entries
    return [one for one in entries if all(word in _text(one[1]) for word in wanted)]


def _text(entry: LogEntry) -> str:
    return " ".join([entry.time, *(getattr(entry, name) for name in SEARCHED)]).casefold()


def _runs(entries: Sequence[LogEntry], results: dict[str, str], called: Sequence[Any]) -> list[dict[str, Any]]:
    """Every run that a roll call or a question told of, newest first: what it was for, and what left for it."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if not entry.run or entry.outcome in {DECIDED, ENTERED}:
            continue
        one = found.setdefault(
            entry.run,
            {"run": entry.run, "time": entry.time, "title": "", "purpose": "", "method": "", "numbers": 0}
            | {"rounds": 0, "refusal": "", "masked": False, "has_result": entry.run in results},
        )
        one["title"], one["purpose"] = entry.title or one["title"], entry.purpose or one["purpose"]
        if entry.outcome == ANSWERED:
            one["numbers"] += entry.numbers
            one["rounds"] = max(one["rounds"], entry.round)
            one["masked"] = one["masked"] or bool(entry.masked)
        elif kind_of(entry) == REFUSALS:
            one["refusal"] = entry.outcome
    for run in called:
        if run.run in found:
            found[run.run]["method"] = run.method
    return sorted(found.values(), key=lambda one: str(one["time"]), reverse=True)
