"""Whoever has two sums subtracts them. Every attack finds what it wants with its rule off, and not with it on."""

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedrcd.data.federation import VariableFrame, read_federation, write_federation
from fedrcd.errors import DataError, FileError, ProtocolError
from fedrcd.federation.ledger.contribution import Contribution, Parcel, SignedContribution, SignedWithdrawal
from fedrcd.federation.ledger.entries import next_entry
from fedrcd.federation.ledger.ledger import Ledger, read_key
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.site.store import FILE, FILL, Store
from fedrcd.protocol.wire import from_bytes, to_bytes
from tests.cli.test_ledger_commands import folder, site, typed, with_keys
from tests.contracts.doors import BLOCK, SITE, Place, table_of
from tests.federation.living import federation_of

__all__ = ["folder"]

N, P = 400, 3
COLUMNS = [f"v{k}" for k in range(P)]
SCALE = 4.0
"""Of the declared frame, whose centre is 0."""

STEP = SCALE * 64 / 2**20
"""Of the grid on which sums are exact."""


@pytest.fixture
def place(tmp_path):
    return Place.of(tmp_path, table_of(P, N))


OFF = ("batch",)


def asked(place, sums="pairs", **options):
    """A run of its own: the first moments of all variables, and how many rows there are; None if it is refused."""
    reply = place.respond(place.question(sums), **options)
    if reply.refusal is not None:
        return None
    return first_moments(reply.blocks[0][1])


def first_moments(sums):
    floats = sums.floats()
    return int(floats.count.max()), floats.sums[1, 0][:, 0] * SCALE


def difference(before, after):
    """The rows between two sums, if they are one: its values."""
    if before is None or after is None or before[0] - after[0] not in (0, 1):
        return None
    return before[1] - after[1]


def is_row(found, table, row):
    return found is not None and np.allclose(found, table.loc[row, COLUMNS].to_numpy(float), atol=STEP)


def without(place, *rows):
    table = place.table()
    place.put(table.drop(index=list(rows)))


# one row changes between two runs


def test_a_row_that_is_deleted_between_two_runs(place):
    """Attack 4."""
    table = place.table()
    before = asked(place)
    without(place, 17)
    assert asked(place) is None
    assert is_row(difference(before, asked(place, without=OFF)), table, 17)


def test_a_cell_that_turns_missing_leaves_the_count_of_the_table_as_it_was(place):
    """Attack 4: the row is not gone, so the site answers about it as it was."""
    table = place.table()
    before = asked(place)
    changed = table.copy()
    changed.loc[17, "v1"] = np.nan
    place.put(changed)
    assert difference(before, asked(place)) is not None
    assert not is_row(difference(before, asked(place)), table, 17)  # nothing differs
    assert is_row(difference(before, asked(place, without=OFF)), table, 17)


def test_one_value_that_is_corrected_between_two_runs(place):
    table = place.table()
    before = asked(place)
    changed = table.copy()
    changed.loc[17, "v1"] += 1.5
    place.put(changed)
    assert np.all(difference(before, asked(place)) == 0)
    told = difference(before, asked(place, without=OFF))
    np.testing.assert_allclose(told, [0.0, -1.5, 0.0], atol=STEP)


def test_many_values_of_one_column_hide_no_value_of_another(place):
    """Sums of the other columns do not see them."""
    table = place.table()
    before = asked(place)
    changed = table.copy()
    changed.loc[:99, "v0"] += 1.0
    changed.loc[17, "v1"] += 1.5
    place.put(changed)
    assert np.all(difference(before, asked(place)) == 0)
    assert difference(before, asked(place, without=OFF))[1] == pytest.approx(-1.5, abs=STEP)


# a new name is no new history


def renamed(place, label):
    """The block has another name from now on."""
    federation = place.federation
    [before] = federation.site(SITE).blocks
    sites = tuple(replace(one, blocks=(label,)) if one.name == SITE else one for one in federation.sites)
    blocks = tuple(replace(one, label=label) if one.label == before else one for one in federation.blocks)
    place.declare(replace(federation, sites=sites, blocks=blocks))


