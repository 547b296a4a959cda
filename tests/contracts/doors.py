"""A site with everything that can leave it, by the commands that people type: its doors."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from fedrcd.cli.main import app
from fedrcd.data.federation import Federation, read_federation, write_federation
from fedrcd.data.site_file import read_site
from fedrcd.federation.ledger.contribution import Contribution, Parcel, SignedContribution, read_contribution
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.messages.requests import Reply, Request, federation_digest, pack_request, unpack_reply
from fedrcd.federation.site.log import ANSWERED, LogEntry
from fedrcd.federation.site.service import SiteService
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import FILE, Store
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import PAIRS, TENSOR, Basis
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.protocol.wire import digest_of, from_bytes
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.living import federation_of, names, sample

SITE, BLOCK = "north", "block-north"
RUN = "run 7"
"""What a coordinator calls its run."""

GROUPS = 10
METHODS = {
    "pairs": ("fedrcd-ni",),
    "tensor": ("fedrcd-s",),
    "groups": ("fedrcd-ni", "--groups", str(GROUPS)),
    "checks": ("fedrcd-ni", "--check"),
}
"""What to preview for each kind of sums."""

FAMILIES = {"pairs": PAIRS, "tensor": TENSOR}


class Done(NamedTuple):
    """What a command came to."""

    code: int
    said: str
    problem: BaseException | None


class Seen(NamedTuple):
    """What somebody outside saw at a door: whether it refused, and a digest of what left, by family."""

    refused: bool
    left: Mapping[str, str]
    said: str = ""


def typed(*arguments: object) -> Done:
    """Run a command in this process."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    problem = done.exception if not isinstance(done.exception, SystemExit) else None
    return Done(done.exit_code, done.stdout, problem)


