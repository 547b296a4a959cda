"""The one module of golden runs that knows the inside of the package: how a described run is made, and its digests.

A description says what is done in words (see `runs`). When internals are renamed, this is what changes.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import replace
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fedrcd
from fedrcd.api.from_ledger import discover_stored, leave_one_site_out
from fedrcd.api.membership import erase, membership, send, withdraw
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame, write_federation
from fedrcd.data.site_file import read_site
from fedrcd.errors import FedrcdError
from fedrcd.federation.coordinator.gather import RetryPolicy
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.transport import LedgerTransport
from fedrcd.federation.one_process import in_process
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.log import LogEntry
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import Store
from fedrcd.federation.surroundings import Surroundings
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.methods.card import Coverage
from fedrcd.methods.registry import METHODS, build
from fedrcd.methods.settings import Settings
from fedrcd.protocol.driver import run as drive
from fedrcd.protocol.transport import InProcess
from fedrcd.protocol.wire import to_bytes
from fedrcd.runs.finding import Finding, Resampling
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.living import lenient
from tests.golden.data import cells, make_table, names_of, split_table

Run = dict[str, Any]
Outcome = dict[str, Any]

DAY = date(2026, 3, 1)
SECRET = bytes(range(32))
"""Of ledgers and of sites that split rows."""

TRUST = True
"""Whether sites trust their coordinator, and it knows: then all methods can be asked for."""

MEMBER_RULES = lenient(rows=60)
"""Of sites that contribute to a ledger."""

ALL = tuple(METHODS)
FEDERATED = tuple(name for name, card in METHODS.items() if not card.one_table)
OF_PAIRS = tuple(name for name in FEDERATED if METHODS[name].coverage is Coverage.PAIRS)
ERASABLE = tuple(name for name in FEDERATED if METHODS[name].erasable)
ONE_TABLE = tuple(name for name, card in METHODS.items() if card.one_table)


# digests


def short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def of_numbers(values: Any) -> bytes:
    return np.ascontiguousarray(np.asarray(values, dtype="<f8")).tobytes()


def of_text(*words: Any) -> str:
    return short(repr(words).encode())


def of_result(names: Sequence[str], order: Sequence[str], B: Any, steps: Iterable[tuple[str, Any, Any]]) -> Outcome:
    """The same digests for an estimate and for what users hold: `steps` are chosen, candidates and scores."""
    state = b"".join(repr((chosen, tuple(among))).encode() + of_numbers(scores) for chosen, among, scores in steps)
    return {"order": of_text(tuple(names), tuple(order)), "B": short(of_numbers(B)), "steps": short(state)}


def of_discovery(found: fedrcd.Discovery) -> Outcome:
    """`B4` and `taken`, effects to four digits and sources, stay the same where only rounding moves."""
    steps = [(one.chosen, one.scores.keys(), list(one.scores.values())) for one in found.trace]
    result = of_result(found.names, found.order, found.B, steps)
    errors = [short(of_numbers(one)) if one is not None else "" for one in (found.errors, found.total_errors)]
    more = {"errors": of_text(errors), "notes": of_text(found.notes), "chosen": of_text(found.method, found.chosen)}
    more |= {
        "B4": of_text([f"{one:.3e}" for one in found.B.flat]),
        "taken": of_text([one.chosen for one in found.trace]),
    }
    if found.standardised_order:
        more["standardised"] = of_text(found.standardised_order)
    return result | more | {"rows": found.rows, "rounds": found.rounds, "bytes": found.bytes_sent}


def of_estimate(estimate: Any, variables: Sequence[str]) -> Outcome:
    steps = [
        (variables[step.chosen], [variables[k] for k in step.candidates], step.scores.tolist())
        for step in estimate.steps
    ]
    result = of_result(variables, [variables[k] for k in estimate.order], estimate.B, steps)
    return result | {"rows": int(estimate.marginals.rows)}


def of_bootstrap(found: fedrcd.Bootstrap) -> Outcome:
    replicates = short(of_numbers(found.orders) + of_numbers(found.adjacency_matrices_) + of_numbers(found.covariances))
    without = sorted(found.without.items())
    left_out = of_text([(site, one if isinstance(one, str) else (one[0], of_numbers(one[1]))) for site, one in without])
    counts = {"units": found.units, "failed": found.failed}
    return of_discovery(found.discovery) | {"replicates": replicates, "without": left_out} | counts


def of_verdicts(checks: Iterable[Any]) -> str:
    return of_text([(one.name, one.verdict, None if one.p_value is None else one.p_value.hex()) for one in checks])


def of_refusal(problem: FedrcdError, run: Run, folder: Path) -> Outcome:
    """Class, exit code and words; of several machines that refuse, chance says which is heard first."""
    code = getattr(problem, "refusal", None) or getattr(problem, "code", None)
    text = str(problem).replace(str(folder), "FOLDER")
    if run["transport"] == "flower":
        text = re.sub("site-[0-9]", "site-?", text)
    refusal = {"refused": type(problem).__name__, "exit": problem.exit_code, "message": text}
    return refusal | ({"code": str(code)} if code else {})


class Tape:
    """Digests of the questions that were asked and of the sums that every block of rows gave, in order."""

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.answers: list[tuple[str, str, str]] = []

    def note(self, site: str, block: str, question: Any, sums: Any) -> None:
        asked = short(to_bytes(question))
        if self.questions[-1:] != [asked]:
            self.questions.append(asked)
        self.answers.append((site, block, short(to_bytes(sums))))

    def outcome(self) -> Outcome:
        return {"questions": of_text(self.questions), "answers": of_text(self.answers)}


def known(run: Run) -> Knowledge | None:
    return Knowledge(**run["knowledge"]) if run.get("knowledge") else None


# in one process, by the public functions


def in_this_process(run: Run, folder: Path) -> Outcome:
    table = make_table(**run["data"])
    tables: Any = table
    if "split" in run:
        held = [name for name in table.columns if name != "person"]
        parts = split_table(tuple(held), len(table), **run["split"])
        tables = [
            fedrcd.Table(cells(table, one, run.get("effects", "")), site=one.site, block=one.block) for one in parts
        ]
    settings = {**run.get("settings", {}), **run.get("options", {})}
    if run.get("arithmetic", "float") != "float":
        settings["arithmetic"] = run["arithmetic"]
    if run.get("knowledge") is not None:
        matrix = isinstance(run["knowledge"], list)
        settings["knowledge"] = np.array(run["knowledge"]) if matrix else known(run)
    act, method = run.get("do", "discover"), run.get("method", "auto")
    if act == "discover":
        return of_discovery(fedrcd.discover(tables, method, **settings))
    if act == "bootstrap":
        return of_bootstrap(fedrcd.bootstrap(tables, method, n_jobs=1, **settings))
    if act == "check a discovery":
        method = fedrcd.discover(tables, method, **settings)
        settings = {}
    checks = fedrcd.check(tables, method, **settings)
    outcome = of_discovery(checks.discovery)
    return outcome | {"checks": of_verdicts(checks.checks), "check rounds": checks.rounds}


# federations on the disk


class Disk:
    """A federation file and the tables of its sites, from a description."""

    def __init__(self, run: Run, folder: Path, keys: dict[str, str] | None = None):
        self.folder, self.file = folder, folder / "federation.toml"
        folder.mkdir(parents=True, exist_ok=True)
        table = make_table(**run["data"])
        names = names_of(run["data"]["p"])
        parts = split_table(names, len(table), **run["split"])
        columns = {one.site: one.columns for one in parts}
        held = {site: [one for one in parts if one.site == site] for site in columns}
        rows = {one.block: len(one.rows) for one in parts}
        self.federation = Federation(
            variables=names,
            sites=tuple(
                SiteEntry(site, columns[site], tuple(one.block for one in mine), (keys or {}).get(site, ""))
                for site, mine in held.items()
            ),
            blocks=tuple(BlockEntry(label, count) for label, count in rows.items()),
            frame=self._frame(table, run.get("frame", "declared")),
        )
        write_federation(self.file, self.federation)
        for site, mine in held.items():
            labelled = [cells(table, one).assign(id=[f"r{k}" for k in one.rows], block=one.block) for one in mine]
            pd.concat(labelled).to_parquet(self.data(site))

    @staticmethod
    def _frame(table: pd.DataFrame, how: str) -> dict[str, VariableFrame]:
        """To one digit, or none."""
        if how != "declared":
            return {}
        return {
            name: VariableFrame(float(f"{table[name].mean():.1g}"), float(f"{table[name].std():.1g}"), "units")
            for name in table.columns
        }

    @property
    def sites(self) -> list[str]:
        return [site.name for site in self.federation.sites]

    def data(self, site: str) -> Path:
        return self.folder / f"{site}.parquet"

    def state(self, site: str) -> Path:
        return self.folder / "state" / site

    def settings_file(self, site: str, **settings: Any) -> str:
        """Write the settings of a site, and a secret that is the same in every recording."""
        path = self.state(site) / "site.json"
        rules = Rules(**settings.pop("rules", {}))
        own = SiteSettings(
            name=site,
            federation=str(self.file),
            data=str(self.data(site)),
            state=str(self.state(site)),
            rules=rules,
            trust_coordinator=TRUST,
            **settings,
        )
        own.write(path)
        self.keep_secret(site)
        return str(path)

    def keep_secret(self, site: str) -> None:
        """Make the store of a site, with a secret that everybody knows."""
        Store(self.state(site), site, Surroundings(token_bytes=lambda number: SECRET[:number])).close()


class Watched:
    """A site whose answers are noted."""

    def __init__(self, site: Any, tape: Tape):
        self._site, self._tape = site, tape

    @property
    def name(self) -> str:
        return self._site.name

    def answer(self, question: Any, layout: Any = None) -> Any:
        sums = self._site.answer(question, layout)
        if sums is not None:
            self._tape.note(self._site.name, self._site.block, question, sums)
        return sums


def by_reference(run: Run, folder: Path) -> Outcome:
    """The federation of machines in one process, in the declared frame."""
    disk, tape = Disk(run, folder), Tape()
    plain = in_process(disk.federation, {site: disk.data(site) for site in disk.sites}, run["arithmetic"])
    setting, statements = plain.setting, known(run)
    if statements is not None:
        setting = replace(setting, constraints=statements.constraints(setting.variables))
    transport = InProcess([Watched(site, tape) for site in plain.sites], setting)
    estimate = drive(build(run["method"], **run.get("options", {})).rounds(setting), transport)
    traffic = {"rounds": transport.traffic.rounds, "bytes": transport.traffic.bytes_sent}
    return of_estimate(estimate, setting.variables) | traffic | tape.outcome()


def plan_of(described: Run, disk: Disk, **changes: Any) -> RunPlan:
    resampling = Resampling(**described["resampling"]) if described.get("resampling") else None
    settings = Settings.of(
        described.get("method", "auto"),
        arithmetic=described.get("arithmetic", "exact"),
        knowledge=known(described),
        **described.get("options", {}),
    )
    plan: dict[str, Any] = {
        "run": "golden",
        "federation": str(disk.file),
        "folder": str(disk.folder / "result"),
        "settings": settings,
        "by_key": False,
        "wait": 0.0,
        "retry_policy": RetryPolicy(
            deadline=240.0, give_up_after=0.0, approval=described.get("approval", 60.0), pause=0.1
        ),
        "resampling": resampling,
        "check": described.get("check", False),
        "allow_missing": described.get("allow_missing", False),
        "trust_coordinator": TRUST,
    }
    return RunPlan(**{**plan, **changes})


def of_finding(found: Finding) -> Outcome:
    """What a run over machines gave."""
    result = of_estimate(found.estimate, found.variables)
    result |= {"rounds": found.rounds, "bytes": found.bytes_sent, "sites": len(found.sites)}
    result |= {"chosen": of_text(found.method, found.chosen), "notes": of_text(found.warnings)}
    if found.resampled is not None:
        drawn = found.resampled.replicates
        result["replicates"] = short(of_numbers(drawn.orders) + of_numbers(drawn.B) + of_numbers(drawn.cov))
    if found.checked is not None:
        sums, scale = found.checked.residuals, found.checked.scale
        result["checks"] = of_text("" if sums is None else short(to_bytes(sums)), found.checked.problem, scale.verdict)
    return result


def by_grid(run: Run, folder: Path) -> Outcome:
    """Flower's apps over a Grid in this process; with `then`, a second run over the same sites is what counts."""
    from fedrcd.federation.flower.local_grid import LocalGrid
    from fedrcd.federation.flower.server import conduct

    disk = Disk(run, folder)
    special = run.get("sites", {})
    files = [disk.settings_file(site, **run.get("rules", {}), **special.get(site, {})) for site in disk.sites]
    there = [file for site, file in zip(disk.sites, files, strict=True) if site not in run.get("absent", ())]
    with redirect_stderr(StringIO()):
        for number, before in enumerate(run.get("before", ())):
            first = plan_of({**run, **before}, disk, run=f"before-{number}", folder=str(folder / f"before-{number}"))
            conduct(first, LocalGrid(there))
        tape = Tape()
        found = conduct(plan_of(run, disk), LocalGrid(there), tape.note)
    return of_finding(found) | tape.outcome()


