"""Sites that form rows with a past: the bits of one process, and rules that count subjects."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd.api.from_ledger import discover_stored
from fedrcd.data.federation import read_federation, write_federation
from fedrcd.data.site_file import read_site
from fedrcd.errors import ConfigError, DataError
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.check import check_site
from fedrcd.federation.site.editions.choosing import EditionWaits
from fedrcd.federation.site.erasure import renew, strike_rows
from fedrcd.federation.site.release import Occasion
from fedrcd.graphs.past_names import past_names
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.couriers import Direct
from tests.federation.living import TODAY, configured, join, living, put, rows_of
from tests.federation.masking.machines import Relay, conducted, keyed
from tests.federation.sites import NAMES, visited

FOLLOW = ["fedrcd-s", "fedrcd-t", "fedrcd-x", "fedrcd-sx", "fed-direct"]
"""Methods that follow a past."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return visited(tmp_path_factory.mktemp("federation"))


@pytest.fixture
def disk(tables, tmp_path):
    """The federation with stores and results of this test's own."""
    return tables.apart(tmp_path)


def bits(estimate):
    return estimate.order.tolist(), estimate.B.tobytes(), estimate.marginals.cov.tobytes()


def in_one_process(disk, method):
    transport = disk.in_process()
    setting = transport.setting.knowing(None)
    return run(build(method).rounds(setting), transport)


def over_services(disk, method, **more):
    conductor = Conductor(disk.plan(method, **more), disk.federation, say=lambda _: None)
    return conductor.run(Direct(disk), NAMES)


@pytest.mark.parametrize("method", FOLLOW)
def test_services_give_the_bits_of_one_process(disk, method):
    found = over_services(disk, method, trust_coordinator=True)
    assert found.past == 1
    assert bits(found.estimate) == bits(in_one_process(disk, method))


def test_machines_find_what_discover_finds_in_the_tables(disk):
    frames = [pd.read_parquet(disk.data(name)) for name in NAMES]
    names = disk.federation.present
    frame = dict.fromkeys(past_names(names, 1), (0.0, 4.0))
    how = {"lags": 1, "time": "visit", "subject": "id", "arithmetic": "exact", "frame": frame}
    here = fedrcd.discover(frames, "fedrcd-s", **how)
    there = over_services(disk, "auto")
    assert there.method == "fedrcd-s"
    p = len(names)
    assert there.estimate.B[:p, :p].tobytes() == here.B.tobytes()
    assert there.estimate.B[:p, p:].tobytes() == here.lagged_effects[1].tobytes()


@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-x", "fed-direct"])
def test_masked_runs_have_the_bits_of_the_clear(tmp_path, method):
    disk = keyed(tmp_path, make=visited)
    found = conducted(disk, Relay(disk), method)
    assert bits(found.estimate) == bits(in_one_process(disk, method))


def test_auto_takes_no_method_that_cannot_follow_a_past(disk):
    for name in {METHODS[name].name for name in METHODS if METHODS[name].auto}:
        if not build(name).deflation.least_squares:
            with pytest.raises(ConfigError, match="no past"):
                in_one_process(disk, name)
    assert over_services(disk, "auto", trust_coordinator=True).method in FOLLOW


def test_the_file_says_what_was_measured_and_reads_back(disk, tmp_path):
    text = disk.file.read_text()
    assert "[t-1]" not in text
    again = read_federation(disk.file)
    assert again == disk.federation
    assert again.variables == past_names(again.present, 1)
    write_federation(tmp_path / "again.toml", again)
    assert (tmp_path / "again.toml").read_text() == text


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("lags = -1", "lags: must be at least 0"),
        ("time_column = 'visit'", "time_column: needs lags"),
        ("lags = 1\ntime_column = 'visit'", "step: must be above 0 with time_column"),
        ("lags = 1\nstep = 1", "step: must be above 0 with time_column"),
        ("lags = 1\nsubject_column = 'id2'\nunit = 'subject'", "id_column is whose series"),
        ("lags = 1\nsubject_column = 'id'", "'id' is there twice"),
        ("lags = 1\nsubject_column = 'a'", "'a' is also in variables"),
    ],
)
def test_a_past_that_cannot_be_is_refused_in_one_line(tmp_path, line, problem):
    file = tmp_path / "federation.toml"
    site = "[[site]]\nname = 's'\ncolumns = ['a', 'b']\nblocks = ['s']\n[[block]]\nlabel = 's'\nrows = 9\n"
    file.write_text(f"variables = ['a', 'b']\n{line}\n{site}")
    with pytest.raises(ConfigError, match=problem):
        read_federation(file)