def test_a_block_that_is_renamed_starts_nothing_anew(place):
    """Attack 3."""
    table = place.table()
    before = asked(place)
    renamed(place, "another")
    assert asked(place) is not None  # the same rows
    without(place, 17)
    assert asked(place) is None
    assert is_row(difference(before, asked(place, without=OFF)), table, 17)


def test_a_renamed_block_has_the_budget_that_is_left(tmp_path):
    """Attack 3: 81 numbers a time, of half of 106 rows of 6 columns."""
    place = Place.of(tmp_path, table_of(6, 106))
    told = []
    for name in (BLOCK, "one", "two", "three", "four"):
        if name != BLOCK:
            renamed(place, name)
        table = place.table()
        place.put(table.assign(**{f"v{k}": table[f"v{k}"] + 0.1 for k in range(6)}))  # other numbers of the same people
        told.append(place.respond(place.question("pairs")).refusal)
    assert told == [None, None, Refusal.BUDGET, Refusal.BUDGET, Refusal.BUDGET]
    assert place.respond(place.question("pairs"), without=("budget",)).refusal is None


def test_a_frame_that_is_declared_anew_does_not_clip_the_farthest_row_away(place):
    """Attack 3: in a narrow frame only one row is beyond the limit, and the sums without what is beyond tell it."""
    table = place.table()
    table.loc[17, "v0"] = 30.0
    place.put(table)
    before = asked(place)
    federation, limit = place.federation, 29.0
    narrow = {**federation.frame, "v0": VariableFrame(0.0, limit / 64, "unit")}
    place.declare(replace(federation, frame=narrow))
    assert place.respond(place.question("pairs")).refusal is Refusal.FRAME
    reply = place.respond(place.question("pairs"), without=("frame",))
    clipped = reply.blocks[0][1].floats().sums[1, 0][0, 0] * limit / 64
    assert before[1][0] - clipped + limit == pytest.approx(30.0, abs=0.01)


def test_fewer_columns_are_no_new_table(place):
    """The column is gone from the federation; the others still tell who is."""
    table = place.table()
    before = asked(place)
    federation = place.federation
    kept = COLUMNS[:2]
    sites = tuple(replace(one, columns=tuple(kept)) for one in federation.sites)
    frame = {name: federation.frame[name] for name in kept}
    place.declare(replace(federation, variables=tuple(kept), sites=sites, frame=frame))
    assert asked(place) is not None
    without(place, 17)
    assert asked(place) is None
    _, moments = asked(place, without=OFF)
    np.testing.assert_allclose(before[1][:2] - moments, table.loc[17, kept].to_numpy(float), atol=STEP)


def test_a_store_that_is_gone_is_missed(tmp_path):
    """Another folder, or no folder, would begin with a full budget and no editions."""
    place = Place.of(tmp_path, table_of(P, N))
    place.declare(with_keys(replace(place.federation), tmp_path))
    settings = replace(place.settings(), key=str(tmp_path / "keys" / SITE))
    place._settings = {(None, False, ()): settings}
    table = place.table()
    before = asked(place)
    without(place, 17)
    for path in place.state.glob(f"{FILE}*"):
        path.rename(path.with_name(f"hidden-{path.name}"))
    assert place.respond(place.question("pairs")).refusal is Refusal.DATA
    off = replace(settings, rules=replace(settings.rules, off=("history",)))
    place._settings[None, False, ("history",)] = off
    assert is_row(difference(before, asked(place, without=("history",))), table, 17)


# the ledger and the machines know of each other


def test_an_erasure_that_waits_shows_at_no_other_door(place):
    """Attack 5: the ledger has the row, `site serve` is asked about the others."""
    table = place.table()
    assert place.contribute("pairs", to="ledger", patient=True).left
    before = pooled(place.folder / "pairs-exact.db")
    place.erase("pairs", "--ids", place.listed("r17"), to="ledger")
    assert asked(place) is None
    count, moments = pooled(place.folder / "pairs-exact.db")
    assert (count, moments.tolist()) == (before[0], before[1].tolist())  # there it counts until the edition is due
    assert is_row(difference(before, asked(place, without=OFF)), table, 17)