# ledgers


def by_ledger(run: Run, folder: Path) -> Outcome:
    """Sites contribute; some rows or a site may go; the result is from what is left."""
    disk = Disk(run, folder)
    configuration = configure(
        disk.federation, families=tuple(run.get("families", ())), grid=ARITHMETIC[run.get("arithmetic", "exact")]
    )
    with ExitStack() as stack:
        ledger = stack.enter_context(
            Ledger.create(folder / "ledger.db", configuration, dict.fromkeys(disk.sites, ""), secret=SECRET)
        )
        for entry in disk.federation.sites if run.get("after") != "nothing" else ():
            member = stack.enter_context(
                membership(disk.federation, entry.name, configuration, folder / entry.name, MEMBER_RULES)
            )
            tables = read_site(disk.data(entry.name), disk.federation, entry)
            send(member, tables, ledger)
            if run.get("after") == "erasure":
                ids = {f"r{k}" for k in range(0, 10000, 17)} & set(pd.read_parquet(disk.data(entry.name))["id"])
                erase(member, tables, ledger, ids=ids, now=True)
            elif run.get("after") == "leaving" and entry.name == disk.sites[-1]:
                withdraw(member, list(entry.blocks), ledger)
        return of_ledger(run, ledger)


def of_ledger(run: Run, ledger: Ledger) -> Outcome:
    method, options = run.get("method", "auto"), run.get("options", {})
    if run.get("do") == "leave one site out":
        left_out = leave_one_site_out(ledger, method, knowledge=known(run), **options)
        found = left_out.found
        without = [
            (site, one if isinstance(one, str) else (one[0], of_numbers(one[1])))
            for site, one in left_out.without.items()
        ]
        result = of_discovery(found) | {"without": of_text(sorted(without))}
    else:
        found = discover_stored(ledger, method, knowledge=known(run), **options)
        result = of_discovery(found)
    pooled = LedgerTransport.of(ledger).pooled
    sums = [(family, short(to_bytes(one))) for family, one in sorted(pooled.items())]
    return result | {"answers": of_text(sums), "state": of_text(found.state_id)}