def test_names_of_steps_before_are_not_written_by_hand(tmp_path):
    file = tmp_path / "federation.toml"
    names = "['a', 'b', 'a[t-1]', 'b[t-1]']"
    site = f"[[site]]\nname = 's'\ncolumns = {names}\nblocks = ['s']\n[[block]]\nlabel = 's'\nrows = 9\n"
    file.write_text(f"variables = {names}\n{site}")
    with pytest.raises(ConfigError, match="are those of a step before"):
        read_federation(file)


# who is protected


def with_column(disk, name, column, values):
    """The table of a site with other values in a column."""
    table = pd.read_parquet(disk.data(name))
    table[column] = values(table)
    table.to_parquet(disk.data(name), index=False)


def asked(disk, name, run="r", **changes):
    """What leaves the door of a site when it is asked for pair sums."""
    federation = disk.federation
    layout = cohort_layout(federation, NAMES)
    frame = federation.declared_frame()
    setting = Setting(federation.variables, frame, layout, grid=ARITHMETIC["exact"], past=federation.lags)
    with disk.door(name, **changes) as (door, tables):
        [released] = door.release([setting.pairs(4)], tables, Occasion(run, 1, run, layout))
        return released.blocks[0][1].floats()


def one_carrier(table):
    """A flag that one subject has from the second visit on, and nobody else has."""
    who = table["id"] if "id" in table else table["machine"]
    return ((who == who.min()) & (table["visit"] > 0)).astype(float)


def test_what_many_visits_of_one_subject_share_is_not_told(tmp_path):
    """Attack: sixteen rows share a level, and all are of one subject; the sums of another column give her mean."""
    disk = visited(tmp_path / "subject", visits=17)
    with_column(disk, NAMES[0], "x1", one_carrier)
    with pytest.raises(Refused) as caught:
        asked(disk, NAMES[0])
    assert caught.value.code is Refusal.CELLS
    by_rows = visited(tmp_path / "row", visits=17, unit="row")
    with_column(by_rows, NAMES[0], "x1", one_carrier)
    told = asked(by_rows, NAMES[0], rules=Rules(off=("pair cells",)))
    frame, table = by_rows.federation.declared_frame(), pd.read_parquet(by_rows.data(NAMES[0]))
    hers = table[table["machine"] == table["machine"].min()].sort_values("visit")["x2"].to_numpy()[1:]
    flag = (np.array([1.0, 0.0]) - frame.centre[0]) / frame.scale[0]
    [[with_flag]] = (told.sums[1, 0][:1] - told.most_rows * flag[1]) / (flag[0] - flag[1])
    together = (told.sums[1, 1][0, 1] - flag[1] * told.sums[1, 0][1, 0]) / (flag[0] - flag[1])
    assert round(with_flag) == len(hers) == 16
    assert together / with_flag * frame.scale[1] + frame.centre[1] == pytest.approx(hers.mean(), abs=1e-3)


@pytest.mark.parametrize(("unit", "refused"), [("subject", True), ("row", False)])
def test_rows_are_counted_by_the_unit_that_is_declared(tmp_path, unit, refused):
    """Thirty subjects with twenty visits are thirty, where subjects are protected."""
    disk = visited(tmp_path, subjects=(30, 30, 30), visits=20, unit=unit)
    if refused:
        with pytest.raises(Refused, match="are needed") as caught:
            asked(disk, NAMES[0])
        assert caught.value.code is Refusal.ROWS
    else:
        assert asked(disk, NAMES[0]).most_rows == 30 * 19


def test_the_check_of_a_site_says_what_counting_subjects_costs(disk):
    with disk.door(NAMES[0]) as (door, tables):
        said = [remark.text for remark in check_site(door, tables)]
    assert any("a subject has up to 4 rows" in text and "400 rows are needed instead of 100" in text for text in said)


def test_a_subject_that_leaves_alone_is_not_told(tmp_path):
    """Attack: the sums with and without a subject differ by that subject's rows; the site waits."""
    own = visited(tmp_path)
    whole = asked(own, NAMES[0]).most_rows
    table = pd.read_parquet(own.data(NAMES[0]))
    table[table["id"] != f"{NAMES[0]} 3"].to_parquet(own.data(NAMES[0]), index=False)
    with pytest.raises(EditionWaits):
        asked(own, NAMES[0], "later")
    assert asked(own, NAMES[0], "last", rules=Rules(off=("batch",))).most_rows == whole - 4