def pooled(path):
    with Ledger.open(path) as ledger:
        return first_moments(ledger.pooled()["pairs/4"])


def test_corrections_back_and_forth(place):
    """Attack 6: sixty rows change, then all but one of them change back."""
    table = place.table()
    first = asked(place)
    changed = table.copy()
    changed.loc[:59, COLUMNS] += 1.0
    place.put(changed)
    assert difference(first, asked(place)) is not None
    back = table.copy()
    back.loc[17, COLUMNS] += 1.0
    place.put(back)
    now = asked(place)
    assert np.all(difference(first, now) != 0)  # the second edition again: nothing comes near the first
    assert abs(difference(first, now)[0]) > 50
    told = difference(first, asked(place, without=OFF))
    np.testing.assert_allclose(told, -1.0, atol=STEP)


def test_few_carriers_of_a_flag_are_told_by_no_door(tmp_path):
    """Attack 19: 300 rows, five of which have the flag; products with it are sums over those five."""
    rows = table_of(P, 300).assign(v0=[float(k < 5) for k in range(300)])
    place = Place.of(tmp_path, rows)
    for door in (place.serve, place.contribute):
        assert door("pairs").left == {}
    seen = place.contribute("pairs", "--without-rule", "pair cells")
    assert seen.left
    [made] = [one.contribution for one in parcel(place)]
    floats = made.sums["pairs/4"].floats()
    carriers = floats.sums[1, 1][0, 1] * SCALE**2  # of flag times v1
    assert carriers == pytest.approx(rows.loc[:4, "v1"].sum(), abs=0.01)


def parcel(place):
    return from_bytes((place.folder / "out.parcel").read_bytes(), Parcel).items


# contributions of others


def handed(folder, *items):
    (folder / "evil.parcel").write_bytes(to_bytes(Parcel(items)))
    return ("ledger", "add", "l.db", "evil.parcel")


def joined(trial):
    """A federation with a ledger; in a trial nobody has a key."""
    federation = federation_of(3, ("north", "south"))
    here = Path.cwd()
    write_federation(
        here / "federation.toml", replace(federation, trial=True) if trial else with_keys(federation, here)
    )
    typed("ledger", "new", "l.db", "--federation", "federation.toml")
    for name in ("north", "south"):
        words = site(name, "--ledger", "l.db")
        typed("contribute", *(words[:5] + words[7:] if trial else words))
    with Ledger.open("l.db") as ledger:
        return {one.site: one for one in ledger.contributions()}


def forged(made: Contribution, **changes):
    """What somebody hands over under a site's name."""
    return SignedContribution(replace(made, salt="0" * 64, **changes), made.version, "00")


