"""Erasure certificates: what a data protection officer files, as JSON and as a page to print."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from html import escape
from typing import Any

from fedrcd.errors import ConfigError, FileError, ProtocolError
from fedrcd.federation.ledger.entries import ERASED, LEFT, POOLED, REPLACED
from fedrcd.federation.ledger.export import entry_record
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.roster import Place, RecordedResult, Roster
from fedrcd.federation.ledger.signatures import is_signed
from fedrcd.federation.messages.digests import canonical

FORMAT = "fedrcd-erasure-certificate/1"

STATEMENTS = (
    "The site's former contribution, with the rows that were erased, is no longer part of the state; the state is, to "
    "the bit, the one of a federation in which those rows never took part.",
    "The former contribution was deleted from the ledger's file with its content overwritten, and the write-ahead log "
    "was emptied. Copies made before by backups or snapshots are not reached by this; delete them by their own rules.",
    "The ledger keeps a digest of the former contribution. Its random salt was deleted with it, so that the digest "
    "cannot be compared with guesses.",
    "Results computed from earlier states, listed below, were released before and cannot be recalled by this act. They "
    "should be replaced by results from the present state.",
)
FLOAT_STATEMENT = (
    "The ledger sums in float64: the state is the one of a federation in which those rows never took part, provided "
    "that the rows are summed in the same order."
)


TOTAL_STATEMENTS = (
    "The former total, with the sums of the site's former rows, is no longer part of the state; the present one is "
    "made of masked sums that all sites answered anew, and is, to the bit, the one of a federation in which the rows "
    "that are gone never took part.",
    "The former total was deleted from the ledger's file with its content overwritten, and the write-ahead log "
    "was emptied. Copies made before by backups or snapshots are not reached by this; delete them by their own rules.",
    "The ledger never held sums of single sites. It does not know which rows a site has erased: the site's own record "
    "does, and this certifies that its former sums are in no state from here on.",
    STATEMENTS[-1],
)


def certify(ledger: Ledger, number: int, site: str = "") -> dict[str, Any]:
    """The signed certificate of the erasure that an entry of a ledger records; `site` says for whom, of a total."""
    if not 1 <= number <= len(ledger.entries):
        raise ConfigError(f"there is no entry {number} in the ledger; it has {len(ledger.entries)}")
    entry = ledger.entries[number - 1]
    if entry.kind == POOLED:
        return _certify_total(ledger, number, site)
    if entry.kind not in (ERASED, REPLACED, LEFT):
        raise ConfigError(f"entry {number} is no erasure: nothing was taken out by it")
    content = entry.content
    before = Roster.of(ledger.entries[: number - 1])
    place = content["site"], content["block"]
    exact = ledger.configuration.grid is not None
    certificate = {
        "format": FORMAT,
        "ledger": ledger.identity,
        "what": "all rows of the site's block" if entry.kind == LEFT else "rows of the site's block",
        "site": content["site"],
        "block": content["block"],
        "time": content["time"],
        "former_version": before.standings[place].version,
        "present_version": None if entry.kind == LEFT else content["version"],
        "rows_before": before.standings[place].rows,
        "rows_after": 0 if entry.kind == LEFT else content["rows"],
        "state_before": before.state,
        "state_after": entry.state,
        "suspended_blocks": Roster.of(ledger.entries[:number]).suspended(),
        "results_from_earlier_states": [asdict(result) for result in _touched(ledger, [place], number)],
        "statements": list(STATEMENTS if exact else (FLOAT_STATEMENT, *STATEMENTS[1:])),
        "entry": entry_record(entry),
        "public_key": ledger.public_key,
    }
    return {**certificate, "signature": ledger.signed(canonical(certificate))}


def replaced_in(ledger: Ledger, number: int) -> list[str]:
    """The sites whose former sums are gone with an entry about a total: they answered anew, or are not in it."""
    before, after = (Roster.of(ledger.entries[:last]).editions for last in (number - 1, number))
    return [site for site, edition in before.items() if after.get(site) != edition]


def _certify_total(ledger: Ledger, number: int, site: str) -> dict[str, Any]:
    """The signed certificate that a site's former sums are gone with an entry about a total."""
    replaced = replaced_in(ledger, number)
    if site not in replaced:
        raise ConfigError(
            f"entry {number} took out no sums of {f'site {site!r}' if site else 'a site that was not named'}; "
            f"those it did: {', '.join(map(repr, replaced)) or 'none'}"
        )
    entry, before = ledger.entries[number - 1], Roster.of(ledger.entries[: number - 1])
    after = Roster.of(ledger.entries[:number])
    former, present = (
        [one for place, one in sorted(roster.standings.items()) if place[0] == site] for roster in (before, after)
    )
    certificate = {
        "format": FORMAT,
        "ledger": ledger.identity,
        "what": "rows of the site" if present else "all rows of the site",
        "site": site,
        "block": ", ".join(one.block for one in former),
        "time": entry.content["time"],
        "former_version": max(one.version for one in former),
        "present_version": max((one.version for one in present), default=None),
        "rows_before": sum(one.rows for one in former),
        "rows_after": sum(one.rows for one in present),
        "state_before": before.state,
        "state_after": entry.state,
        "suspended_blocks": {},
        "results_from_earlier_states": [
            asdict(result) for result in _touched(ledger, [one.place for one in former], number)
        ],
        "statements": list(TOTAL_STATEMENTS),
        "entry": entry_record(entry),
        "public_key": ledger.public_key,
    }
    return {**certificate, "signature": ledger.signed(canonical(certificate))}


