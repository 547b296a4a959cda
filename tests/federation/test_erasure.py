"""What a site does when rows are to be erased: when it sends, what it waits for, what it refuses."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from fedrcd.api.membership import erase, send, withdraw
from fedrcd.data.federation import VariableFrame
from fedrcd.errors import ConfigError, DataError
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.store import Store
from fedrcd.protocol.questions import PAIR_DEPTH, TENSOR_DEPTH
from tests.federation.crashes import found_in_files
from tests.federation.living import (
    TODAY,
    configured,
    contribution,
    federation_of,
    frame_of,
    join,
    lenient,
    living,
    move_to,
    rows_of,
    rows_where,
    sample,
)

FEDERATION = federation_of(3)
CONFIGURATION = configured(FEDERATION, families=("pairs/4",))
X = sample(3, 300)
TABLE = frame_of(X)
BLOCK = "block-a"


@pytest.fixture
def site(tmp_path):
    """A site that joined, under the default rules."""
    with living(tmp_path, FEDERATION, CONFIGURATION, ("a", "b")) as (ledger, members):
        join(ledger, members["a"], TABLE)
        yield ledger, members["a"]


def rows(table=TABLE):
    return rows_of(table, FEDERATION, "a")


def where(table, *conditions):
    return rows_where(table, FEDERATION, "a", *conditions)


def ids(*numbers):
    return [f"r{number}" for number in numbers]


def sums_without(*numbers):
    made = contribution(CONFIGURATION, FEDERATION, "a", np.delete(X, numbers, axis=0))
    return made.sums["pairs/4"]


def test_one_row_waits_for_a_batch_by_default(site):
    ledger, member = site
    before = ledger.state_id
    number, (delivery,) = erase(member, rows(), ledger, ids=ids(7))
    assert (number, delivery.receipt) == (1, None)
    assert delivery.outcome.is_waiting
    assert delivery.outcome.waiting.due == TODAY + timedelta(days=30)
    assert ledger.state_id == before


def test_a_batch_leaves_at_once_and_takes_what_waited_with_it(site):
    ledger, member = site
    erase(member, rows(), ledger, ids=ids(7))
    erase(member, rows(), ledger, ids=ids(*range(100, 129)))
    assert ledger.entries[-1].kind == "erased"
    assert ledger.pooled()["pairs/4"] == sums_without(7, *range(100, 129))
    assert member.store.struck.pending() == {}


def test_now_does_not_wait(site):
    ledger, member = site
    erase(member, rows(), ledger, ids=ids(7), now=True)
    assert ledger.pooled()["pairs/4"] == sums_without(7)


def test_arrivals_count_for_the_batch(site):
    ledger, member = site
    erase(member, rows(), ledger, ids=ids(7))
    grown = frame_of(np.concatenate([X, sample(3, 29, 5)]))
    (delivery,) = send(member, rows(grown), ledger)
    assert delivery.outcome.is_waiting  # 29 came and one is gone: neither are enough to hide the one
    grown = frame_of(np.concatenate([X, sample(3, 30, 5)]))
    (delivery,) = send(member, rows(grown), ledger)
    assert delivery.receipt is not None
    assert ledger.roster.standings["a", BLOCK].rows == 329


def test_few_arrivals_wait_too(site):
    ledger, member = site
    (delivery,) = send(member, rows(frame_of(np.concatenate([X, sample(3, 1, 5)]))), ledger)
    assert delivery.outcome.is_waiting
    assert delivery.outcome.waiting.due is None


def test_at_the_latest_date_rows_are_hidden_among_others_that_never_come_back(site):
    ledger, member = site
    erase(member, rows(), ledger, ids=ids(7))
    move_to(member, TODAY + timedelta(days=29))
    (early,) = send(member, rows(), ledger)
    assert early.outcome.is_waiting
    move_to(member, TODAY + timedelta(days=30))
    (delivery,) = send(member, rows(), ledger)
    assert (delivery.outcome.withheld, delivery.outcome.is_waiting) == (29, False)
    assert ledger.roster.standings["a", BLOCK].rows == 270
    move_to(member, TODAY + timedelta(days=90))
    (later,) = send(member, rows(), ledger)
    assert later.outcome.contribution is None
    assert not later.outcome.is_waiting
    assert len(member.store.struck.persons()) == 30


def test_nothing_comes_near_any_earlier_contribution(site):
    """A batch that goes and comes back but for one row would show that row."""
    ledger, member = site
    send(member, rows(TABLE.iloc[40:]), ledger)
    assert ledger.roster.versions["a", BLOCK] == 2
    (delivery,) = send(member, rows(TABLE.iloc[1:]), ledger)
    assert delivery.outcome.is_waiting
    (whole,) = send(member, rows(TABLE), ledger)
    assert whole.receipt is not None  # equal to the first: nothing to learn


def test_leaving_and_coming_back_without_a_row_does_not_show_it(site):
    ledger, member = site
    withdraw(member, [BLOCK], ledger)
    (delivery,) = send(member, rows(TABLE.iloc[1:]), ledger, rejoin=True)
    assert delivery.outcome.is_waiting


def test_rows_of_another_value_count_as_changed(site):
    ledger, member = site
    corrected = TABLE.copy()
    corrected.loc[:9, "v1"] += 1.0
    (few,) = send(member, rows(corrected), ledger)
    assert (few.outcome.is_waiting, few.outcome.waiting.changed) == (True, 10)
    corrected.loc[:30, "v1"] += 1.0
    (many,) = send(member, rows(corrected), ledger)
    assert many.receipt.content["purpose"] == "values"


def test_erased_rows_stay_out_whatever_the_table_says(site):
    ledger, member = site
    erase(member, rows(), ledger, ids=ids(*range(40)))
    state = ledger.state_id
    (delivery,) = send(member, rows(), ledger)
    assert delivery.outcome.contribution is None
    send(member, rows(), ledger, again=True)
    assert ledger.state_id == state
    send(member, rows(TABLE.iloc[40:]), ledger, again=True)
    assert ledger.state_id == state


def test_rows_that_were_never_sent_are_erased_by_never_being_sent(site):
    ledger, member = site
    grown = rows(frame_of(np.concatenate([X, sample(3, 1, 5)])))
    _, (delivery,) = erase(member, grown, ledger, ids=ids(300))
    assert not delivery.outcome.is_waiting
    assert member.store.struck.pending() == {}
    assert len(ledger.entries) == 2


def test_a_condition_names_a_cohort(site):
    ledger, member = site
    tagged = TABLE.assign(consent=["no" if k % 5 == 0 else "yes" for k in range(300)], year=np.arange(300) // 100)
    chosen = where(tagged, "consent == no", "year >= 1")
    number, _ = erase(member, rows(tagged), ledger, matching=chosen)
    assert number == 40
    gone = [k for k in range(100, 300) if k % 5 == 0]
    assert ledger.pooled()["pairs/4"] == sums_without(*gone)


def test_a_condition_passes_over_rows_that_were_erased_before(site):
    ledger, member = site
    table = TABLE.assign(consent=["no" if k < 35 else "yes" for k in range(300)])
    tagged, chosen = rows(table), where(table, "consent == no")
    erase(member, tagged, ledger, ids=ids(3, 4))
    number, _ = erase(member, tagged, ledger, matching=chosen)
    assert number == 33
    assert ledger.pooled()["pairs/4"] == sums_without(*range(35))
    with pytest.raises(DataError, match="no row"):
        erase(member, tagged, ledger, matching=chosen)


REFUSED = {
    "an unknown row": ({"ids": ["nobody"]}, DataError, "not in"),
    "one unknown among many": ({"ids": [*ids(*range(50)), "nobody"]}, DataError, "1 of 51"),
    "more rows than there are": ({"ids": ids(*range(301))}, DataError, "1 of 301"),
    "all rows": ({"ids": ids(*range(300))}, DataError, "complete rows"),
    "nothing": ({"where": ["v0 > 1e9"]}, DataError, "no row"),
    "an unknown column": ({"where": ["age > 3"]}, DataError, "no column 'age'"),
    "no condition": ({"where": ["v0"]}, ConfigError, "COLUMN RELATION VALUE"),
    "a word for a number": ({"where": ["v0 > much"]}, ConfigError, "holds numbers"),
}


def asked_to_erase(member, ledger, where=None, ids=()):
    chosen = None if where is None else rows_where(TABLE, FEDERATION, "a", *where)
    return erase(member, rows(), ledger, ids=ids, matching=chosen)


@pytest.mark.parametrize("case", REFUSED)
def test_bad_requests_are_refused_and_change_nothing(case, site):
    ledger, member = site
    request, kind, words = REFUSED[case]
    before = (ledger.state_id, len(ledger.entries), member.store.sent.latest_version(BLOCK))
    with pytest.raises(kind, match=words):
        asked_to_erase(member, ledger, **request)
    assert (ledger.state_id, len(ledger.entries), member.store.sent.latest_version(BLOCK)) == before
    assert not member.store.struck


def test_an_erasure_that_waits_can_be_asked_for_again_and_one_that_was_carried_out_cannot(site):
    ledger, member = site
    erase(member, rows(), ledger, ids=ids(3))
    _, (waits,) = erase(member, rows(), ledger, ids=ids(3))
    assert waits.outcome.is_waiting
    _, (done,) = erase(member, rows(), ledger, ids=ids(3), now=True)
    assert done.receipt.entry.kind == "erased"
    for again in (ids(3), ids(3, 4)):
        with pytest.raises(DataError, match="before"):
            erase(member, rows(), ledger, ids=again)
    assert len(member.store.struck.persons()) == 1


def test_rows_without_identifiers_can_only_go_together(site):
    ledger, member = site
    with pytest.raises(DataError, match="no column that identifies rows"):
        where(TABLE.drop(columns="id"), "v0 > 0")
    with pytest.raises(DataError, match="no column that identifies rows"):
        erase(member, rows(TABLE.drop(columns="id")), ledger, ids=ids(3))
    assert not member.store.struck


def test_a_table_that_lost_its_identifiers_cannot_bring_erased_rows_back(site):
    ledger, member = site
    erase(member, rows(), ledger, ids=ids(3))
    with pytest.raises(DataError, match="has none now"):
        send(member, rows(TABLE.drop(columns="id")), ledger)


def test_identifiers_that_repeat_or_lack_are_named():
    with pytest.raises(DataError, match="2 times"):
        rows(TABLE.assign(id=["x", "x", *TABLE["id"][2:]]))
    with pytest.raises(DataError, match="without identifier"):
        rows(TABLE.assign(id=[None, *TABLE["id"][1:]]))


def test_a_block_that_was_taken_out_comes_back_only_when_told_to(site):
    ledger, member = site
    state = ledger.state_id
    withdraw(member, [BLOCK], ledger)
    assert ledger.roster.active() == []
    with pytest.raises(ConfigError, match="rejoin"):
        send(member, rows(), ledger)
    with pytest.raises(ConfigError, match="before"):
        withdraw(member, [BLOCK], ledger)
    send(member, rows(), ledger, rejoin=True)
    assert ledger.state_id == state


def test_too_few_rows_are_not_summed(site):
    ledger, member = site
    with pytest.raises(DataError, match="100 are"):
        send(member, rows(TABLE.iloc[:99]), ledger)


def test_rows_with_gaps_count_as_rows_but_in_no_sum(tmp_path):
    gappy = TABLE.copy()
    gappy.loc[:9, "v2"] = np.nan
    with living(tmp_path, FEDERATION, CONFIGURATION, ("a",)) as (ledger, members):
        join(ledger, members["a"], gappy)
        assert ledger.roster.standings["a", BLOCK].rows == 300
        assert ledger.pooled()["pairs/4"] == sums_without(*range(10))


def test_an_undelivered_contribution_is_delivered_next_time(site):
    ledger, member = site
    _, (made,) = erase(member, rows(), None, ids=ids(*range(50)))
    assert made.outcome.contribution is not None
    assert len(ledger.entries) == 2
    (delivery,) = send(member, rows(), ledger)
    assert delivery.receipt.entry.kind == "erased"
    assert ledger.pooled()["pairs/4"] == sums_without(*range(50))
    assert member.store.sent.outbox(BLOCK) is None


def test_the_log_holds_no_identifier_and_no_sums_that_were_delivered(site, tmp_path):
    ledger, member = site
    more = frame_of(np.concatenate([X, sample(3, 80, 5)]))
    named = more.assign(id=[*more["id"][:300], *(f"patient-{k:05d}" for k in range(80))])
    send(member, rows(named), ledger)
    _, (delivery,) = erase(member, rows(named), ledger, ids=[f"patient-{k:05d}" for k in range(33)])
    payload = delivery.outcome.contribution.to_bytes()
    assert found_in_files(tmp_path, [b"patient-00007", b"patient-"]) == []
    assert found_in_files(tmp_path, [payload[-200:-100]]) == ["ledger.db"]
    assert [receipt.content["version"] for receipt in member.store.sent.receipts()] == [1, 2, 3]
    assert [sent.acknowledged for sent in member.store.sent.all()] == [True, True, True]


def test_a_store_belongs_to_one_site(tmp_path):
    with Store(tmp_path, "a"):
        pass
    with pytest.raises(ConfigError, match="store of site 'a', not of 'b'"):
        Store(tmp_path, "b")


def test_the_batch_follows_the_number_of_columns():
    rules = Rules()
    assert rules.needed_batch(20, TENSOR_DEPTH) == rules.needed_tensor_rows(20) == 1063
    assert (rules.needed_batch(3, PAIR_DEPTH), rules.needed_rows(3), rules.days) == (30, 100, 30)
    assert Rules(batch=2000).needed_batch(20, TENSOR_DEPTH) == 2000
    with pytest.raises(ConfigError, match="batch"):
        Rules(batch=-1)


def test_a_contribution_is_in_the_log_of_the_site(site):
    _, member = site
    [entry] = member.store.entries()
    assert (entry.outcome, entry.block, entry.rows, entry.run) == (
        "answered",
        BLOCK,
        300,
        f"contribution 1 of block {BLOCK}",
    )
    assert entry.numbers == 1 + 4 * 3 + 3 * 6  # the count, four powers of each, six products of each pair
    assert entry.answer


FULL = configured(FEDERATION)


def flagged(carriers):
    return TABLE.assign(v0=[float(k < carriers) for k in range(300)])


def other_folder(folder):
    (folder / "lenient").mkdir()
    return folder / "lenient"


RULED = {
    "rows": (lambda: TABLE.iloc[:99], {}, DataError, None),
    "tensor rows": (lambda: TABLE, {"rows_per_tensor": 40.0}, DataError, None),
    "cells": (lambda: flagged(10), {}, Refused, Refusal.CELLS),
    "budget": (lambda: TABLE, {"share": 0.001}, Refused, Refusal.BUDGET),
}


@pytest.mark.parametrize("rule", RULED)
def test_a_contribution_keeps_the_rules_that_a_site_keeps_when_it_serves(rule, tmp_path):
    table, numbers, kind, code = RULED[rule]
    with living(tmp_path, FEDERATION, FULL, ("a",), Rules(**numbers)) as (ledger, members):
        with pytest.raises(kind) as caught:
            join(ledger, members["a"], table())
        assert getattr(caught.value, "code", None) is code
        assert ledger.roster.standings == {}
        assert members["a"].store.sent.all() == []
        assert members["a"].store.sent.outbox(BLOCK) is None
        assert all(entry.outcome != "answered" for entry in members["a"].store.entries())
    with living(other_folder(tmp_path), FEDERATION, FULL, ("a",), lenient()) as (ledger, members):
        join(ledger, members["a"], table())


def test_a_contribution_in_another_frame_or_off_the_grid_is_refused(site):
    ledger, member = site
    other = replace(FEDERATION, frame={name: VariableFrame(0.0, 8.0, "unit") for name in FEDERATION.variables})
    for changed, words in (
        (configured(other, families=("pairs/4",)), Refusal.FRAME),
        (configured(FEDERATION, "float", families=("pairs/4",)), Refusal.FRAME),
    ):
        with pytest.raises(Refused) as caught:
            send(replace(member, configuration=changed), rows(), ledger, again=True)
        assert caught.value.code is words
    assert [entry.outcome for entry in member.store.entries()] == ["answered", "frame", "frame"]
    assert len(member.store.sent.all()) == 1


def test_a_contribution_with_another_trim_is_refused(site):
    ledger, member = site
    trimmed = replace(member, door=replace(member.door, trim=3.0))
    with pytest.raises(Refused) as caught:
        send(trimmed, rows(), ledger, again=True)
    assert caught.value.code is Refusal.TRIM


def test_erased_rows_take_no_part_at_any_door_though_they_wait(site):
    ledger, member = site
    erase(member, rows(), ledger, ids=ids(*range(40)))
    erase(member, rows(), ledger, ids=ids(50))  # waits
    [table] = rows()
    assert member.door.present(table).ids == tuple(ids(*range(40, 50), *range(51, 300)))


def test_weaker_rules_than_the_default_are_refused_where_they_are_asked_for():
    for rules in (lenient(), Rules(rows=99), Rules(share=0.6), Rules(cell=3), Rules(checks=4)):
        with pytest.raises(ConfigError, match="stricter"):
            rules.require_strict()
    for rules in (Rules(), Rules(batch=50, days=2, rows=200), Rules(checks=0, share=0.1)):
        rules.require_strict()