FORGERIES = {
    "a site's contribution replaced": lambda made: forged(made["north"], version=2, sums=made["south"].sums),
    "a site expelled": lambda made: SignedWithdrawal("south", made["south"].block, 1, "00"),
    "the true site locked out": lambda made: forged(made["north"], version=2**62),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_nobody_contributes_under_the_name_of_another(folder, forgery):
    """Attack 13; a federation whose sites have no keys, which only a trial may, has no defence."""
    trusting = joined(trial=True)
    typed(*handed(folder, FORGERIES[forgery](trusting)))
    for path in folder.glob("l.db*"):
        path.unlink()
    shutil.rmtree(folder / "fedrcd-state")
    made = joined(trial=False)
    assert "not signed with the key of site" in typed(*handed(folder, FORGERIES[forgery](made)), fails=ProtocolError)
    with Ledger.open("l.db") as ledger:
        assert [entry.kind for entry in ledger.entries] == ["opened", "joined", "joined"]


def test_an_unknown_site_is_not_admitted_though_nobody_signs(folder):
    made = joined(trial=True)
    stranger = forged(replace(made["north"], site="west", block="west", version=1))
    typed(*handed(folder, replace(stranger, follows=0)), fails=ProtocolError)


def test_a_contribution_that_is_sent_again_by_others_changes_nothing(folder):
    """Replayed after the site replaced it: it follows nothing that is there now. Its erased rows would be back."""
    joined(trial=False)
    words = ("contribute", *site("north", "--out", "first.parcel", "--again", "--after", "1"))
    typed(*words)
    typed("ledger", "add", "l.db", "first.parcel")
    typed("erase", *site("north", "--ledger", "l.db", "--ids", "ids.txt", "--now", "--no-derive"))
    typed("ledger", "add", "l.db", "first.parcel", fails=ProtocolError)


# a ledger that is not the one it was


def rolled_back(path, before):
    shutil.copy(before, path)


def rewritten(path, _before):
    """Whoever has the key of the ledger writes another past, and signs it."""
    with Ledger.open(path) as ledger:
        entries, secret = list(ledger.entries), read_key(path.with_name("l.db.key"))
    changed = {key: value for key, value in entries[1].content.items() if key not in FRAME}
    chain = [entries[0], next_entry(entries[0], entries[1].kind, {**changed, "time": "2020-01-01"}, secret)]
    for entry in entries[2:]:
        content = {key: value for key, value in entry.content.items() if key not in FRAME}
        chain.append(next_entry(chain[-1], entry.kind, content, secret))
    connection = sqlite3.connect(path)
    with connection:
        for name in ("entries_stay", "entries_keep"):
            connection.execute(f"DROP TRIGGER {name}")
        for entry in chain:
            values = (entry.text, entry.hash, entry.signature, entry.number)
            connection.execute("UPDATE entries SET text = ?, hash = ?, signature = ? WHERE number = ?", values)
    connection.close()


FRAME = {"format", "number", "kind", "previous"}


@pytest.mark.parametrize("lie", [rolled_back, rewritten])
def test_a_ledger_that_lost_or_changed_its_past_is_found_by_the_next_who_comes(folder, lie):
    """Attack 14."""
    joined(trial=True)
    path = folder / "l.db"
    shutil.copy(path, folder / "before.db")
    words = site("north", "--ledger", "l.db")
    north = ("contribute", *words[:5], *words[7:], "--again")
    typed(*north)
    lie(path, folder / "before.db")
    said = typed(*north, fails=ProtocolError)
    assert "rolled back" in said or "rewritten" in said
    assert "version" in typed(*north, "--without-rule", "ledger")


def test_a_fork_shows_when_sites_compare_what_they_have_seen(folder):
    """Attack 14: each site is shown a ledger of its own, with the same name, the same key and another end."""
    joined(trial=False)
    federation = read_federation(folder / "federation.toml")
    write_federation(folder / "federation.toml", replace(federation, trial=True))  # the rule can be switched off
    path = folder / "l.db"
    shutil.copy(path, folder / "for-south.db")
    shutil.copy(folder / "l.db.key", folder / "for-south.db.key")
    typed("contribute", *site("north", "--ledger", "l.db", "--again"))
    typed("contribute", *site("south", "--ledger", "for-south.db", "--again"))
    with Ledger.open(path) as mine, Ledger.open("for-south.db") as theirs:
        assert mine.entries[:3] == theirs.entries[:3]
        assert mine.entries[3] != theirs.entries[3]
        for head in theirs.heads():
            mine.note_head(head)
    again = ("contribute", *site("north", "--ledger", "l.db", "--again"))
    said = typed(*again, fails=ProtocolError)
    assert "site 'south' was shown entry 4" in said
    assert "forked" in said
    assert "receipt" in typed(*again, "--without-rule", "ledger")  # and nobody would have known


def test_a_receipt_that_is_not_genuine_is_not_filed(folder):
    """Attack 14: a bad hash, a bad signature, another key."""
    joined(trial=False)
    with Ledger.open("l.db") as ledger:
        receipt = ledger.receipt(2)
    other = next_entry(None, "joined", dict(receipt.content), bytes(range(32)))
    entry = receipt.entry
    for bad in (
        Receipt(replace(entry, hash="0" * 64), receipt.public_key),
        Receipt(replace(entry, signature="0" * 128), receipt.public_key),
        Receipt(entry, "0" * 64),
        Receipt(other, receipt.public_key),
    ):
        (folder / "receipts.json").write_text(
            json.dumps({"receipts": [json.loads(bad.to_json())], "ledger": exported()})
        )
        typed("site", "receipts", "receipts.json", "--state", "fedrcd-state/north", fails=(ProtocolError, FileError))
    with Store("fedrcd-state/north", "north") as store:
        assert [one.to_json() for one in store.sent.receipts()] == [receipt.to_json()]


def test_a_ledger_that_has_more_of_a_site_than_its_store_shows_a_copy_from_before(folder):
    """A machine that is put back with all its files sums the erased rows again; the ledger knows better."""
    joined(trial=False)
    federation = read_federation(folder / "federation.toml")
    write_federation(folder / "federation.toml", replace(federation, trial=True))
    backup = folder / "backup"
    for name in ("fedrcd-state/north", "keys"):
        shutil.copytree(folder / name, backup / name)
    (folder / "many.txt").write_text("\n".join(f"r{k}" for k in range(60)))
    typed("erase", *site("north", "--ledger", "l.db", "--ids", "many.txt", "--no-derive"))
    shutil.copytree(backup, folder, dirs_exist_ok=True)
    again = ("contribute", *site("north", "--ledger", "l.db", "--again"))
    assert "is an older copy" in typed(*again, fails=ProtocolError)
    said = typed(
        "contribute", *site("north", "--out", "old.parcel", "--again", "--after", "2", "--without-rule", "history")
    )
    assert "400 rows" in said  # with those who were erased


def exported():
    typed("ledger", "export", "l.db", "--out", "export.json")
    return json.loads(Path("export.json").read_text())


# one row is gone, and all others look otherwise


def columns_called(place, names):
    """The columns of the federation have other names from now on, or another order."""
    federation = place.federation
    sites = tuple(replace(one, columns=tuple(names)) for one in federation.sites)
    return federation, sites


def re_rounded(place, rest):
    place.put(rest.assign(**{name: rest[name].round(6) for name in COLUMNS}))


def all_columns_renamed(place, rest):
    federation, sites = columns_called(place, ["w0", "w1", "w2"])
    frame = {f"w{k}": federation.frame[name] for k, name in enumerate(COLUMNS)}
    place.declare(replace(federation, variables=tuple(frame), sites=sites, frame=frame))
    place.put(rest.rename(columns=dict(zip(COLUMNS, frame, strict=True))))


def other_identifiers(place, rest):
    place.put(rest.assign(id=["x" + one for one in rest["id"]]))


def other_identifiers_and_block(place, rest):
    renamed(place, "2027")
    other_identifiers(place, rest)


def other_identifiers_and_order_of_columns(place, rest):
    federation, sites = columns_called(place, ["v1", "v0", "v2"])
    place.declare(replace(federation, sites=sites))
    other_identifiers(place, rest)


def other_identifiers_and_digits(place, rest):
    other_identifiers(place, rest.assign(**{name: rest[name].round(6) for name in COLUMNS}))


DISGUISES = (
    re_rounded,
    all_columns_renamed,
    other_identifiers,
    other_identifiers_and_block,
    other_identifiers_and_order_of_columns,
    other_identifiers_and_digits,
)


@pytest.mark.parametrize("disguise", DISGUISES, ids=lambda one: one.__name__)
def test_a_row_that_is_gone_while_all_others_look_otherwise(place, disguise):
    """Attack 3: history goes by persons, whatever identifiers, columns and digits look like."""
    table = place.table()
    before = asked(place)
    disguise(place, table.drop(index=[17]))
    assert asked(place) is None
    told = difference(before, asked(place, without=OFF))
    np.testing.assert_allclose(told, table.loc[17, COLUMNS].to_numpy(float), atol=STEP + 1e-3)


@pytest.mark.parametrize("change", ["renamed", "re-rounded"])
def test_a_table_without_identifiers_is_known_by_its_rows(tmp_path, change):
    table = table_of(P, N)
    place = Place.of(tmp_path, table.drop(columns="id"))
    before = asked(place)
    renamed(place, "2027")
    rest = place.table().drop(index=[17])
    place.put(rest.assign(v0=rest["v0"].round(6)) if change == "re-rounded" else rest)
    assert asked(place) is None
    told = difference(before, asked(place, without=OFF))
    np.testing.assert_allclose(told, table.loc[17, COLUMNS].to_numpy(float), atol=STEP + 1e-3)


def test_identifiers_that_are_added_begin_no_new_history(tmp_path):
    table = table_of(P, N)
    place = Place.of(tmp_path, table.drop(columns="id"))
    before = asked(place)
    place.put(table.drop(index=[17]))
    assert asked(place) is None
    assert is_row(difference(before, asked(place, without=OFF)), table, 17)


def test_erased_rows_do_not_come_back_under_other_identifiers(place):
    """A batch is erased; then an export writes all identifiers otherwise."""
    table = place.table()
    asked(place)
    place.erase("pairs", "--ids", place.listed(*[f"r{k}" for k in range(40)]))
    assert asked(place)[0] == N - 40
    renamed(place, "2027")
    place.put(table.assign(id=[one + ".0" for one in table["id"]]))
    assert asked(place) is None
    assert asked(place, without=OFF)[0] == N


def test_persons_who_left_with_a_batch_come_back_under_other_identifiers(place):
    """Thirty-one leave and thirty of them return: the first edition and the last differ by one."""
    table = place.table()
    before = asked(place)
    place.put(table.drop(index=range(31)))
    assert asked(place)[0] == N - 31
    back = table.iloc[:31].drop(index=[17])
    place.put(pd.concat([table.drop(index=range(31)), back.assign(id=["x" + one for one in back["id"]])]))
    between = asked(place)  # the edition before, or nothing: nothing that differs by one
    assert between is None or between[0] == N - 31
    assert is_row(difference(before, asked(place, without=OFF)), table, 17)


def test_a_column_under_another_name_hides_no_correction(place):
    table = place.table()
    before = asked(place)
    federation, sites = columns_called(place, ["w0", "v1", "v2"])
    frame = {"w0": federation.frame["v0"], **{name: federation.frame[name] for name in COLUMNS[1:]}}
    place.declare(replace(federation, variables=tuple(frame), sites=sites, frame=frame))
    changed = table.copy()
    changed.loc[17, "v0"] += 1.5
    place.put(changed.rename(columns={"v0": "w0"}))
    assert asked(place) is None
    assert difference(before, asked(place, without=OFF))[0] == pytest.approx(-1.5, abs=STEP)


def test_a_part_of_those_who_were_told_is_not_told(place):
    """Twenty leave in sight, because somebody said --now; nineteen come back, and nobody says it again."""
    table = place.table()
    before = asked(place)
    gaps = table.copy()
    gaps.loc[10:29, "v1"] = np.nan
    place.put(gaps)
    allow_now(place)
    assert asked(place)[0] == N - 20
    back = table.copy()
    back.loc[17, "v1"] = np.nan
    place.put(back)
    assert asked(place)[0] == N - 20
    assert is_row(difference(before, asked(place, without=OFF)), table, 17)


def test_what_is_allowed_for_one_change_is_not_kept_for_another(place):
    """`--now`, said when nothing waits, would tell a correction weeks later."""
    before = asked(place)
    allow_now(place)
    table = correct_one(place)
    assert np.all(difference(before, asked(place)) == 0)
    place.put(table.drop(index=[18]))
    assert asked(place) is None
    allow_now(place)  # for a row that is gone, and is back before anybody asks
    place.put(table)
    assert asked(place) is not None
    correct_one(place)
    assert np.all(difference(before, asked(place)) == 0)
    assert difference(before, asked(place, without=OFF))[1] == pytest.approx(-1.5, abs=STEP)


def allow_now(place):
    """What a person at the site types."""
    typed("site", "editions", *place.named(), "--now")


def correct_one(place):
    """A value of one row is corrected; the table of before."""
    table = place.table()
    place.put(table.assign(v1=table["v1"] + 1.5 * (table["id"] == "r17")))
    return table


def test_rows_without_identifiers_are_split_as_they_lay(tmp_path):
    """Groups go by the places of rows then; two rows that change places would tell their difference."""
    place = Place.of(tmp_path, table_of(2, 1500).drop(columns="id"))
    assert place.respond(place.question("groups")).refusal is None
    rows = place.table()
    rows.iloc[[0, 1]] = rows.iloc[[1, 0]].to_numpy()
    place.put(rows)
    assert place.respond(place.question("groups")).refusal is Refusal.SPLIT


def test_a_store_from_before_an_erasure_is_not_the_store(tmp_path):
    """A backup that is put back would sum the erased rows again."""
    place = Place.of(tmp_path, table_of(P, N))
    place.declare(with_keys(replace(place.federation), tmp_path))
    key = str(tmp_path / "keys" / SITE)
    place._settings = {(None, False, ()): replace(place.settings(), key=key)}
    asked(place)
    shutil.copytree(place.state, tmp_path / "backup")
    ids = place.listed(*[f"r{k}" for k in range(40)])
    words = ("--federation", place.file, "--site", SITE, "--state", place.state, "--key", key)
    typed("erase", place.data, *words, "--ids", ids)
    assert asked(place)[0] == N - 40
    shutil.rmtree(place.state)
    shutil.copytree(tmp_path / "backup", place.state)
    assert place.respond(place.question("pairs")).refusal is Refusal.DATA


def test_a_run_that_is_named_like_a_contribution_pins_nothing(place):
    """Whoever asks chooses the name of a run."""
    assert place.contribute("pairs", to="ledger").left
    assert place.respond(place.question("pairs"), run=f"contribution 2 of block {BLOCK}").refusal is None
    ids = place.listed(*[f"r{k}" for k in range(60)])
    assert "2" in place.erase("pairs", "--ids", ids, to="ledger").said
    assert pooled(place.folder / "pairs-exact.db")[0] == N - 60


@pytest.mark.parametrize("share", [0.1, 0.4, 0.6])
def test_a_part_of_the_table_that_is_numbered_and_rounded_anew_hides_nobody(place, share):
    """Forty persons come and forty-one are gone, by their identifiers; the sums tell the one who is."""
    table = place.table()
    before = asked(place)
    rest = table.drop(index=[17]).reset_index(drop=True)
    moved = rest.index < share * N
    place.put(
        rest.assign(
            id=np.where(moved, "x" + rest["id"], rest["id"]),
            **{name: np.where(moved, rest[name].round(3), rest[name]) for name in COLUMNS},
        )
    )
    assert asked(place) is None
    told = difference(before, asked(place, without=OFF))
    np.testing.assert_allclose(told, table.loc[17, COLUMNS].to_numpy(float), atol=0.05)


def test_as_many_who_came_as_are_gone_are_other_people(place):
    asked(place)
    place.put(pd.concat([place.table().drop(index=range(60)), table_of(P, 60, first=N, seed=5)]))
    assert asked(place)[0] == N


def test_whoever_was_left_out_to_hide_others_can_be_erased(place):
    asked(place)
    place.erase("pairs", "--ids", place.listed("r17"))
    with place.store() as store:
        store.permit(FILL)
    count, _ = asked(place)
    hidden = sorted(place.gone() - {"r17"})[0]
    words = ("--federation", place.file, "--site", SITE, "--state", place.state)
    typed("erase", place.data, *words, "--ids", place.listed(hidden))
    assert asked(place)[0] == count
    again = typed("erase", place.data, *words, "--ids", place.listed(hidden), fails=DataError)
    assert "erased before" in again


def test_a_table_that_lost_its_identifiers_is_not_answered_about_as_it_was(place):
    """Nobody could tell who of the edition is gone."""
    asked(place)
    place.put(place.table().drop(columns="id", index=[17]))
    assert asked(place) is None
    with place.store() as store:
        assert "without identifiers" in store.entries()[-1].detail
