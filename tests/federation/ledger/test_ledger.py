"""What a ledger takes in, what it refuses, and that a refusal changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data.federation import Federation, VariableFrame
from fedrcd.errors import ConfigError, FedrcdError, FileError, ProtocolError, StatisticError
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.ledger.contribution import Contribution, check_contribution, read_contribution
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.signatures import is_signed
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.grid import ARITHMETIC, Grid
from tests.federation.living import SECRET, TRIAL, configured, contribution, federation_of, names, put, sample

FEDERATION = federation_of(3)
CONFIGURATION = configured(FEDERATION)
X = sample(3, 80)


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(tmp_path / "ledger.db", CONFIGURATION, TRIAL, secret=SECRET) as opened:
        yield opened


def given(site="a", rows=X, **changes):
    return contribution(CONFIGURATION, FEDERATION, site, rows, **changes)


def test_what_was_added_is_pooled_and_survives_closing(ledger, tmp_path):
    put(ledger, given("a", X[:30]))
    put(ledger, given("b", X[30:]))
    pooled, state = ledger.pooled(), ledger.state_id
    ledger.__exit__()
    with Ledger.open(tmp_path / "ledger.db") as again:
        assert again.state_id == state == again.state_digest()
        assert again.pooled()["tensor"] == pooled["tensor"]
    whole = given("a", X)
    assert pooled["tensor"] == whole.sums["tensor"]
    assert pooled["pairs/4"] == whole.sums["pairs/4"]


def test_replacing_and_leaving_undo_what_was_there(ledger):
    empty = ledger.state_id
    put(ledger, given("a", X[:50]))
    alone = ledger.state_id
    put(ledger, given("b", X))
    put(ledger, given("b", X[:70], version=2, purpose="erase"))
    ledger.leave("b")
    assert ledger.state_id == alone
    ledger.leave("a")
    assert ledger.state_id == empty
    assert [entry.kind for entry in ledger.entries] == ["opened", "joined", "joined", "erased", "left", "left"]


def test_the_digest_depends_on_the_secret_and_on_every_sum(ledger, tmp_path):
    put(ledger, given("a", X))
    with Ledger.create(tmp_path / "other.db", CONFIGURATION, TRIAL) as other:
        put(other, given("a", X))
        assert other.state_id != ledger.state_id
    changed = X.copy()
    changed[3, 1] += 1e-3
    with Ledger.create(tmp_path / "third.db", CONFIGURATION, TRIAL, secret=SECRET) as third:
        put(third, given("a", changed))
        assert third.state_id != ledger.state_id


def test_the_chain_holds_no_numbers_of_the_sums(ledger):
    """Two ledgers that differ in sums alone have entries that differ only in digests."""
    put(ledger, given("a", X))
    content = ledger.entries[-1].content
    assert content.keys() == {
        *("format", "number", "kind", "previous", "time", "state"),
        *("site", "block", "version", "purpose", "rows", "columns", "before", "commitment"),
        *("configuration", "follows", "signed"),
    }
    assert given("a", X).commitment != given("a", X).commitment  # salted: equal sums cannot be told


def test_a_receipt_is_signed_by_the_ledgers_key(ledger):
    receipt = put(ledger, given())
    receipt.require_genuine()
    assert is_signed(ledger.public_key, receipt.entry.hash, receipt.entry.signature)
    assert receipt.content["commitment"] == ledger.roster.standings["a", "block-a"].commitment


def test_the_same_contribution_again_gets_its_receipt_again(ledger):
    made = given()
    assert put(ledger, made) == put(ledger, made)
    assert len(ledger.entries) == 2


def other_frame():
    frame = {name: VariableFrame(0.0, 8.0, "unit") for name in names(3)}
    return configured(Federation(FEDERATION.variables, FEDERATION.sites, FEDERATION.blocks, frame))


def other_columns():
    federation = federation_of(4)
    return configured(federation), federation


def tampered(change):
    """A contribution whose exact sums were changed after they were made."""

    def bad():
        made = given("a", X)
        sums = made.sums["pairs/4"]
        assert isinstance(sums, ExactSums)
        return replace(made, sums={**made.sums, "pairs/4": change(sums)})

    return bad


def with_pairs(sums, power, values):
    return replace(sums, low=replace(sums.low, sums={**sums.low.sums, power: values}))


def asymmetric(sums):
    values = sums.low.sums[1, 1].copy()
    values[0, 1] += 1
    return with_pairs(sums, (1, 1), values)


def impossible(sums):
    values = sums.low.sums[2, 0].copy() // 10**6
    return with_pairs(sums, (2, 0), values)


def of_other_sums(made):
    return replace(made, sums={"tensor": made.sums["pairs/4"], "pairs/4": made.sums["pairs/4"]})


BAD = {
    "another frame": (lambda: contribution(other_frame(), FEDERATION, "a", X), ProtocolError, "another frame"),
    "other columns": (
        lambda: contribution(*other_columns(), "a", sample(4, 80)),
        ProtocolError,
        "other variables",
    ),
    "another grid": (
        lambda: contribution(configured(FEDERATION, "compact"), FEDERATION, "a", X),
        ProtocolError,
        "grid",
    ),
    "fewer families": (
        lambda: contribution(configured(FEDERATION, families=("pairs/4",)), FEDERATION, "a", X),
        ProtocolError,
        "other variables",
    ),
    "sums of another kind": (lambda: of_other_sums(given()), StatisticError, "another kind"),
    "no sums": (lambda: replace(given(), sums={}), ProtocolError, "does not hold the sums"),
    "float sums": (
        lambda: replace(given(), sums={key: one.floats() for key, one in given().sums.items()}),
        StatisticError,
        "grid",
    ),
    "asymmetric": (tampered(asymmetric), StatisticError, "not symmetric"),
    "impossible": (tampered(impossible), StatisticError, "cannot be used"),
    "version 0": (lambda: replace(given(), version=0), ProtocolError, "impossible version"),
    "an old version": (lambda: given(version=2), ProtocolError, "not new"),
    "no rows": (lambda: replace(given(), rows=0), ProtocolError, "impossible"),
    "more sums than rows": (lambda: replace(given(version=9), rows=79), StatisticError, "more rows than it says"),
    "an unknown purpose": (lambda: replace(given(), purpose="fun"), ProtocolError, "purpose"),
    "no site": (lambda: replace(given(), site=" "), ProtocolError, "no site"),
    "no salt": (lambda: replace(given(), salt=""), ProtocolError, "salt"),
    "columns that are no variables": (lambda: replace(given(), columns=("age",)), ProtocolError, "not variables"),
    "columns it does not hold": (
        lambda: replace(given(), columns=("v0", "v1")),
        StatisticError,
        "does not answer for",
    ),
    "itself before itself": (lambda: replace(given(), before=(("a", ("v0",)),)), ProtocolError, "twice"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_contributions_are_refused_and_change_nothing(case, ledger, tmp_path):
    put(ledger, given("a", X[:40], version=3))
    make, kind, words = BAD[case]
    before = (ledger.state_id, [entry.hash for entry in ledger.entries], (tmp_path / "ledger.db").read_bytes())
    with pytest.raises(kind, match=words):
        put(ledger, make())
    after = (ledger.state_id, [entry.hash for entry in ledger.entries], (tmp_path / "ledger.db").read_bytes())
    assert after == before


@pytest.mark.parametrize("cut", [0, 10, 100, 400, -1])
def test_cut_and_foreign_bytes_are_no_contribution(cut):
    data = given().to_bytes()
    assert isinstance(read_contribution(data), Contribution)
    with pytest.raises(ProtocolError):
        read_contribution(data[:cut])


def test_a_site_that_is_not_there_cannot_leave(ledger):
    put(ledger, given())
    for place in (("b", None), ("a", "elsewhere")):
        before = ledger.state_id
        with pytest.raises(ProtocolError, match="no contribution"):
            ledger.leave(*place)
        assert ledger.state_id == before


def test_a_site_that_left_comes_back_with_a_later_version_only(ledger):
    made = given()
    put(ledger, made)
    ledger.leave("a")
    with pytest.raises(ProtocolError, match="not new"):
        put(ledger, made)
    put(ledger, given(version=2))
    assert [standing.version for standing in ledger.roster.active()] == [2]


def test_a_ledger_is_not_made_over_another_file(tmp_path):
    (tmp_path / "thesis.txt").write_text("words")
    with pytest.raises(FileError, match="already"):
        Ledger.create(tmp_path / "thesis.txt", CONFIGURATION, TRIAL)
    with pytest.raises(FileError, match="no ledger"):
        Ledger.open(tmp_path / "absent.db")
    assert (tmp_path / "thesis.txt").read_text() == "words"


def test_only_its_owner_reads_a_ledger(ledger, tmp_path):
    assert (tmp_path / "ledger.db").stat().st_mode & 0o077 == 0


def test_a_ledger_needs_a_declared_frame_and_known_families():
    without = Federation(FEDERATION.variables, FEDERATION.sites, FEDERATION.blocks)
    with pytest.raises(ConfigError, match=r"frame\.v0"):
        configured(without)
    with pytest.raises(ConfigError, match="no family"):
        configured(FEDERATION, families=("quintuples",))


def test_the_configuration_covers_everything_that_sums_depend_on():
    seen = {CONFIGURATION.digest, other_frame().digest, other_columns()[0].digest}
    seen |= {configured(FEDERATION, name).digest for name in ARITHMETIC}
    seen.add(configure(FEDERATION, grid=Grid(20, 64)).digest)
    seen.add(configured(FEDERATION, families=("tensor",)).digest)
    unit = {name: VariableFrame(0.0, 4.0, "mm") for name in names(3)}
    seen.add(configured(Federation(FEDERATION.variables, FEDERATION.sites, FEDERATION.blocks, unit)).digest)
    assert len(seen) == 8


@pytest.mark.parametrize("arithmetic", list(ARITHMETIC))
def test_real_contributions_of_all_kinds_are_accepted(arithmetic):
    configuration = configured(FEDERATION, arithmetic)
    rng = np.random.default_rng(0)
    for rows in (X, X[:5], np.round(X), np.clip(X, 0, 1), 1e3 * X, rng.integers(0, 2, (50, 3)).astype(float)):
        check_contribution(contribution(configuration, FEDERATION, "a", rows), configuration)


def test_in_float64_the_digest_tells_how_rows_were_ordered(tmp_path):
    """Why the grid is the default: the same rows in another order are another state."""
    states = []
    for number, rows in enumerate((X, X[::-1])):
        configuration = configured(FEDERATION, "float")
        with Ledger.create(tmp_path / f"{number}.db", configuration, TRIAL, secret=SECRET) as ledger:
            put(ledger, contribution(configuration, FEDERATION, "a", rows))
            states.append(ledger.state_id)
    assert states[0] != states[1]


def test_every_refusal_is_one_of_ours():
    assert all(issubclass(kind, FedrcdError) for _, kind, _ in BAD.values())
