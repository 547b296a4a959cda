"""What works over what: every capability by every way to carry questions, and the page that says so.

A cell of the table is `Yes`, with the bits of one process in the declared frame; or `No`, refused with the reason that
the page prints; or `Open`, where a result stands without it. `docs/capabilities.md` is this table;
`python -m tests.contracts.test_capabilities` writes it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fedrcd import Knowledge
from fedrcd.errors import FedrcdError
from fedrcd.methods.registry import METHODS
from tests.contracts.columns import SITES, Column, Flower, Grid, Ledgers, OneProcess, OtherTables, Place, Transport

PAGE = Path(__file__).parents[2] / "docs" / "capabilities.md"

COLUMNS: dict[str, type[Column]] = {"one process": OneProcess, "Grid": Grid, "Flower": Flower, "ledger": Ledgers}


@dataclass(frozen=True)
class Yes:
    """Works, with the bits of one process; `remark` is what people should know beside it."""

    remark: str = ""


@dataclass(frozen=True)
class No:
    """Is refused, with this reason; `says` is what the refusal says today, where it does not give the reason."""

    reason: str
    says: str = ""


@dataclass(frozen=True)
class Open:
    """Comes back empty: the result stands without it, for this reason."""

    reason: str


Cell = Yes | No | Open


@dataclass(frozen=True)
class Capability:
    """A row: what is asked of every column, what the cells should be, and how things stand at the sites."""

    name: str
    heading: str
    run: Callable[[Any], Any]
    cells: tuple[Cell, Cell, Cell, Cell]
    situation: dict[str, Any] = field(default_factory=dict)


def found_by(method: str, **settings: Any) -> Callable[[Any], Any]:
    """The bits of a discovery."""

    def run(column: Any) -> Any:
        found = column.discover(method, **settings)
        return found.order, found.B.tobytes(), found.rows, found.confounded, found.ancestors

    return run


def spent_by(**settings: Any) -> Callable[[Any], Any]:
    """What a discovery under noise spends; it never finds the same again, and a transport has no noise."""

    def run(column: Any) -> Any:
        if isinstance(column, Transport):
            return settings
        found = column.discover("auto", **settings)
        return {"epsilon": found.epsilon, "delta": found.delta}

    return run


def drawn_by(method: str, **settings: Any) -> Callable[[Any], Any]:
    """The bits of a bootstrap."""

    def run(column: Any) -> Any:
        found = column.bootstrap(method, n_sampling=4, random_state=2, **settings)
        return found.orders.tobytes(), found.adjacency_matrices_.tobytes(), found.discovery.B.tobytes()

    return run


def pooled_by(method: str, **settings: Any) -> Callable[[Any], Any]:
    """The bits of the discovery of a bootstrap; replicates depend on secrets of the sites."""
    return lambda column: column.bootstrap(method, n_sampling=4, random_state=2, **settings).discovery.B.tobytes()


def checked_by(method: str) -> Callable[[Any], Any]:
    """The verdicts on assumptions, with their numbers."""
    return lambda column: column.check(method).to_dict()["checks"]


def standardised_by(method: str) -> Callable[[Any], Any]:
    """The order of standardised variables."""
    return lambda column: column.discover(method, check_scale=True).standardised_order


def reported_by(method: str) -> Callable[[Any], Any]:
    """The drawing of the graph on the page that a discovery writes."""

    def run(column: Any) -> Any:
        found = column.discover(method)
        found.report(column.state / "report.html")
        assert "<html" in (column.state / "report.html").read_text(encoding="utf-8")
        return found.with_units({}).to_svg()  # a federation file knows units, a frame does not

    return run


TRUST = "with trust"
NEEDS_ROUNDS = "{} asks the sites {} times, so it needs a new run over them"
NO_TRUST = (
    "{} asks the sites several times, about moments that the coordinator computes; sites answer that only if they were "
    "started with --trust-coordinator"
)
NO_TRUST_FOR_CHECKS = (
    "checks ask for residuals given moments that the coordinator computes; sites answer that only if they were started "
    "with --trust-coordinator"
)
STORED_SUMS_ONLY = "the ledger holds the sums that one-round methods ask for, and this method asks the sites for more"
AT_SITES = "{} is no setting of a run over machines: every site reads its own table"
AS_CONTRIBUTED = "how rows are read was settled when the sites contributed; the ledger holds sums, no rows"
NO_KEYS = "masks need a key of every site, and the federation file has none of 'hospital-a'"
NOISE = (
    "noise is for discoveries over tables and machines; a ledger keeps sums as they are, under the rules of disclosure"
)
ROWS_STAY = "rows do not leave the sites, so they cannot be drawn; take resample='groups'"
BY_BOOTSTRAP = (
    "only fedrcd.discover on tables and FedLiNGAM select edges by bootstrap; take `bootstrap` and its `select`"
)

KNOWN = Knowledge(tiers=[["x4"], ["x3"], ["x1", "x2"]])
ERASED = tuple(f"{site} {k}" for site in SITES for k in range(0, 1400, 7))


def methods() -> Iterator[Capability]:
    """A row for every method."""
    for name, card in METHODS.items():
        if card.one_table:
            continue
        once = card.rounds.once
        there = Yes() if once else Yes(TRUST)
        stored = Yes() if card.erasable else No(NEEDS_ROUNDS.format(name, card.rounds))
        yield Capability(
            f"`{name}`", "Methods", found_by(name), (Yes(), there, there, stored), {} if once else {"trust": True}
        )
    several = No(NO_TRUST.format("fedrcd-x"))
    yield Capability(
        "methods of several rounds, sites without trust",
        "Methods",
        found_by("fedrcd-x"),
        (Yes(), several, several, No(NEEDS_ROUNDS.format("fedrcd-x", "p - 1"))),
    )
    elsewhere = No("direct-lingam works on one table; over sites fed-direct gives the same order")
    yield Capability(
        "methods for one table, over several",
        "Methods",
        found_by("direct-lingam"),
        (
            No(
                "direct-lingam works on one table and 3 were given; use fed-direct, which gives the same order from "
                "sums, or stack=True"
            ),
            elsewhere,
            elsewhere,
            No("direct-lingam needs all rows in one table; fed-direct gives its order from sums"),
        ),
    )
    yield Capability("prior knowledge", "Methods", found_by("fedrcd-s", knowledge=KNOWN), (Yes(),) * 4)
    yield Capability(
        "hidden common causes", "Methods", found_by("fedrcd-s", hidden=True, caution="screen"), (Yes(),) * 4
    )


def confidence() -> Iterator[Capability]:
    """Bootstrap and checks."""
    no_sums = No(STORED_SUMS_ONLY)
    yield Capability(
        "bootstrap by groups of rows",
        "Confidence",
        drawn_by("fedrcd-s", groups=10),
        (Yes(), Yes(), Yes(), Yes("of `ledger new --groups`")),
    )
    stay = No(ROWS_STAY)
    yield Capability(
        "bootstrap by rows",
        "Confidence",
        drawn_by("fedrcd-s", resample="rows"),
        (Yes(), stay, stay, No("resample='rows' needs the rows")),
    )
    elsewhere = No(BY_BOOTSTRAP)
    yield Capability(
        'edges selected by bootstrap, `weights="bootstrap"`',
        "Confidence",
        found_by("fedrcd-ni", weights="bootstrap"),
        (Yes(), elsewhere, elsewhere, elsewhere),
    )
    yield Capability(
        "leave one site out",
        "Confidence",
        lambda column: column.without_each_site("fedrcd-ni"),
        (Yes(), Yes("with a bootstrap"), Yes("with a bootstrap"), Yes("nobody is asked")),
    )
    yield Capability(
        "checks of assumptions",
        "Confidence",
        checked_by("fedrcd-ni"),
        (Yes(), Yes(TRUST), Yes(TRUST), no_sums),
        {"trust": True},
    )
    refused = No(NO_TRUST_FOR_CHECKS)
    yield Capability(
        "checks of assumptions, sites without trust",
        "Confidence",
        checked_by("fedrcd-ni"),
        (Yes(), refused, refused, no_sums),
    )


def rows() -> Iterator[Capability]:
    """How rows are taken."""
    for within in ("centre", "standardise", "auto"):
        yield Capability(
            f'sites that differ, `within="{within}"`',
            "Rows",
            found_by("fedrcd-s", within=within),
            (Yes(), Yes(), Yes(), No(AS_CONTRIBUTED)),
        )
    for missing in ("expected", "available"):
        refused = No(AT_SITES.format("missing"))
        float_only = {"arithmetic": "float"} if missing == "expected" else {}
        yield Capability(
            f'missing values, `missing="{missing}"`',
            "Rows",
            found_by("fedrcd-ni", missing=missing, **float_only),
            (
                Yes('in `arithmetic="float"`' if float_only else ""),
                refused,
                refused,
                No(AS_CONTRIBUTED),
            ),
            {"gaps": True},
        )
    inexact = No("missing='expected' fills gaps by float64 moments; it needs arithmetic='float'")
    refused = No(AT_SITES.format("missing"))
    yield Capability(
        'missing values, `missing="expected"`, exact',
        "Rows",
        found_by("fedrcd-ni", missing="expected"),
        (inexact, refused, refused, No(AS_CONTRIBUTED)),
        {"gaps": True},
    )
    yield Capability(
        "rows far out, `trim`",
        "Rows",
        found_by("fedrcd-s"),
        (
            Yes(),
            Yes("every site sets its own: `fedrcd site serve --trim`"),
            Yes("every site sets its own: `fedrcd site serve --trim`"),
            Yes("every site sets its own: `fedrcd contribute --trim`"),
        ),
        {"trim": 4.0},
    )
    at_sites = No(AT_SITES.format("trim"))
    yield Capability(
        "`trim`, set by who asks",
        "Rows",
        found_by("fedrcd-s", trim=4.0),
        (Yes(), at_sites, at_sites, No(AS_CONTRIBUTED)),
    )
    yield Capability(
        "rows that were erased are left out", "Rows", found_by("fedrcd-s"), (Yes(),) * 4, {"erased": ERASED}
    )


def others() -> Iterator[Capability]:
    """Arithmetic, privacy and results."""
    for arithmetic in ("float", "exact", "compact"):
        yield Capability(
            f'`arithmetic="{arithmetic}"`', "Arithmetic", found_by("fedrcd-s", arithmetic=arithmetic), (Yes(),) * 4
        )
    keyless = No(NO_KEYS)
    yield Capability(
        "masks",
        "Privacy",
        found_by("fedrcd-s", masked=True),
        (Yes(), Yes("by default"), Yes("by default"), Yes("of `ledger new --masked`")),
        {"keyed": True},
    )
    yield Capability(
        "masks, hidden common causes",
        "Privacy",
        found_by("fedrcd-s", hidden=True, masked=True),
        (Yes(), Yes(), Yes(), Yes("of `ledger new --masked`")),
        {"keyed": True},
    )
    for method in (name for name, card in METHODS.items() if card.replayed and not card.one_table):
        yield Capability(
            f"masks, `{method}`, sites without trust",
            "Privacy",
            found_by(method, masked=True),
            (Yes(), Yes("replayed"), Yes("replayed"), No(AS_CONTRIBUTED)),
            {"keyed": True},
        )
    yield Capability(
        "masks, bootstrap by groups of rows",
        "Privacy",
        pooled_by("fedrcd-s", groups=10, masked=True),
        (Yes(), Yes(), Yes(), Yes("of `ledger new --masked --groups`")),
        {"keyed": True},
    )
    yield Capability(
        "masks, sites without registered keys",
        "Privacy",
        found_by("fedrcd-s", masked=True),
        (Yes("they are made for the run"), keyless, keyless, No(AS_CONTRIBUTED)),
    )
    yield Capability(
        "noise, `epsilon`",
        "Privacy",
        spent_by(epsilon=20.0, delta=1e-5),
        (Yes("with fresh noise"), *(Yes("once for a question, with a budget at every site"),) * 2, No(NOISE)),
        {"keyed": True, "epsilon_budget": 30.0},
    )
    yield Capability("report, drawings and files", "Results", reported_by("fedrcd-ni"), (Yes(),) * 4)
    yield Capability(
        "order of standardised variables, one round",
        "Results",
        standardised_by("fedrcd-ni"),
        (Yes(),) * 4,
    )
    again = Open("it would ask the sites all rounds again; the result stands without it")
    yield Capability(
        "order of standardised variables, several rounds",
        "Results",
        standardised_by("fedrcd-x"),
        (Yes(), again, again, No("needs a new run over them")),
        {"trust": True},
    )


TABLE = (*methods(), *confidence(), *rows(), *others())
CELLS = [
    pytest.param(one, column, one.cells[k], id=f"{one.name}, {column}")
    for one in TABLE
    for k, column in enumerate(COLUMNS)
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    pytest.importorskip("flwr")
    return Place.made(tmp_path_factory.mktemp("federation"))


@pytest.fixture(scope="module")
def references() -> dict[object, Any]:
    """What one process gives, by capability and kind: several columns are compared with the same."""
    return {}


@pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own
@pytest.mark.parametrize(("capability", "column", "cell"), CELLS)
def test_what_works_over_what(
    capability: Capability, column: str, cell: Cell, place: Place, tmp_path: Path, references: dict[object, Any]
) -> None:
    over: Any = COLUMNS[column](place, tmp_path / "column", **capability.situation)
    over.state.mkdir()
    if isinstance(cell, No):
        with pytest.raises(FedrcdError) as refused:
            capability.run(over)
        assert (cell.says or cell.reason) in str(refused.value)
    elif isinstance(cell, Open):
        assert not capability.run(over)
    else:
        found = capability.run(over)
        beside = reference(over, tmp_path / "reference", capability)
        kind = (capability.name, type(beside), *sorted(over.split_by.items()))
        if kind not in references:
            references[kind] = capability.run(beside)
        assert found == references[kind]


def reference(over: Column, state: Path, capability: Capability) -> Column:
    """One process in the declared frame; rows are split as the sites split them."""
    state.mkdir()
    if isinstance(over, Ledgers) and "groups" not in capability.name:
        return OtherTables(over.place, state, **capability.situation)
    return Transport(over.place, state, **capability.situation, secrets=over.split_by)


def page() -> str:
    """The table, for people."""
    reasons: dict[str, int] = {}
    parts = [
        "# What works where",
        "",
        "Written by `python -m tests.contracts.test_capabilities` from a table that the tests walk. Every *yes* has",
        "the bits of one process in the declared frame; every *no* is refused, for the reason of that number below.",
        "",
        "- *one process*: `fedrcd.discover` and its like over tables, or over `fedrcd.in_process`.",
        "- *Grid*: the client and server apps of Flower in one process, by `fedrcd.connect`; for trying out.",
        "- *Flower*: the same apps, with a plan and results in files, as processes have them. The tests of this page",
        "  start no processes; `tests/federation/flower/test_machines.py` does.",
        "- *ledger*: sums that the sites sent once, by `fedrcd ledger discover`; nobody is asked.",
        "",
        "*With trust* means: where all sites were started with `--trust-coordinator`, and the run says so too.",
        "*Replayed* means: every site adds up the masked answers of all, and answers what its own copy of the method",
        "asks.",
    ]
    for heading in dict.fromkeys(one.heading for one in TABLE):
        parts += ["", f"## {heading}", "", f"| | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
        for one in TABLE:
            if one.heading == heading:
                parts.append(f"| {one.name} | {' | '.join(_shown(cell, reasons) for cell in one.cells)} |")
    parts += ["", "## Why not", ""]
    parts += [f"{number}. {reason}{_said(reason)}" for reason, number in reasons.items()]
    return "\n".join(parts) + "\n"


def _shown(cell: Cell, reasons: dict[str, int]) -> str:
    """A cell, with the number of its reason."""
    if isinstance(cell, Yes):
        return f"yes, {cell.remark}" if cell.remark else "yes"
    number = reasons.setdefault(cell.reason, len(reasons) + 1)
    return f"no ({number})" if isinstance(cell, No) else f"left open ({number})"


def _said(reason: str) -> str:
    """What refusals say instead of a reason, if they do."""
    cells = [cell for one in TABLE for cell in one.cells if isinstance(cell, No) and cell.reason == reason]
    said = dict.fromkeys(cell.says for cell in cells if cell.says)
    return f" (the message says: {', or '.join(said)})" if said else ""


def test_the_page_is_the_table() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(), "docs/capabilities.md is out of date: run `python -m tests.contracts.test_capabilities`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