# real processes


@contextmanager
def machines_of(run: Run, folder: Path) -> Iterator[Any]:
    """Coordinator and sites as processes with TLS and keys."""
    from fedrcd.federation.messages.keys import make_development_keys
    from tests.federation.flower.machines import Machines, until

    machines = Machines(folder)
    names = [f"site-{k}" for k in range(run["split"]["sites"])]
    machines.keys = folder / "own-keys"
    machines.disk = Disk(run, folder / "own", make_development_keys(machines.keys, names, ["127.0.0.1"]))
    try:
        machines.start_coordinator()
        for number, name in enumerate(names):
            start_site(machines, name, machines.local[number])
        until(lambda: machines.sites_online() == set(names), "the start of the sites")
        yield machines
    finally:
        machines.stop_all()


def start_site(machines: Any, name: str, port: int) -> None:
    """Start a site as its people would."""
    disk = machines.disk
    disk.keep_secret(name)
    command = [sys.executable, "-m", "fedrcd", "site", "serve", "--name", name, "--federation", str(disk.file)]
    command += ["--data", str(disk.data(name)), "--state", str(disk.state(name)), "--deadline", "200"]
    command += ["--trust-coordinator"] if TRUST else []
    command += ["--coordinator", f"127.0.0.1:{machines.port}", "--local-port", str(port)]
    machines.start(name, [*command, "--ca", str(machines.keys / "ca.crt"), "--key", str(machines.keys / name)])