def test_an_erased_subject_was_never_there(tmp_path):
    disk = visited(tmp_path / "federation", subjects=(500, 210, 220))
    configuration = configured(disk.federation)
    for folder in ("lived", "never"):
        (tmp_path / folder).mkdir()
    gone = [f"{NAMES[0]} {k}" for k in range(90)]
    tables = {name: pd.read_parquet(disk.data(name)) for name in NAMES}
    rest = {**tables, NAMES[0]: tables[NAMES[0]][~tables[NAMES[0]]["id"].isin(gone)]}
    with living(tmp_path / "lived", disk.federation, configuration, NAMES) as (ledger, members):
        for name in NAMES:
            join(ledger, members[name], tables[name])
        member = members[NAMES[0]]
        rows = rows_of(tables[NAMES[0]], disk.federation, NAMES[0])
        assert strike_rows(member.door, rows, gone, TODAY) == 90
        made = renew(member, rows[0], TODAY).contribution
        assert made is not None
        put(ledger, made)
        erased = discover_stored(ledger, "fedrcd-s")
        after = {family: ledger.pooled()[family] for family in configuration.families}
    with living(tmp_path / "never", disk.federation, configuration, NAMES) as (ledger, members):
        for name in NAMES:
            join(ledger, members[name], rest[name])
        never = discover_stored(ledger, "fedrcd-s")
        fresh = {family: ledger.pooled()[family] for family in configuration.families}
    assert erased.B.tobytes() == never.B.tobytes()
    assert erased.lagged_effects[1].tobytes() == never.lagged_effects[1].tobytes()
    assert erased.rows == never.rows == (410 + 210 + 220) * 4
    assert str(after) == str(fresh)


# bad rows


def read(disk, name):
    return read_site(disk.data(name), disk.federation, disk.federation.site(name))


def test_gaps_and_single_visits_are_left_out_and_the_check_counts_them(tmp_path):
    disk = visited(tmp_path)
    table = pd.read_parquet(disk.data(NAMES[0])).sort_values(["id", "visit"])
    first = table["id"] == f"{NAMES[0]} 0"
    gap = (table["id"] == f"{NAMES[0]} 1") & (table["visit"] == 2)
    table[~(first & (table["visit"] > 0)) & ~gap].to_parquet(disk.data(NAMES[0]), index=False)
    [rows] = read(disk, NAMES[0])
    assert rows.count == 148 * 4 + 2
    other = table.assign(visit=table["visit"] * 2)  # no step is as long as the file says
    other.to_parquet(disk.data(NAMES[0]), index=False)
    assert read(disk, NAMES[0])[0].count == 0


def test_twins_and_torn_series_are_one_line(tmp_path):
    disk = visited(tmp_path)
    table = pd.read_parquet(disk.data(NAMES[0]))
    pd.concat([table, table.iloc[:2]]).to_parquet(disk.data(NAMES[0]), index=False)
    with pytest.raises(DataError, match="2 rows have the time of another row of the same subject"):
        read(disk, NAMES[0])
    table.drop(columns="visit").to_parquet(disk.data(NAMES[0]), index=False)
    with pytest.raises(ConfigError, match="no column 'visit' for time_column"):
        read(disk, NAMES[0])
    table.assign(x1=table["id"].str[-1].astype(float)).to_parquet(disk.data(NAMES[0]), index=False)
    with pytest.raises(DataError, match="'x1' never changes within a series"):
        read(disk, NAMES[0])
    site = replace(disk.federation.sites[0], blocks=("one", "two"))
    labels = np.where(table["visit"] < 2, "one", "two")
    table.assign(block=labels).to_parquet(disk.data(NAMES[0]), index=False)
    with pytest.raises(DataError, match="150 subjects are in block 'one' and in block 'two'"):
        read_site(disk.data(NAMES[0]), disk.federation, site)


def test_the_ledger_of_a_past_knows_it_by_the_names(disk):
    assert configure(disk.federation, grid=ARITHMETIC["exact"]).setting().past == 1


def test_noise_is_refused_where_it_would_hide_single_rows_alone(tmp_path):
    """Attack: noise for one row, and a subject has four; nothing of the rows decides the refusal."""
    disk = keyed(tmp_path, make=visited)
    with pytest.raises(ConfigError, match="noise hides single rows"):
        conducted(disk, Relay(disk), "fedrcd-dp", options={"epsilon": 3.0, "delta": 1e-6})
