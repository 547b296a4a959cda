"""Whether a ledger is what was written: every record is checked, and what is wrong is named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from fedrcd.errors import FedrcdError, ProtocolError
from fedrcd.federation.database import Database
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import (
    CONTRIBUTION,
    WITHDRAWAL,
    check_contribution,
    contribution_statement,
    read_contribution,
    withdrawal_statement,
)
from fedrcd.federation.ledger.entries import CONTRIBUTIONS, LEFT, POOLED, Entry, Problem, bad_signatures, broken_links
from fedrcd.federation.ledger.ledger import (
    SCHEMA,
    Ledger,
    open_database,
    read_entries,
    read_payload,
    read_settings,
    record_of,
)
from fedrcd.federation.ledger.masked_totals import (
    PLACE,
    StoredTotal,
    held_of,
    questions_of,
    require_signed,
    require_sums,
)
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.ledger.roster import Roster, Standing
from fedrcd.federation.masking.statements import RunTerms
from fedrcd.federation.messages.digests import digest
from fedrcd.federation.messages.signatures import is_signed_by
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import from_bytes


def verify_ledger(
    path: str | os.PathLike[str], receipts: Sequence[Receipt] = (), *, surroundings: Surroundings = REAL
) -> list[Problem]:
    """Everything that is wrong with a ledger, or that a receipt contradicts; empty if nothing is."""
    try:
        with open_database(path, surroundings=surroundings) as database:
            problems = list(_problems(database))
            entries = read_entries(database)
    except FedrcdError as problem:
        return [Problem("file", str(problem))]
    return _first_of_each([*problems, *_contradicted(entries, receipts)])


def verify_entries(entries: Sequence[Entry], public: str, receipts: Sequence[Receipt] = ()) -> list[Problem]:
    """What is wrong with the entries alone, as an export holds them."""
    chain = [*broken_links(entries), *bad_signatures(entries, public)]
    chain += [] if chain else unsigned_by_sites(entries)
    return _first_of_each([*chain, *_contradicted(entries, receipts)])


def _problems(database: Database) -> Iterator[Problem]:
    damage = [Problem("file", line) for line in database.damage()]
    yield from damage
    if damage:
        return
    if database.foreign(SCHEMA):
        yield Problem("tables", "they are not those of a ledger, or their rules were changed")
    settings, entries = read_settings(database), read_entries(database)
    links = list(broken_links(entries))
    yield from links
    if not entries:
        yield Problem("entry 1", "it is missing")
    if links or not entries:  # nothing that follows can be judged
        return
    yield from bad_signatures(entries, entries[0].content["public_key"])
    wrong = list(_wrong_settings(settings, entries[0]))
    yield from wrong
    if wrong:
        return
    groups = int(entries[0].content.get("groups", 0))
    configuration = from_bytes(settings["configuration"], Configuration)
    unsigned = list(unsigned_by_sites(entries, partial(questions_of, configuration, groups)))
    yield from unsigned
    if unsigned:
        return
    roster = Roster.of(entries)
    if entries[0].content.get("masked"):
        bad = list(_wrong_total(database, entries, configuration, groups))
    else:
        bad = list(_wrong_contributions(database, roster, configuration, groups))
    yield from bad
    if not bad and Ledger(database).state_digest() != roster.state:
        yield Problem("state", "its digest is not that of the stored sums")


def unsigned_by_sites(entries: Sequence[Entry], asked: QuestionsOf | None = None) -> Iterator[Problem]:
    """Contributions, totals, and withdrawals at a site's word, not signed with the keys that sites were admitted by.

    `asked` gives the questions of the ledger to a cohort, where its configuration is known.
    """
    roster = Roster()
    for entry in entries:
        content = entry.content
        public = roster.admitted.get(content.get("site", ""), "")
        problem = _unsigned_total(content, roster, asked) if entry.kind == POOLED else ""
        if problem:
            yield Problem(f"entry {entry.number}", problem)
            continue
        roster.follow(entry)
        if not public or (entry.kind == LEFT and not content["signed"]):
            continue
        if entry.kind in CONTRIBUTIONS:
            kind, statement = CONTRIBUTION, contribution_statement(content, content["follows"])
        elif entry.kind == LEFT:
            kind = WITHDRAWAL
            statement = withdrawal_statement(content["site"], content["block"], content["version"])
        else:
            continue
        if not is_signed_by(public, kind, statement, content.get("signed", "")):
            yield Problem(f"entry {entry.number}", f"site {content['site']!r} did not sign it")


QuestionsOf = Callable[[Sequence[str]], Mapping[str, str]]


def _unsigned_total(content: Mapping[str, Any], roster: Roster, asked: QuestionsOf | None) -> str:
    """Why an entry about a total is not one that its sites have signed; empty if it is."""
    try:
        cohort = RunTerms.read(next(iter(content["runs"].values()))["terms"]).cohort
        require_signed(content, roster.admitted, asked and asked(cohort))
    except (ProtocolError, KeyError, TypeError, ValueError, AttributeError) as problem:
        return str(problem) if isinstance(problem, ProtocolError) else "it does not tell what the sites signed"
    return ""


def _wrong_settings(settings: dict[str, bytes], opening: Entry) -> Iterator[Problem]:
    """Keys and configuration against what the first entry says of them."""
    checks: dict[str, tuple[str, Callable[[bytes], str]]] = {
        "configuration": ("configuration", lambda value: from_bytes(value, Configuration).digest),
        "secret": ("secret", lambda value: digest("secret", value)),
    }
    for name in sorted(settings.keys() | checks.keys()):
        if name not in settings:
            yield Problem(f"setting {name!r}", "it is missing")
        elif name not in checks:
            yield Problem(f"setting {name!r}", "there is no such setting")
        else:
            key, told = checks[name]
            try:
                same = told(settings[name]) == opening.content[key]
            except (FedrcdError, ValueError):
                same = False
            if not same:
                yield Problem(f"setting {name!r}", "it was changed since the ledger was opened")


def _wrong_total(
    database: Database, entries: Sequence[Entry], configuration: Configuration, groups: int
) -> Iterator[Problem]:
    """The stored total against what the last entry says of it."""
    told = [entry.content for entry in entries if entry.kind == POOLED]
    stored = {(str(site), str(block)) for site, block in database.rows("SELECT site, block FROM contributions")}
    for place in sorted(stored - ({PLACE} if told else set())):
        yield Problem(record_of(place), "no entry tells of it")
    if not told:
        return
    if PLACE not in stored:
        yield Problem(record_of(PLACE), "it is missing")
        return
    payload = read_payload(database, PLACE) or b""
    if digest("total", payload) != told[-1]["commitment"]:
        yield Problem(record_of(PLACE), "its bytes are not those that were acknowledged")
        return
    try:
        require_sums(StoredTotal.of(payload).sums, configuration, groups, sum(one.rows for one in held_of(told[-1])))
    except FedrcdError as problem:
        yield Problem(record_of(PLACE), str(problem))


def _wrong_contributions(
    database: Database, roster: Roster, configuration: Configuration, groups: int
) -> Iterator[Problem]:
    """Stored contributions against what the entries say of them."""
    stored = {(str(site), str(block)) for site, block in database.rows("SELECT site, block FROM contributions")}
    for place in sorted(stored | roster.standings.keys()):
        record = record_of(place)
        if place not in roster.standings:
            yield Problem(record, "no entry tells of it")
        elif place not in stored:
            yield Problem(record, "it is missing")
        else:
            payload = read_payload(database, place) or b""
            problem = _wrong_payload(payload, roster.standings[place], configuration, groups)
            if problem:
                yield Problem(record, problem)


def _wrong_payload(payload: bytes, standing: Standing, configuration: Configuration, groups: int) -> str:
    if digest("contribution", payload) != standing.commitment:
        return "its bytes are not those that were acknowledged"
    try:
        contribution = read_contribution(payload)
        check_contribution(contribution, configuration, groups)
    except FedrcdError as problem:
        return str(problem)
    said = (contribution.site, contribution.block, contribution.version, contribution.rows)
    return "" if said == (*standing.place, standing.version, standing.rows) else "it is not the one its entry tells of"


def _contradicted(entries: Sequence[Entry], receipts: Sequence[Receipt]) -> Iterator[Problem]:
    """Entries that are not those receipts were given for."""
    for receipt in receipts:
        receipt.require_genuine()
        problem = receipt.missing_from(list(entries))
        if problem:
            yield problem


def _first_of_each(problems: Sequence[Problem]) -> list[Problem]:
    """One problem per record: what is wrong first explains what follows."""
    first: dict[str, Problem] = {}
    for problem in problems:
        first.setdefault(problem.record, problem)
    return list(first.values())
