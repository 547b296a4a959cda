"""What a site learns before it connects: whether its table fits, and what would leave."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data.federation import VariableFrame
from fedrcd.data.read import write_table
from fedrcd.data.sources.address import source_at
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError
from fedrcd.federation.messages.requests import Request
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.check import check_site, tell_columns
from fedrcd.federation.site.preview import preview
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.sites import NAMES, horizontal, scattered
from tests.federation.test_site_service import request

A = "hospital-a"


@pytest.fixture
def disk(tmp_path):
    return horizontal(tmp_path)


def rewrite(disk, change):
    rows = disk.in_process_rows(A)
    change(rows)
    write_table(disk.data(A), Table(rows, columns=disk.federation.variables, source=A))


def checked(disk, name=A, **settings):
    with disk.door(name, **settings) as opened:
        return check_site(*opened)


def remarks(disk, kind, **settings):
    return [one.text for one in checked(disk, **settings) if one.kind == kind]


def previewed(disk, method, name=A, *, groups=0, check=False, **settings):
    """What a method would ask; nothing of it is remembered."""
    with disk.door(name, **settings) as (door, tables):
        before = door.store.lines()
        found = preview(door, tables, method, groups=groups, check=check)
        assert (door.store.lines(), door.store.approvals.held()) == (before, [])
        return found


def spent(disk, numbers):
    """That the pairs left about the rows as they are, and so many numbers more."""
    disk.service(A).reply(request(disk))
    with disk.door(A) as (door, _):
        [edition] = door.store.editions.editions()
        [answered] = door.store.entries()
    return replace(answered, run="before", answer="others", numbers=numbers, version=edition.label)


def test_a_good_table_is_fine(disk):
    assert remarks(disk, "warning") == []
    assert remarks(disk, "refusal") == []
    assert remarks(disk, "fine") == [
        "5 columns and 1 block as the federation says",
        "block 'hospital-a': 400 complete rows, 100 needed for any method".replace("100", "50"),
        "block 'hospital-a': its rows would be a new edition",
        "block 'hospital-a': 0 of 1,000 numbers released that may ever be",
    ]


def test_binary_and_few_level_columns_are_warned_of(disk):
    def change(rows):
        rows[:, 0] = np.arange(len(rows)) % 2
        rows[:, 1] = np.arange(len(rows)) % 7

    rewrite(disk, change)
    warnings = " ".join(remarks(disk, "warning"))
    assert "column 'x1' is binary" in warnings
    assert "column 'x2' has 7 levels only" in warnings


def test_a_rare_level_would_be_refused(disk):
    def change(rows):
        rows[:, 0] = np.arange(len(rows)) < 3

    rewrite(disk, change)
    assert "fewer than 11 rows share a level of 'x1'" in remarks(disk, "refusal")[0]


def test_another_unit_is_warned_of(disk):
    def change(rows):
        rows[:, 2] *= 1000

    rewrite(disk, change)
    [warning] = remarks(disk, "warning")
    assert "column 'x3', declared in units: values look like 1,000 times the expected unit" in warning
    assert "looks as if it were in another unit" in warning


def test_values_far_outside_are_warned_of(disk):
    def change(rows):
        rows[0, 2] += 60 * disk.federation.frame["x3"].scale

    rewrite(disk, change)
    assert "column 'x3' has values far outside its frame" in remarks(disk, "warning")[0]


def test_gross_errors_are_named_to_the_people_at_the_site(disk):
    def change(rows):
        rows[:2, 1] = 1e4 * (1 + rows[:2, 1])

    rewrite(disk, change)
    [warning] = [text for text in remarks(disk, "warning") if "far apart" in text]
    assert "values in 'x2' stand far apart from all others" in warning
    assert "--trim 8, before the first answer" in warning
    assert (
        "2 of 400 complete rows are left out because values lie far out (--trim)"
        in remarks(disk, "warning", trim=8.0)[0]
    )
    assert not any("far apart" in text for text in remarks(disk, "warning", trim=8.0))
    assert "398 complete rows" in remarks(disk, "fine", trim=8.0)[1]


def test_a_trim_that_leaves_out_nothing_is_fine(disk):
    assert remarks(disk, "warning", trim=50.0) == []
    assert (
        "0 of 400 complete rows are left out because values lie far out (--trim)" in remarks(disk, "fine", trim=50.0)[1]
    )


def test_a_trim_that_cannot_be_is_an_error(disk):
    with pytest.raises(ConfigError, match="trim must be a number above 0, got 0"):
        disk.settings(A, trim=0)
    with pytest.raises(DataError, match=r"--trim 1e-09 leaves none of 400 complete rows of block 'hospital-a'"):
        checked(disk, trim=1e-9)
    with pytest.raises(ConfigError, match="declared frame"):
        checked(disk, trim=8.0, federation=replace(disk.federation, frame={}))


def test_another_trim_than_before_would_be_refused(disk):
    served = disk.service(A, trim=8.0)
    question = PairQuestion(disk.federation.variables, disk.federation.declared_frame(), 4, grid=ARITHMETIC["exact"])
    served.reply(Request("r1.0", 1, disk.digest, A, NAMES, question))
    assert remarks(disk, "refusal", trim=8.0) == []
    assert "summed with --trim 8 before" in remarks(disk, "refusal")[0]
    other = replace(disk.federation, frame={**disk.federation.frame, "x1": VariableFrame(0.0, 3.0)})
    [text] = remarks(disk, "refusal", trim=8.0, federation=other)
    assert "--trim 8 in another frame before" in text
    assert "--trim" in previewed(disk, "fedrcd-s").releases[0].refusal
    assert previewed(disk, "fedrcd-s", trim=8.0).releases[0].refusal == ""


def test_few_rows_would_be_refused(disk):
    assert "any question needs 500" in remarks(disk, "refusal", rules=Rules(rows=500))[0]
    assert "other methods can run" in remarks(disk, "refusal", rules=Rules(rows_per_tensor=20.0))[0]


def test_a_budget_that_is_used_up_shows(disk):
    assert "1,000 of 1,000 numbers released" in remarks(disk, "refusal", history=[spent(disk, 919)])[0]


def test_how_many_rows_the_federation_file_says_is_a_hint(disk):
    rows = np.random.default_rng(0).normal(size=(409, 5))
    write_table(disk.data(A), Table(rows, columns=disk.federation.variables, source=A))
    assert "block 'hospital-a': 409 rows; the federation file says about 400" in remarks(disk, "fine")
    with pytest.raises(ConfigError, match="did you mean"):
        checked(disk, "hospital-d")


@pytest.mark.parametrize(("method", "rounds"), [("fedrcd-s", 1), ("fedrcd-x", 4), ("fed-direct", 5)])
def test_a_preview_asks_what_the_run_would(disk, method, rounds):
    found = previewed(disk, method)
    assert (found.method, len(found.releases), found.whole) == (method, rounds, True)
    assert all(release.numbers > 0 and release.refusal == "" for release in found.releases)


def test_a_site_with_some_columns_sees_the_first_question(tmp_path):
    disk = scattered(tmp_path)
    found = previewed(disk, "fedrcd-sp", "hospital-b")
    assert not found.whole
    assert len(found.releases) == 1


def test_a_preview_of_a_bootstrap_with_checks(disk):
    [plain] = previewed(disk, "fedrcd-s").releases
    found = previewed(disk, "fedrcd-s", groups=10, check=True)
    grouped, residuals = found.releases
    assert found.whole
    assert grouped.numbers == 10 * plain.numbers
    assert grouped.question == f"for each of 10 secret groups of rows: {plain.question}"
    assert "powers up to the twelfth" in residuals.question


def test_a_preview_says_what_the_rules_refuse(disk):
    strict = {"rules": Rules(rows_per_tensor=20.0)}
    found = previewed(disk, "auto", **strict)
    assert [one.refusal for one in found.releases] == ["400 complete rows; the tensor of 5 columns needs 500"]
    assert (found.method, found.instead) == ("fedrcd-s", "fedrcd-sx")
    assert previewed(disk, "fedrcd-s", **strict).instead == ""  # it was named
    grouped = previewed(disk, "fedrcd-s", groups=10)
    assert "10 groups; at least 10, and there is room for 4" in grouped.releases[0].refusal


def test_a_preview_counts_what_was_released_before_and_stops_judging_at_the_refusal(disk):
    found = previewed(disk, "fedrcd-sx", history=[spent(disk, 850)])
    too_many = (
        "984 numbers about block 'hospital-a' were released, 31 more asked for, of 1,000; see `fedrcd site budget`"
    )
    assert [one.refusal for one in found.releases] == ["", "", too_many, ""]
    assert found.whole


@pytest.mark.parametrize("method", ["fedrcd-x", "fedrcd-sx", "fed-direct"])
def test_a_preview_says_what_needs_trust(disk, method):
    found = previewed(disk, method, trust_coordinator=False)
    refused = [one.refusal for one in found.releases if one.refusal]
    assert len(refused) == 1
    assert "--trust-coordinator" in refused[0]


def test_a_preview_of_checks_says_that_they_need_trust(disk):
    first, residuals = previewed(disk, "fedrcd-s", check=True, trust_coordinator=False).releases
    assert first.refusal == ""
    assert "--trust-coordinator" in residuals.refusal


def test_where_no_frame_is_declared_everything_needs_trust(tmp_path):
    disk = horizontal(tmp_path, framed=False)
    assert "declares no frame" in previewed(disk, "fedrcd-s", trust_coordinator=False).releases[0].refusal
    assert previewed(disk, "fedrcd-s").releases[0].refusal == ""


def test_columns_are_told_before_anything_else_and_no_value_is(disk):
    def change(rows):
        rows[::50, 1] = np.nan
        rows[:, 2] = np.where(rows[:, 2] > 0, 123456.5, -123456.5)

    rewrite(disk, change)
    told = [one.text for one in tell_columns(source_at(disk.data(A)), disk.federation, disk.federation.site(A))]
    first, second, third = disk.federation.variables[:3]
    rows = len(disk.in_process_rows(A))
    gaps = -(-rows // 50)
    assert told[0].endswith(f"{rows:,} rows, without identifiers")
    assert f"column {first!r}: double, units, {rows:,} values, more than 10 levels" in told
    assert f"column {second!r}: double, units, {rows - gaps:,} values, more than 10 levels, {gaps} missing" in told
    assert f"column {third!r}: double, units, {rows:,} values, 2 levels" in told
    assert "123456" not in " ".join(told)