def by_flower(run: Run, machines: Any, number: int) -> Outcome:
    """Questions and answers are those that the sites' own logs tell."""
    from fedrcd.federation.flower.coordinator import conduct

    disk, name = machines.disk, f"golden{number:02}"
    plan = plan_of(run, disk, run=name, folder=str(machines.folder / name), by_key=True, wait=120.0)
    outcome = of_finding(conduct(machines.coordinator, plan, lambda _: None))
    told = [
        (entry.round, place, entry.block, entry.digest, entry.answer)
        for place, site in enumerate(disk.sites)
        for entry in log_of(disk, site)
        if entry.run.startswith(f"{name}.") and entry.outcome == "answered"
    ]
    told.sort(key=lambda one: one[:2])
    return outcome | {
        "questions": of_text(list(dict.fromkeys(one[3] for one in told))),
        "answers": of_text([(disk.sites[one[1]], one[2], one[4][:16]) for one in told]),
    }


def log_of(disk: Disk, site: str) -> list[LogEntry]:
    with Store(disk.state(site), site) as store:
        return store.entries()


# all of them

ONE_BY_ONE: dict[str, Callable[[Run, Path], Outcome]] = {
    "in process": in_this_process,
    "reference": by_reference,
    "grid": by_grid,
    "ledger": by_ledger,
}


def perform(runs: Sequence[Run]) -> Iterator[tuple[Run, Outcome]]:
    """The outcome of every run; those over real processes share their machines."""
    for run in runs:
        if run["transport"] != "flower":
            with tempfile.TemporaryDirectory() as folder:
                yield run, guarded(lambda one, at: ONE_BY_ONE[one["transport"]](one, at), run, Path(folder))
    over_machines = [run for run in runs if run["transport"] == "flower"]
    for federation in dict.fromkeys(run["federation"] for run in over_machines):
        those = [run for run in over_machines if run["federation"] == federation]
        with tempfile.TemporaryDirectory() as folder, machines_of(those[0], Path(folder)) as machines:
            for number, run in enumerate(those):
                yield run, guarded(lambda one, _, n=number: by_flower(one, machines, n), run, Path(folder))


def guarded(act: Callable[[Run, Path], Outcome], run: Run, folder: Path) -> Outcome:
    """What a run gives, or how it was refused; a bug is not a refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return act(run, folder)
        except FedrcdError as problem:
            return of_refusal(problem, run, folder)