def table_of(p: int, n: int, *, first: int = 0, seed: int = 0) -> pd.DataFrame:
    """Rows r0, r1, ... of wards of two."""
    table = pd.DataFrame(sample(p, n, seed, noise="gamma"), columns=list(names(p)))
    table.insert(0, "ward", [k // 2 for k in range(first, first + n)])
    table.insert(0, "id", [f"r{k}" for k in range(first, first + n)])
    return table


class Place:
    """A folder with a federation file, the table of one site, its store and ledgers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file, self.data, self.state = folder / "federation.toml", folder / "north.parquet", folder / "state"
        self._settings: dict[tuple[Any, ...], SiteSettings] = {}
        self._asked = 0

    @classmethod
    def of(cls, folder: Path, table: pd.DataFrame, *, framed: bool = True) -> Place:
        """A place where nothing happened yet."""
        folder.mkdir(parents=True, exist_ok=True)
        place = cls(folder)
        p = len([name for name in table.columns if name.startswith("v")])
        federation = replace(federation_of(p, (SITE, "south"), rows=len(table)), trial=True)
        place.declare(federation if framed else replace(federation, frame={}))
        place.put(table)
        return place

    def copied(self, folder: Path) -> Place:
        """The same place elsewhere; who serves it was started where it was started here."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        place = Place(folder)
        paths = {"federation": str(place.file), "data": str(place.data), "state": str(place.state)}
        place._settings = {key: replace(settings, **paths) for key, settings in self._settings.items()}
        place._asked = self._asked
        return place

    def declare(self, federation: Federation) -> None:
        """Write the federation file."""
        write_federation(self.file, federation)

    def put(self, table: pd.DataFrame) -> None:
        """Write the table of the site."""
        table.to_parquet(self.data, index=False)

    def table(self) -> pd.DataFrame:
        """What the table holds, struck or not."""
        return pd.read_parquet(self.data)

    @property
    def federation(self) -> Federation:
        """What the file says."""
        return read_federation(self.file)

    # what is remembered

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The store of the site."""
        with Store(self.state, SITE) as store:
            yield store

    def log(self) -> list[LogEntry]:
        """All that was logged."""
        if not (self.state / FILE).exists():
            return []
        with self.store() as store:
            return store.entries()

    def answered(self) -> list[LogEntry]:
        """What left by the log."""
        return [entry for entry in self.log() if entry.outcome == ANSWERED]

    def gone(self) -> set[str]:
        """Rows of the table that were erased, or left out for good beside them."""
        with self.store() as store:
            gone = store.struck.persons()
            return {one for one in self.table()["id"] if store.marker.of_id(one) in gone}

    def waits(self) -> bool:
        """Whether rows that were erased are in the newest edition still."""
        with self.store() as store:
            return bool(store.struck.pending())

    def age(self) -> None:
        """A month passes for what waits."""
        connection = sqlite3.connect(self.state / FILE)
        connection.execute("UPDATE struck SET due = '2020-01-01'")
        connection.commit()
        connection.close()

    # serving

    def settings(
        self, *, trim: float | None = None, trust: bool = False, without: tuple[str, ...] = ()
    ) -> SiteSettings:
        """What `fedrcd site serve` writes for its processes, the first time; some rules may be off."""
        if (trim, trust, without) not in self._settings:
            more = [*([] if trim is None else ["--trim", trim]), *(["--trust-coordinator"] if trust else [])]
            more += [word for rule in without for word in ("--without-rule", rule)]
            with patch("fedrcd.federation.flower.supervise.keep_running"):
                done = typed("site", "serve", *self.named(), "--coordinator", "nowhere:1", "--insecure", *more)
            if done.problem:
                raise done.problem
            self._settings[trim, trust, without] = SiteSettings.read(self.state / "site.json")
        return self._settings[trim, trust, without]

    def question(self, sums: str, arithmetic: str = "exact", frame: Frame | None = None) -> Any:
        """What a coordinator asks for such sums."""
        federation = self.federation
        chosen = frame or federation.declared_frame() or Frame.identity(len(federation.variables))
        variables, grid = federation.variables, ARITHMETIC[arithmetic]
        pairs = PairQuestion(variables, chosen, 4, grid=grid)
        if sums == "checks":
            values = self.table()[list(variables)].dropna().to_numpy(dtype=float)
            z = chosen.express(values)
            cov = np.cov(z.T, ddof=0)
            basis = Basis(Gaussian(z.mean(axis=0), (cov + cov.T) / 2), tuple(range(len(variables))))
            return ResidualQuestion(variables, chosen, basis, grid=grid)
        tensor = TensorQuestion(variables, chosen, grid=grid)
        kinds = {"pairs": pairs, "tensor": tensor, "groups": GroupedQuestion(pairs, GROUPS)}
        return {**kinds, "tensor groups": GroupedQuestion(tensor, GROUPS)}[sums]

    def request(self, question: Any, **changes: Any) -> Request:
        """A question as it travels, in a run of its own."""
        federation = self.federation
        self._asked += 1
        fields = {
            "run": f"{RUN}.{self._asked}",
            "round": self._asked,
            "federation": federation_digest(federation),
            "site": SITE,
        }
        return Request(**{**fields, "cohort": (SITE, "south"), "question": question, **changes})

    def respond(
        self,
        question: Any,
        *,
        trim: float | None = None,
        trust: bool = False,
        without: tuple[str, ...] = (),
        surroundings: Surroundings = REAL,
        **changes: Any,
    ) -> Reply:
        """What a serving site says to a packet."""
        service = SiteService(self.settings(trim=trim, trust=trust, without=without), surroundings)
        return unpack_reply(service.respond(pack_request(self.request(question, **changes))))

    def serve(self, sums: str, *, arithmetic: str = "exact", frame: Frame | None = None, **options: Any) -> Seen:
        """Ask a serving site; only what depends on moments is asked of one that trusts."""
        trust = options.pop("trust", sums == "checks")
        reply = self.respond(self.question(sums, arithmetic, frame), trust=trust, **options)
        left = {} if reply.refusal else {sums: digest_of(reply.blocks[0][1])}
        return Seen(reply.refusal is not None, left, str(reply.refusal))

    # contributing and erasing

    def _ledger(self, sums: str, arithmetic: str) -> Path:
        """The ledger for such sums; there is none where the federation file does not do for one."""
        path = self.folder / f"{sums}-{arithmetic}.db"
        if not path.exists():
            family = ("--family", FAMILIES[sums])
            typed("ledger", "new", path, "--federation", self.file, "--arithmetic", arithmetic, *family)
        return path

    def _sent(
        self, command: str, sums: str, *more: object, to: str, trim: float | None = None, arithmetic: str = "exact"
    ) -> Seen:
        """Send sums to a ledger or to a file, and see what arrived."""
        common = (self.data, "--federation", self.file, "--site", SITE, "--state", self.state)
        common += () if trim is None else ("--trim", trim)
        out = self.folder / "out.parcel"
        out.unlink(missing_ok=True)
        if to == "ledger":
            ledger = self._ledger(sums, arithmetic)
            known = _standing(ledger)
            done = typed(command, *common, "--ledger", ledger, *more)
            now = _standing(ledger)
            made = now if now is not None and (known is None or now.version > known.version) else None
        else:
            to_file = ("--out", out, "--arithmetic", arithmetic, "--family", FAMILIES[sums])
            done = typed(command, *common, *to_file, *more)
            items = from_bytes(out.read_bytes(), Parcel).items if out.exists() else ()
            made = next((one.contribution for one in items if isinstance(one, SignedContribution)), None)
        left = {} if made is None else {family_name(one): digest_of(each) for one, each in made.sums.items()}
        return Seen(done.problem is not None, left, str(done.problem or done.said))

    def contribute(self, sums: str, *more: object, to: str = "file", patient: bool = False, **options: Any) -> Seen:
        """`fedrcd contribute`, though nothing changed, or, unless one is patient, little."""
        more += () if patient else ("--now",)
        return self._sent("contribute", sums, "--again", *more, to=to, **options)

    def erase(self, sums: str, *more: object, to: str = "file", **options: Any) -> Seen:
        """`fedrcd erase`."""
        extra = ("--no-derive",) if to == "ledger" else ()
        return self._sent("erase", sums, *more, *extra, to=to, **options)

    def listed(self, *ids: str) -> Path:
        """A file with identifiers."""
        path = self.folder / "ids.txt"
        path.write_text("".join(f"{one}\n" for one in ids))
        return path

    # looking

    def preview(self, sums: str, *, trim: float | None = None, trust: bool | None = None) -> tuple[Seen, int]:
        """What `fedrcd site preview` says, and the rows it counts; its refusal is the last that it names."""
        more = [*([] if trim is None else ["--trim", trim])]
        more += ["--trust-coordinator"] if (sums == "checks" if trust is None else trust) else []
        done = typed("site", "preview", *METHODS[sums], *self.named(), *more, "--json")
        if done.problem:
            return Seen(True, {}, str(done.problem)), 0
        told = json.loads(done.said)
        refusals = [one["refusal"] for one in told["questions"] if one["refusal"]]
        assert (done.code == 6) == bool(refusals)
        return Seen(bool(refusals), {}, " ".join(refusals)), told["rows"]

    def check(self, *, trim: float | None = None) -> tuple[Seen, int]:
        """What `fedrcd site check` says, and the complete rows that it counts."""
        more = [] if trim is None else ["--trim", trim]
        done = typed("site", "check", *self.named(), *more)
        if done.problem:
            return Seen(True, {}, str(done.problem)), 0
        refusals = [line for line in done.said.splitlines() if line.startswith("refusal")]
        assert (done.code == 6) == bool(refusals)
        counted = re.search(r"'block-north': ([\d,]+) complete rows", done.said)
        assert counted
        return Seen(bool(refusals), {}, " ".join(refusals)), int(counted[1].replace(",", ""))

    def named(self) -> tuple[object, ...]:
        """What commands of a site are told of it."""
        return ("--name", SITE, "--federation", self.file, "--data", self.data, "--state", self.state)

    # the truth

    def reference(self, sums: str, without: set[str], arithmetic: str = "exact") -> str:
        """Digest of what such sums are over the table without some rows, whatever anybody remembers."""
        federation = self.federation
        [table] = read_site(self.data, federation, federation.site(SITE))
        kept = np.array([one not in without for one in table.ids or ()]) & ~np.isnan(table.values).any(axis=1)
        site = LocalSite(SITE, table.keep(kept), BLOCK)
        return digest_of(site.answer(self.question(sums, arithmetic)))


def family_name(family: str) -> str:
    """What doors call a family of sums."""
    return next(name for name, known in FAMILIES.items() if known == family)


def _standing(path: Path) -> Contribution | None:
    """What the ledger holds of the site."""
    if not path.exists():
        return None
    with Ledger.open(path) as ledger:
        key = (SITE, BLOCK)
        return read_contribution(ledger.payload(key)) if key in ledger.roster.standings else None


def _now(place: Place, sums: str, to: str, options: Mapping[str, Any]) -> Seen:
    place.contribute(sums, to=to, **options)
    return place.erase(sums, "--ids", place.listed("r0", "r1"), "--now", to=to, **options)


def _where(place: Place, sums: str, to: str, options: Mapping[str, Any]) -> Seen:
    place.contribute(sums, to=to, **options)
    return place.erase(sums, "--where", "ward = 1", "--now", to=to, **options)


def _due(place: Place, sums: str, to: str, options: Mapping[str, Any]) -> Seen:
    """What was to be erased earlier, and waits since, or was refused."""
    place.contribute(sums, to=to, **options)
    first = place.erase(sums, "--ids", place.listed("r4", "r5"), to=to, **options)
    later = place.erase(sums, "--due", "--now", to=to, **options)
    # What could not even be written down does not wait: whoever typed it was told.
    return later._replace(refused=later.refused or (first.refused and not later.left))


class Door(NamedTuple):
    """A way out: for which sums, how to walk through, as which run it is logged, which settings it has."""

    sums: str
    walk: Callable[[Place, Mapping[str, Any]], Seen]
    run: str = ""
    settings: frozenset[str] = frozenset({"trim", "arithmetic"})


def _doors() -> Iterator[tuple[str, Door]]:
    for sums in ("pairs", "tensor", "groups", "checks"):
        serving = frozenset({"trim", "arithmetic", "trust", "frame"})
        yield f"serve {sums}", Door(sums, lambda place, o, s=sums: place.serve(s, **o), RUN, serving)
        looking = frozenset({"trim", "trust"})
        yield f"preview {sums}", Door(sums, lambda place, o, s=sums: place.preview(s, **o)[0], "", looking)
    for sums in ("pairs", "tensor"):
        for to in ("ledger", "file"):
            send = "contribution"
            yield (
                f"contribute {sums} to a {to}",
                Door(sums, lambda place, o, s=sums, t=to: place.contribute(s, to=t, **o), send),
            )
        ways = {"ids, now": (_now, "ledger"), "where": (_where, "file"), "due": (_due, "ledger")}
        for name, (way, to) in ways.items():
            yield (
                f"erase {sums} by {name}",
                Door(sums, lambda place, o, s=sums, w=way, t=to: w(place, s, t, o), "contribution"),
            )
    yield "check", Door("", lambda place, o: place.check(**o)[0], "", frozenset({"trim"}))


DOORS: dict[str, Door] = dict(_doors())
"""All ways out of a site, and those that only tell what would leave."""


# stores on a disk that fails


class Failing(sqlite3.Connection):
    """A connection to the store of a site that cannot write its log, or cannot finish what wrote to it."""

    at = ""
    wrote = False

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:  # type: ignore[override]
        if statement.startswith("BEGIN"):
            self.wrote = False
        if statement.startswith("INSERT INTO log"):
            self.wrote = True
        if statement.startswith(self.at) and (self.wrote or self.at != "COMMIT"):
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(statement, *values)


def failing(at: str) -> Callable[..., sqlite3.Connection]:
    """Opens stores whose disk is full when a statement begins so."""
    kind = type("FailingAt", (Failing,), {"at": at})

    def connect(path: Any, **options: Any) -> sqlite3.Connection:
        return sqlite3.connect(path, factory=kind if Path(path).name == FILE else sqlite3.Connection, **options)

    return connect


def read_only(path: Any, **options: Any) -> sqlite3.Connection:
    """Opens stores that nobody can write to."""
    connection = sqlite3.connect(path, **options)
    if Path(path).name == FILE:
        connection.execute("PRAGMA query_only = ON")
    return connection


def out_of_reach(path: Any, **options: Any) -> sqlite3.Connection:
    """Opens no store."""
    if Path(path).name == FILE:
        raise sqlite3.OperationalError("unable to open database file")
    return sqlite3.connect(path, **options)


@contextmanager
def disk_that(connect: Callable[..., sqlite3.Connection]) -> Iterator[None]:
    """All commands of this process meet such a disk."""
    before = REAL.connect
    object.__setattr__(REAL, "connect", connect)
    try:
        yield
    finally:
        object.__setattr__(REAL, "connect", before)