def _touched(ledger: Ledger, places: Collection[Place], number: int) -> list[RecordedResult]:
    """Results computed while a block of the site was in the state, before an entry."""
    roster, touched = Roster(), []
    for entry in ledger.entries[: number - 1]:
        listed = len(roster.results)
        roster.follow(entry)
        if len(roster.results) > listed and any(standing.place in places for standing in roster.active()):
            touched.append(roster.results[-1])
    return touched


def require_genuine(certificate: Mapping[str, Any]) -> None:
    """Raise unless a certificate is as its ledger signed it."""
    content = {name: value for name, value in certificate.items() if name != "signature"}
    if content.get("format") != FORMAT:
        raise FileError("this is not an erasure certificate of fedrcd")
    signature = str(certificate.get("signature", ""))
    if not is_signed(str(content.get("public_key", "")), canonical(content), signature):
        raise ProtocolError("the certificate was changed, or is not by the ledger whose key it names")


def as_json(certificate: Mapping[str, Any]) -> str:
    """JSON text."""
    return json.dumps(certificate, indent=1) + "\n"


def as_page(certificate: Mapping[str, Any]) -> str:
    """A page of HTML that prints on one or two sheets and loads nothing."""
    facts = [
        ("Ledger", certificate["ledger"]),
        ("Site", certificate["site"]),
        ("Block of rows", certificate["block"]),
        ("What was erased", certificate["what"]),
        ("When", certificate["time"]),
        ("Rows before and after", f"{certificate['rows_before']:,} and {certificate['rows_after']:,}"),
        ("Version before and after", f"{certificate['former_version']} and {certificate['present_version'] or 'none'}"),
        ("State before", certificate["state_before"]),
        ("State after", certificate["state_after"]),
        ("Entry of the ledger", f"{certificate['entry']['number']}, {certificate['entry']['hash']}"),
        ("Public key", certificate["public_key"]),
        ("Signature", certificate["signature"]),
    ]
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in facts)
    said = "".join(f"<li>{escape(statement)}</li>" for statement in certificate["statements"])
    held = "".join(
        f"<li>Block {escape(block)} is suspended: {escape(reason)}.</li>"
        for block, reason in certificate["suspended_blocks"].items()
    )
    results = "".join(
        f"<tr><td>{one['number']}</td><td>{escape(one['time'])}</td><td>{escape(one['method'])}</td>"
        f"<td>{escape(one['state'])}</td><td>{escape(one['digest'])}</td></tr>"
        for one in certificate["results_from_earlier_states"]
    )
    listed = (
        '<table class="results"><tr><th>entry</th><th>time</th><th>method</th><th>state</th>'
        f"<th>digest of the result</th></tr>{results}</table>"
        if results
        else "<p>None.</p>"
    )
    return PAGE.format(facts=rows, said=said, held=f"<ul>{held}</ul>" if held else "", listed=listed)


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Certificate of erasure</title><style>
body {{ font: 11pt/1.45 sans-serif; max-width: 46em; margin: 2em auto; padding: 0 1em; color: #111 }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ border: 1px solid #999; padding: .3em .5em; text-align: left; vertical-align: top; overflow-wrap: anywhere }}
th {{ font-weight: 600 }}
.facts th {{ width: 11em }}
.results th, .results td {{ font-size: 8.5pt }}
.results th {{ overflow-wrap: normal }}
.results td:nth-child(4), .results td:nth-child(5) {{ width: 33% }}
.lines {{ margin-top: 3em }}
@page {{ margin: 16mm }}
@media print {{ body {{ margin: 0; padding: 0; max-width: none }} tr, li, .lines {{ break-inside: avoid }} }}
@media (max-width: 30em) {{
  .facts th, .facts td {{ display: block; width: auto }}
  .results tr {{ display: block; margin-bottom: .5em }} .results th {{ display: none }}
  .results td, .results td:nth-child(n) {{ display: block; width: auto }}
}}
</style></head><body>
<h1>Certificate of erasure</h1>
<table class="facts">{facts}</table>
<h2>What this certifies</h2>
<ol>{said}</ol>{held}
<h2>Results from states that held the erased rows</h2>
{listed}
<p class="lines">Checked by: ____________________ &nbsp; Date: ____________ &nbsp; Signature: ____________________</p>
</body></html>
"""
