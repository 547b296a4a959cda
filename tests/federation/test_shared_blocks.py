"""Rows that several sites hold columns of: nobody counts twice, and nobody is erased by half."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.api.from_ledger import discover_stored
from fedrcd.api.membership import erase, send
from fedrcd.data.federation import Federation
from fedrcd.data.table import Table
from fedrcd.errors import CoverageWarning, ProtocolError
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import in_process
from tests.federation.living import (
    configured,
    contribution,
    federation_of,
    frame_of,
    join,
    lenient,
    living,
    names,
    put,
    rows_of,
    sample,
)

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")

P = 4
COLUMNS = {"a": ("v0", "v1", "v2"), "b": ("v1", "v2", "v3"), "c": ("v0", "v3")}
SHARED = dict.fromkeys(COLUMNS, ("shared",))
FEDERATION = federation_of(P, tuple(COLUMNS), columns=COLUMNS, blocks=SHARED)
CONFIGURATION = configured(FEDERATION, families=("pairs/4",))
X = sample(P, 120, noise="gamma")


def part(site, rows=X):
    return rows[:, [names(P).index(name) for name in COLUMNS[site]]]


def table_of(site, rows=X):
    return frame_of(part(site, rows), columns=COLUMNS[site])


@pytest.fixture
def shared(tmp_path):
    with living(tmp_path, FEDERATION, CONFIGURATION, tuple(COLUMNS), lenient()) as (ledger, members):
        for site, member in members.items():
            join(ledger, member, table_of(site))
        yield ledger, members


def embedded(tables):
    blocks = [Table(part(site, rows), site, "shared", columns=COLUMNS[site]) for site, rows in tables.items()]
    return in_process(blocks, names(P), frame=CONFIGURATION.frame, grid=CONFIGURATION.grid)


def erase_row(ledger, member, row):
    rows = rows_of(table_of(member.site), FEDERATION, member.site)
    return erase(member, rows, ledger, ids=[row], now=True)


def test_pooled_sums_are_those_of_a_run_over_the_sites(shared):
    ledger, _ = shared
    transport = embedded(dict.fromkeys(COLUMNS, X))
    assert ledger.pooled()["pairs/4"] == transport.pool(transport.setting.pairs(4))
    found = discover_stored(ledger, "fedrcd-sp")
    direct = run(build("fedrcd-sp").rounds(transport.setting), transport)
    assert found.B.tobytes() == direct.B.tobytes()
    assert found.rows == len(X)


def test_the_block_is_suspended_until_every_site_has_erased(shared):
    ledger, members = shared
    before = ledger.state_id
    for site, waiting in (("b", ["a", "c"]), ("a", ["c"])):
        erase_row(ledger, members[site], "r5")
        assert sorted(ledger.roster.waiting["shared"]) == waiting
        assert ledger.pooled() == {}
        with pytest.raises(ProtocolError, match="waiting for"):
            discover_stored(ledger, "fedrcd-sp")
    erase_row(ledger, members["c"], "r5")
    assert ledger.roster.suspended() == {}
    assert ledger.state_id != before
    transport = embedded(dict.fromkeys(COLUMNS, np.delete(X, 5, axis=0)))
    assert ledger.pooled()["pairs/4"] == transport.pool(transport.setting.pairs(4))


def test_other_blocks_go_on_while_one_is_suspended(tmp_path):
    sites = ("whole", *COLUMNS)
    blocks = {**SHARED, "whole": ("own",)}
    federation = federation_of(P, sites, columns=COLUMNS, blocks=blocks)
    configuration = configured(federation, families=("pairs/4",))
    with living(tmp_path, federation, configuration, sites, lenient()) as (ledger, members):
        join(ledger, members["whole"], frame_of(X[:90]))
        alone = ledger.pooled()["pairs/4"]
        for site in COLUMNS:
            join(ledger, members[site], table_of(site))
        counts = ledger.pooled()["pairs/4"].low.count
        assert counts[0, 1] == 90 + 120
        rows = rows_of(table_of("a"), federation, "a")
        erase(members["a"], rows, ledger, ids=["r1"], now=True)
        assert ledger.pooled()["pairs/4"] == alone
        with pytest.warns(CoverageWarning, match="'shared' is suspended"):
            discover_stored(ledger, "fedrcd-sp")


def test_a_site_may_erase_once_more_while_others_are_still_at_it(shared):
    ledger, members = shared
    for site in ("a", "b"):
        erase_row(ledger, members[site], "r5")
    erase_row(ledger, members["a"], "r6")
    assert ledger.roster.waiting["shared"] == {"c"}
    for site, row, agreed in (("c", "r5", False), ("b", "r6", False), ("c", "r6", True)):
        erase_row(ledger, members[site], row)
        assert (ledger.roster.suspended() == {}) == agreed
    transport = embedded(dict.fromkeys(COLUMNS, np.delete(X, [5, 6], axis=0)))
    assert ledger.pooled()["pairs/4"] == transport.pool(transport.setting.pairs(4))


def test_sites_with_another_number_of_rows_do_not_count_until_they_agree(shared):
    ledger, members = shared
    erase_row(ledger, members["a"], "r5")
    rows = {site: rows_of(table_of(site), FEDERATION, site) for site in "bc"}
    erase(members["b"], rows["b"], ledger, ids=["r5"], now=True)
    erase(members["c"], rows["c"], ledger, ids=["r5", "r6"], now=True)
    assert ledger.roster.suspended() == {"shared": "its sites do not say the same number of rows"}
    assert ledger.pooled() == {}


def test_corrected_values_of_the_same_rows_make_nobody_wait(shared):
    ledger, members = shared
    changed = X.copy()
    changed[:7] *= 1.5
    join(ledger, members["a"], table_of("a", changed))
    assert ledger.entries[-1].content["purpose"] == "values"
    assert ledger.roster.suspended() == {}
    transport = embedded({"a": changed, "b": X, "c": X})
    assert ledger.pooled()["pairs/4"] == transport.pool(transport.setting.pairs(4))


def test_a_site_may_leave_and_the_others_take_over_what_it_answered_for(shared):
    ledger, members = shared
    ledger.leave("a")
    assert ledger.roster.suspended() == {}
    assert ledger.pooled()["pairs/4"].low.count[1, 2] == 0  # a answered for it
    smaller = Federation(
        FEDERATION.variables, (*FEDERATION.sites[1:], FEDERATION.sites[0]), FEDERATION.blocks, FEDERATION.frame
    )
    moved = replace(members["b"], door=replace(members["b"].door, federation=smaller))
    send(moved, rows_of(table_of("b"), smaller, "b"), ledger, again=True)
    assert ledger.pooled()["pairs/4"].low.count[1, 2] == 120
    with pytest.raises(ProtocolError, match="both answer for the same columns"):
        put(ledger, contribution(CONFIGURATION, FEDERATION, "a", part("a"), block="shared", version=9))
    put(ledger, contribution(CONFIGURATION, smaller, "a", part("a"), block="shared", version=9))
    assert ledger.pooled()["pairs/4"].low.count.max() == 120


def test_tensor_sums_of_overlapping_sites_are_those_of_a_run_too(tmp_path):
    columns = {"a": names(P), "b": ("v1", "v2", "v3")}
    federation = federation_of(P, ("a", "b"), columns=columns, blocks={"a": ("x",), "b": ("x", "y")})
    configuration = configured(federation)
    other = sample(P, 70, 1)[:, 1:]
    with living(tmp_path, federation, configuration, ("a", "b"), lenient()) as (ledger, members):
        join(ledger, members["a"], frame_of(X))
        put(ledger, contribution(configuration, federation, "b", other, block="y"))
        blocks = [Table(X, "a", "x", columns=names(P)), Table(other, "b", "y", columns=columns["b"])]
        transport = in_process(blocks, names(P), frame=configuration.frame, grid=configuration.grid)
        for family, question in configuration.questions().items():
            pooled, direct = ledger.pooled()[family], transport.pool(question)
            assert pooled == direct
