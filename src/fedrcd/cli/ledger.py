"""`fedrcd ledger`: the coordinator's record of who contributed what."""

from __future__ import annotations

import json as json_text
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fedrcd.cli.options import WEIGHTS_ONCE, settings_options
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError, FedrcdWarning, FileError
from fedrcd.methods.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedrcd.api.bootstrap_result import Bootstrap
    from fedrcd.api.checks import Checks
    from fedrcd.api.discovery import Discovery
    from fedrcd.api.from_ledger import LeftOut
    from fedrcd.data.federation import Federation
    from fedrcd.federation.ledger.entries import Entry
    from fedrcd.federation.ledger.ledger import Ledger
    from fedrcd.federation.ledger.receipts import Receipt
    from fedrcd.federation.ledger.roster import Roster

app = typer.Typer(
    help="The coordinator's record of who contributed what: make, add to, look at, check.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

LedgerFile = Annotated[Path, typer.Argument(help="The ledger's file.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
KeyFile = Annotated[Path | None, typer.Option("--ledger-key", help="The ledger's signing key; by default FILE.key.")]
SHORT = 12
"""Characters of a digest that people are shown."""


@app.command("new")
def new_ledger(
    file: LedgerFile,
    federation: Annotated[Path, typer.Option(help="Federation file with a frame for every variable, and sites' keys.")],
    arithmetic: Annotated[str, typer.Option(help="How sums are computed: exact, compact or float.")] = "exact",
    family: Annotated[
        list[str] | None,
        typer.Option(help="Sums to hold: tensor, pairs/4; may be repeated. By default those that methods use."),
    ] = None,
    groups: Annotated[
        int, typer.Option(help="Hold sums of this many groups of rows, so that results can be resampled; at least 10.")
    ] = 0,
    masked: Annotated[
        bool,
        typer.Option("--masked", help="Hold totals of masked runs alone: an erasure then needs all sites to answer."),
    ] = False,
    key: KeyFile = None,
) -> None:
    """Open a ledger for a federation; variables, frame and grid are fixed from then on."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.ledger.configuration import configure
    from fedrcd.federation.ledger.ledger import Ledger, key_path
    from fedrcd.federation.masking.possible import require_maskable, why_clear
    from fedrcd.protocol.groups import LEAST_GROUPS

    described = read_federation(federation)
    if groups and groups < LEAST_GROUPS:
        raise ConfigError(f"--groups must be at least {LEAST_GROUPS}, got {groups}")
    configuration = configure(described, families=tuple(family or ()), grid=parse_grid(arithmetic))
    if masked:
        require_maskable(described, configuration.questions().values())
    with Ledger.create(file, configuration, keys_of(described), groups=groups, masked=masked, key=key) as ledger:
        print(f"written: {file}, ledger {ledger.identity}, {configuration.p} variables, {arithmetic} sums")
        print(f"written: {key_path(file, key)}, its signing key: keep it apart from the ledger")
        print(f"public key: {ledger.public_key}")
    if masked:
        print("masked: it holds totals over all sites, and is filled by `fedrcd coordinator refresh`")
    elif not why_clear(described):
        print("IN THE CLEAR: it holds the sums of each site, which contributes only with --clear; see also --masked")


def keys_of(federation: Federation) -> dict[str, str]:
    """The public key of every site; only a trial may lack them."""
    keyless = [site.name for site in federation.sites if not site.key]
    if keyless and not federation.trial:
        raise ConfigError(
            f"the federation file has no key of site {keyless[0]!r}, with which it would sign its contributions; see "
            "`fedrcd keys init`, or say trial = true in the file where all data are made up"
        )
    return {site.name: site.key for site in federation.sites}


@app.command("admit")
def admit_sites(
    file: LedgerFile,
    federation: Annotated[Path, typer.Option(help="Federation file with the sites and their keys.")],
    key: KeyFile = None,
) -> None:
    """Admit the sites of a federation file that the ledger does not know yet, or knows by another key."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.ledger.ledger import Ledger

    keys = keys_of(read_federation(federation))
    with Ledger.open(file, key=key) as ledger:
        new = {name: own for name, own in keys.items() if ledger.roster.admitted.get(name) != own}
        if new:
            print(told(ledger.admit(new).entry))
        for name in new:
            print(f"admitted: {name}")
    if not new:
        print("all sites of the file are admitted with these keys")


@app.command("migrate")
def migrate_ledger(
    file: LedgerFile,
    federation: Annotated[Path, typer.Option(help="Federation file with the sites and their keys.")],
    key: KeyFile = None,
) -> None:
    """Convert a ledger of an earlier version: its signing key leaves the file, and its sites are admitted."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.ledger.ledger import Ledger, key_path, take_key_out

    keys = keys_of(read_federation(federation))
    take_key_out(file, key_path(file, key))
    print(f"written: {key_path(file, key)}, its signing key: keep it apart from the ledger")
    with Ledger.open(file, key=key) as ledger:
        print(told(ledger.admit(keys).entry))


@app.command("add")
def add_files(
    file: LedgerFile,
    parcels: Annotated[list[Path], typer.Argument(help="What sites handed over.", show_default=False)],
    receipts: Annotated[
        Path | None, typer.Option(help="Write the receipts for the sites here, with all entries, JSON.")
    ] = None,
    key: KeyFile = None,
) -> None:
    """Take in contributions and withdrawals that sites handed over as files."""
    from fedrcd.api.membership import add_parcel
    from fedrcd.federation.ledger.export import exported
    from fedrcd.federation.ledger.ledger import Ledger

    given: list[Receipt] = []
    with progress_bar("adding"), Ledger.open(file, key=key) as ledger:
        for parcel in parcels:
            given += add_parcel(ledger, parcel)
        suspended = ledger.roster.suspended()
        chain = exported(ledger.entries, ledger.public_key, ledger.configuration)
    for receipt in given:
        print(told(receipt.entry))
    show_suspended(suspended)
    if receipts:
        content = {"receipts": [json_text.loads(one.to_json()) for one in given], "ledger": json_text.loads(chain)}
        write_text(receipts, json_text.dumps(content, indent=1) + "\n")


@app.command("show")
def show_ledger(file: LedgerFile, json: Json = False) -> None:
    """Show who is in the state, which blocks are suspended, what was computed, and all entries."""
    from fedrcd.federation.ledger.ledger import Ledger

    with Ledger.open(file) as ledger:
        content = _shown(ledger)
        lines = [told(entry) for entry in ledger.entries]
    if json:
        print(json_text.dumps(content, indent=1))
        return
    variables = len(content["configuration"]["variables"])
    print(f"ledger {content['ledger']}, state {content['state'][:SHORT]}, {variables} variables")
    if content["masked"]:
        print("one total over the rows of all these sites, whose own sums it does not hold:")
    for one in content["contributions"]:
        rows = f"{'at most ' if content['masked'] else ''}{one['rows']:,} rows"
        print(f"  {one['site']}, block {one['block']}: version {one['version']}, {rows}")
    show_suspended(content["suspended"])
    print("entries:")
    for line in lines:
        print(f"  {line}")


def _shown(ledger: Ledger) -> dict[str, Any]:
    from dataclasses import asdict

    from fedrcd.federation.ledger.export import described

    return {
        "ledger": ledger.identity,
        "public_key": ledger.public_key,
        "state": ledger.state_id,
        "masked": ledger.masked,
        "configuration": described(ledger.configuration),
        "contributions": [asdict(ledger.roster.standings[place]) for place in sorted(ledger.roster.standings)],
        "suspended": ledger.roster.suspended(),
        "results": [asdict(result) for result in ledger.roster.results],
        "entries": [entry.content for entry in ledger.entries],
    }


@app.command("verify")
def verify(
    file: Annotated[Path, typer.Argument(help="A ledger, or a file of `ledger export`.", show_default=False)],
    receipt: Annotated[list[Path] | None, typer.Option(help="A receipt that must hold; may be repeated.")] = None,
    json: Json = False,
) -> None:
    """Check every record, signature and sum, and that what receipts acknowledge is there; name what was changed."""
    from fedrcd.federation.ledger.export import read_export
    from fedrcd.federation.ledger.verify import verify_entries, verify_ledger

    given = [one for path in receipt or [] for one in read_receipts(path)[0]]
    with progress_bar("verifying"):
        if file.suffix == ".json":
            entries, public = read_export(read_text(file))
            problems = verify_entries(entries, public, given)
        else:
            problems = verify_ledger(file, given)
    if json:
        print(json_text.dumps([problem._asdict() for problem in problems], indent=1))
    else:
        for problem in problems:
            print(f"CHANGED {problem}")
        if not problems:
            print(f"{file}: every record is as it was written")
    if problems:
        raise typer.Exit(6)


@app.command("export")
def export_ledger(
    file: LedgerFile, out: Annotated[Path, typer.Option(help="Where to write the entries, .json.")]
) -> None:
    """Write all entries with their signatures, without secrets and sums: what an auditor may have."""
    from fedrcd.federation.ledger.export import exported
    from fedrcd.federation.ledger.ledger import Ledger

    with Ledger.open(file) as ledger:
        text = exported(ledger.entries, ledger.public_key, ledger.configuration)
    write_text(out, text + "\n")


@app.command("diff")
def diff(
    file: LedgerFile,
    before: Annotated[str, typer.Argument(help="Number of an entry, or the beginning of a state's digest.")],
    after: Annotated[
        str | None, typer.Argument(help="The same for the later state; the present one by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Show which contributions were added, removed or replaced between two states."""
    from fedrcd.federation.ledger.ledger import Ledger
    from fedrcd.federation.ledger.roster import Roster

    with Ledger.open(file) as ledger:
        entries = ledger.entries
    last = entries[-1].number if after is None else _number(entries, after)
    rosters = [Roster.of(entries[:number]) for number in (_number(entries, before), last)]
    changes = _changes(*rosters)
    if json:
        print(json_text.dumps(changes, indent=1))
        return
    for one in changes:
        print(f"{one['site']}, block {one['block']}: {one['change']}")
    if not changes:
        print("the same contributions are in both states")


def _number(entries: list[Entry], which: str) -> int:
    """The number of the entry a user means."""
    if which.isdecimal() and 1 <= int(which) <= len(entries):
        return int(which)
    found = [entry.number for entry in entries if len(which) >= 4 and entry.state.startswith(which)]
    if not found:
        raise ConfigError(f"there is no entry and no state {which!r} in the ledger; `fedrcd ledger show` lists them")
    return found[-1]


def _changes(before: Roster, after: Roster) -> list[dict[str, Any]]:
    changes = []
    for place in sorted(before.standings.keys() | after.standings.keys()):
        old, new = before.standings.get(place), after.standings.get(place)
        if old == new:
            continue
        if old is None and new is not None:
            change = f"joined, version {new.version}, {new.rows:,} rows"
        elif new is None and old is not None:
            change = f"left, version {old.version}, {old.rows:,} rows"
        else:
            assert old is not None
            assert new is not None
            change = f"version {old.version} replaced by {new.version}, {old.rows:,} rows by {new.rows:,}"
        changes.append({"site": place[0], "block": place[1], "change": change})
    return changes


@app.command("discover")
@settings_options(
    *("method", "weights", "penalty", "options", "knowledge"),
    help={**WEIGHTS_ONCE, "method": "A method of one round, or auto."},
)
def discover_from_ledger(
    file: LedgerFile,
    settings: Settings,
    out: Annotated[
        list[Path] | None, typer.Option(help="Write the result here: .json, .dot, .gml or .csv; may be repeated.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an interactive page here, .html.")] = None,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Show how the result changes without each site.")
    ] = False,
    bootstrap: Annotated[
        int | None, typer.Option(help="Replicates to draw, where contributions hold sums of groups of rows.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the replicates.")] = 0,
    check: Annotated[bool, typer.Option("--check", help="Check the assumptions as far as stored sums allow.")] = False,
    level: Annotated[float, typer.Option(help="False alarms allowed per check, and 1 - level of intervals.")] = 0.05,
    key: KeyFile = None,
    json: Json = False,
) -> None:
    """Find the causal order and the effects from the sums in the ledger; no site is asked."""
    from fedrcd.api.from_ledger import bootstrap_stored, check_stored, discover_stored, leave_one_site_out
    from fedrcd.cli.discover import require_endings, show, write_results
    from fedrcd.federation.ledger.ledger import Ledger

    require_endings(out or [])
    if sum([leave_one_out, bootstrap is not None, check]) > 1:
        raise ConfigError("give one of --leave-one-out, --bootstrap and --check at a time")
    method, given = settings.method, {**settings.method_options, "knowledge": settings.knowledge}
    with progress_bar("discovering") as bar, Ledger.open(file, key=key) as ledger, warnings.catch_warnings():
        warnings.simplefilter("ignore", FedrcdWarning)  # shown as notes of the result
        bar.say(f"{method} from {file}")
        if leave_one_out:
            shown = _left_out(leave_one_site_out(ledger, method, **given))
        elif bootstrap is not None:
            drawn = bootstrap_stored(ledger, method, n_sampling=bootstrap, random_state=seed, **given)
            shown = _drawn(drawn, 1 - level)
        elif check:
            shown = _checked(check_stored(ledger, method, level=level, **given))
        else:
            shown = _Shown(discover_stored(ledger, method, **given), {}, lambda: None)
    found = shown.found
    write_results(found, out or [])
    if report is not None:
        found.report(report)
    if json:
        content = {"discovery": json_text.loads(found.to_json()), **shown.more}
        print(json_text.dumps(content, indent=1) if shown.more else found.to_json())
        return
    show(found)
    shown.tell()
    if report is not None:
        print(f"written: {report}")


class _Shown(NamedTuple):
    """A result, what else there is to it for programs, and what tells people of that."""

    found: Discovery
    more: dict[str, Any]
    tell: Callable[[], None]


def _left_out(left_out: LeftOut) -> _Shown:
    changes, impossible = left_out.table().to_dict("records"), left_out.impossible

    def tell() -> None:
        for row in changes:
            told_of = [f"{value} {what}" for what, value in row.items() if what != "without"]
            print(f"without {row['without']}: " + ", ".join(told_of))
        for site, reason in impossible.items():
            print(f"without {site}: no answer: {reason}")

    return _Shown(left_out.found, {"leave_one_site_out": changes, "impossible": impossible}, tell)


def _drawn(drawn: Bootstrap, confidence: float) -> _Shown:
    from fedrcd.cli import bootstrap

    more = {"bootstrap": bootstrap.as_dict(drawn, confidence)}
    return _Shown(drawn.discovery, more, lambda: bootstrap.show(drawn, confidence))


def _checked(checks: Checks) -> _Shown:
    from fedrcd.cli import check

    return _Shown(checks.discovery, {"checks": checks.to_dict()}, lambda: check.show(checks))


@app.command("certificate")
def certificate(
    file: LedgerFile,
    number: Annotated[int, typer.Argument(help="Number of the entry that records the erasure.")],
    out: Annotated[list[Path], typer.Option(help="Where to write it: .json or .html; may be repeated.")],
    site: Annotated[str, typer.Option(help="For whom, where the entry is about a total of all sites.")] = "",
    key: KeyFile = None,
) -> None:
    """Certify an erasure, for the files of a data protection officer."""
    from fedrcd.federation.ledger.ledger import Ledger

    with Ledger.open(file, key=key) as ledger:
        write_certificates(ledger, number, out, site)


def write_certificates(ledger: Ledger, number: int, targets: list[Path], site: str = "") -> None:
    """Write the certificate of an entry in the forms that the endings of files say."""
    from fedrcd.federation.ledger.certificate import as_json, as_page, certify

    made = certify(ledger, number, site)
    for target in targets:
        write_text(target, (as_page if target.suffix == ".html" else as_json)(made))


def require_certificate_endings(targets: list[Path]) -> None:
    """Refuse other forms before anything is done."""
    for target in targets:
        if target.suffix not in (".json", ".html"):
            raise ConfigError(f"--certificate {target}: the ending must be .json or .html")


def parse_grid(arithmetic: str) -> Any:
    """The grid of a named arithmetic."""
    from fedrcd.statistics.grid import ARITHMETIC

    if arithmetic not in ARITHMETIC:
        raise ConfigError(f"--arithmetic must be one of {', '.join(ARITHMETIC)}, got {arithmetic!r}")
    return ARITHMETIC[arithmetic]


def told(entry: Entry) -> str:
    """An entry in one line."""
    from fedrcd.federation.ledger.export import entry_parts

    parts = [f"{entry.number}", entry.content["time"], entry.kind, *entry_parts(entry)]
    return "  ".join([*parts, f"state {entry.state[:SHORT]}"])


def show_suspended(reasons: dict[str, str]) -> None:
    """Print which blocks are not in the state, and why."""
    for block, reason in reasons.items():
        print(f"suspended: block {block}, {reason}")


def read_receipts(path: Path) -> tuple[list[Receipt], list[Entry], str]:
    """The receipts in a file, one or several, and the entries of the ledger and its key, if they are with them."""
    from fedrcd.federation.ledger.export import read_export
    from fedrcd.federation.ledger.receipts import Receipt

    try:
        content = json_text.loads(read_text(path))
    except ValueError:
        raise FileError(f"{path} holds no receipts") from None
    several = content.get("receipts", [content]) if isinstance(content, dict) else content
    entries: list[Entry] = []
    public = ""
    if isinstance(content, dict) and "ledger" in content:
        entries, public = read_export(json_text.dumps(content["ledger"]))
    return [Receipt.from_json(json_text.dumps(one)) for one in several], entries, public


def read_text(path: Path) -> str:
    """The text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FileError(f"cannot read {path}: it is not a text file") from None
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None


def write_text(path: Path, text: str) -> None:
    """Write a file and say so."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise FileError(f"cannot write {path}: {problem.strerror}") from None
    print(f"written: {path}")
