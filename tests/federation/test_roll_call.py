"""The roll call: a run that some site would refuse half-way does not start, and no site exceeds what it declared."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data.federation import BlockEntry, write_federation
from fedrcd.federation.coordinator.accept import Asked, accept_reply
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import Fault, RetryPolicy, SiteLost
from fedrcd.federation.messages.envelope import is_message, pack_message, unpack_message
from fedrcd.federation.messages.refusals import WORDS, Refusal
from fedrcd.federation.messages.requests import pack_reply, unpack_reply, unpack_request
from fedrcd.federation.messages.roll_call import (
    DeclaredBlock,
    LeftOutShare,
    Plan,
    RollCallReply,
    RollCallRequest,
    bound_on,
)
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.log import ANSWERED, CALLED
from fedrcd.methods.registry import METHODS
from fedrcd.runs.finding import Resampling
from tests.federation.couriers import Direct
from tests.federation.sites import NAMES, horizontal, in_triples, logged, scattered

A, B, C = NAMES
FEDERATED = [name for name, card in METHODS.items() if not card.one_table]
HALF_WAY = Rules(share=0.05)
"""With five columns and 500 rows: 125 numbers, which are used up in the last of five rounds of fed-direct."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return horizontal(tmp_path_factory.mktemp("federation"))


@pytest.fixture
def disk(tables, tmp_path):
    """The federation with logs and results of this test's own."""
    return tables.apart(tmp_path)


def conducted(disk, courier, method="fedrcd-x", **changes):
    plan = disk.plan(method, **{"retry_policy": RetryPolicy(deadline=1.0, give_up_after=0.0, pause=0.01), **changes})
    return Conductor(plan, disk.federation, say=lambda _: None).run(courier, NAMES)


def strict(disk, rules, courier=None):
    courier = courier or Direct(disk)
    courier.services[B] = disk.service(B, rules=rules)
    return courier


def left(disk):
    """How many numbers left every site."""
    entries = {name: logged(disk.service(name)) for name in NAMES}
    return {name: sum(one.numbers for one in log if one.outcome == ANSWERED) for name, log in entries.items()}


def request(disk, method="fedrcd-x", cohort=NAMES, **changes):
    plan = Plan(method, {"weights": "none"}, "exact", 0, check=False)
    asked = RollCallRequest("r1", disk.digest, B, cohort, plan, "0.1.0")
    return replace(asked, **changes)


def called(disk, asked, **settings):
    return unpack_message(disk.service(B, **settings).respond(pack_message(asked)), RollCallReply)


class WithoutCall(Direct):
    """What there was before: every question goes to its site, and the roll call is answered with yes."""

    def deliver(self, packets, seconds):
        for site, packet in packets.items():
            if is_message(packet):
                asked = unpack_message(packet, RollCallRequest)
                yield site, pack_message(RollCallReply(site, asked.run, asked.digest))
            else:
                yield from super().deliver({site: packet}, seconds)


# refused half-way


def test_a_run_that_a_site_would_refuse_half_way_does_not_start(disk):
    with pytest.raises(SiteLost) as caught:
        conducted(disk, strict(disk, HALF_WAY), "fed-direct")
    assert str(caught.value) == f"site 'hospital-b' refused: {WORDS[Refusal.BUDGET]}"
    assert left(disk) == {A: 0, B: 0, C: 0}


def test_without_a_roll_call_it_would_have_cost_all_sites_half_a_run(disk):
    with pytest.raises(SiteLost, match="budget is used up"):
        conducted(disk, strict(disk, HALF_WAY, WithoutCall(disk)), "fed-direct")
    assert all(left(disk).values())


def test_checks_that_a_site_would_refuse_are_not_asked_of_anybody(disk):
    courier = strict(disk, Rules(checks=0))
    found = conducted(disk, courier, "fedrcd-s", check=True)
    assert found.checked.problem == f"site 'hospital-b' refused: {WORDS[Refusal.CHECKS]}"
    assert found.warnings == (f"no checks: {found.checked.problem}",)
    assert courier.asked == {(A, 1): 1, (B, 1): 1, (C, 1): 1}


def test_so_are_the_groups_of_a_bootstrap(disk):
    resampling = Resampling(replicates=2, groups=12, seed=0)
    with pytest.raises(SiteLost) as caught:
        conducted(disk, Direct(disk), "fedrcd-s", resampling=resampling)
    assert caught.value.refusal is Refusal.GROUPS
    assert left(disk) == {A: 0, B: 0, C: 0}


def test_a_run_that_repeats_one_is_not_refused_for_what_costs_nothing(disk):
    rules = Rules(share=0.1)  # enough for the run once, and not for twice as many numbers
    first = conducted(disk, strict(disk, rules), run="r1")
    assert called(disk, request(disk, "fed-direct"), rules=rules).refusal == "budget"
    again = conducted(disk, strict(disk, rules), run="r2", folder=str(disk.folder / "again"))
    assert np.array_equal(first.estimate.B, again.estimate.B)


def test_a_site_that_would_refuse_is_left_out_where_that_is_allowed(disk):
    found = conducted(disk, strict(disk, HALF_WAY), "fed-direct", allow_missing=True)
    assert found.missing == (B,)
    assert left(disk)[B] == 0


@pytest.mark.parametrize("method", FEDERATED)
def test_whatever_the_roll_call_lets_through_is_answered_to_its_end(disk, method):
    found = conducted(disk, Direct(disk), method, check=METHODS[method].rounds.once)
    assert found.sites == NAMES
    assert found.warnings == ()


@pytest.mark.parametrize("make", [scattered, in_triples])
def test_sites_with_some_of_the_columns_go_as_far_as_they_can(tmp_path, make):
    disk = make(tmp_path)
    names = [site.name for site in disk.federation.sites]
    plan = disk.plan("fedrcd-ni")
    assert Conductor(plan, disk.federation, say=lambda _: None).run(Direct(disk), names).rounds == 1


def test_over_the_grid_of_flower_it_is_the_same(disk):
    flower = pytest.importorskip("fedrcd.federation.flower.local_grid")
    from fedrcd.federation.flower.server import conduct

    files = disk.settings_files()
    disk.settings(B, rules=HALF_WAY).write(disk.state(B) / "site.json")
    with pytest.raises(SiteLost, match="budget is used up"):
        conduct(disk.plan("fed-direct"), flower.LocalGrid(files))
    assert left(disk) == {A: 0, B: 0, C: 0}


def test_a_run_that_is_resumed_does_not_call_again(disk):
    with pytest.raises(SiteLost):
        conducted(disk, Direct(disk, {B: [None, Fault.DIED]}))
    conducted(disk, Direct(disk))
    for name in NAMES:
        assert [entry.outcome for entry in logged(disk.service(name))].count(CALLED) == 1


# what a site says


def test_a_site_says_its_edition_and_a_bound_on_its_rows(disk):
    reply = called(disk, request(disk))
    [block] = reply.blocks
    [entry] = logged(disk.service(B))
    assert (block.label, block.rows, block.left_out) == (B, 500, ())
    assert block.edition == entry.version
    assert (entry.outcome, entry.run, entry.numbers) == (CALLED, "r1", 0)


@pytest.mark.parametrize(("every", "share"), [(100, LeftOutShare.FEW), (10, LeftOutShare.SOME), (3, LeftOutShare.MANY)])
def test_rows_left_out_are_told_coarsely_and_with_the_result(disk, tmp_path, every, share):
    table = pd.read_parquet(disk.data(B))
    table.iloc[::every, 0] = np.nan
    path = tmp_path / "gaps.parquet"
    table.to_parquet(path, index=False)
    [block] = called(disk, request(disk), data=str(path)).blocks
    assert block.left_out == (("gaps", share.value),)
    courier = Direct(disk)
    courier.services[B] = disk.service(B, data=str(path))
    [warning] = conducted(disk, courier).warnings
    assert "site 'hospital-b' leaves out" in warning
    assert "because values are missing in block 'hospital-b'" in warning


def test_what_was_said_of_an_edition_stays(tmp_path):
    disk = horizontal(tmp_path, identified=True)
    table = pd.read_parquet(disk.data(B))
    more = pd.concat([table, table.iloc[:100].assign(id=[f"new {k}" for k in range(100)], x1=np.nan)])
    first = called(disk, request(disk))
    more.to_parquet(disk.data(B), index=False)
    second = called(disk, request(disk, run="r2"))
    assert second.blocks == first.blocks  # a hundred rows with gaps came: the edition is the same, and so is the word


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"federation": "0" * 64}, Refusal.FEDERATION),
        ({"site": A}, Refusal.NAME),
        ({"cohort": NAMES[::-1]}, Refusal.MESSAGE),
        ({"plan": Plan("fedrcd-zz", {}, "exact", 0, check=False)}, Refusal.PLAN),
        ({"plan": Plan("fedrcd-x", {"alpha": 3}, "exact", 0, check=False)}, Refusal.PLAN),
        ({"plan": Plan("fedrcd-x", {}, "rough", 0, check=False)}, Refusal.PLAN),
        ({"plan": Plan("fed-direct", {}, "exact", 10, check=False)}, Refusal.PLAN),
        ({"plan": Plan("fedrcd-s", {}, "exact", 10**9, check=False)}, Refusal.GROUPS),
    ],
)
def test_a_roll_call_that_makes_no_sense_is_refused_by_a_code(disk, changes, code):
    assert called(disk, request(disk, **changes)).refusal == code
    assert [entry.outcome for entry in logged(disk.service(B))] == [code]


def test_without_trust_a_method_of_several_rounds_is_refused_before_it_starts(disk):
    assert called(disk, request(disk), trust_coordinator=False).refusal == Refusal.TRUST


@given(st.integers(1, 10**9))
def test_a_bound_is_above_by_less_than_a_tenth(rows):
    assert rows <= bound_on(rows) < 1.1 * rows + 1


# attack 9: more rows than declared


def ten_times(disk, courier):
    """Makes a site send sums of ten times its rows, upside down."""

    def lie(reply):
        X = disk.in_process_rows(B)
        [(label, _)] = reply.blocks
        asked = courier.question
        frame = disk.federation.declared_frame()
        many = frame.express(-np.tile(X, (10, 1)))
        return replace(reply, blocks=((label, asked.answer([many])),))

    return lie


class Remembering(Direct):
    """Remembers the last question."""

    def deliver(self, packets, seconds):
        for packet in packets.values():
            if not is_message(packet):
                self.question = unpack_request(packet).question
        yield from super().deliver(packets, seconds)


def test_sums_of_more_rows_than_a_site_declared_are_refused(disk):
    courier = Remembering(disk)
    courier.faults = {B: [ten_times(disk, courier)]}
    with pytest.raises(
        SiteLost, match="sent sums of 5,000 rows of block 'hospital-b', of which it declared at most 500"
    ):
        conducted(disk, courier, "fedrcd-s")


def test_without_the_rule_they_were_added(disk):
    courier = Remembering(disk)
    transport = Conductor(disk.plan("fedrcd-s"), disk.federation)._transport(courier, NAMES, *_answers(disk))
    asked = Asked(
        run="r",
        digest="",
        question=transport.setting.tensor(),
        blocks=transport.blocks,
        version=lambda _: None,
    )
    courier.question = asked.question
    reply = ten_times(disk, courier)(unpack_reply(pack_reply(_reply(disk, asked.question))))
    believed = accept_reply(replace(asked, digest=reply.digest, run=reply.run), B, pack_reply(reply))
    assert believed.blocks[0][1].most_rows == 5000
    with pytest.raises(SiteLost, match="declared at most"):
        accept_reply(replace(asked, digest=reply.digest, run=reply.run, declared={(B, B): 500}), B, pack_reply(reply))


def _answers(disk):
    from fedrcd.federation.coordinator.recorded_answers import RecordedAnswers

    return RecordedAnswers(disk.folder / "answers.sqlite"), "r"


def _reply(disk, question):
    from fedrcd.federation.messages.requests import Reply

    return Reply("r", "d", B, "v", ((B, disk.in_process().sites[1].answer(question)),))


def test_a_site_cannot_declare_far_more_rows_than_the_federation_file_says(disk, tmp_path):
    smaller = replace(disk.federation, blocks=tuple(BlockEntry(name, 30) for name in NAMES))
    write_federation(tmp_path / "federation.toml", smaller)
    plan = disk.plan("fedrcd-ni", federation=str(tmp_path / "federation.toml"))
    courier = Direct(disk, federation=str(tmp_path / "federation.toml"))
    with pytest.raises(SiteLost, match="has up to 400 rows; the federation file says about 30"):
        Conductor(plan, smaller, say=lambda _: None).run(courier, NAMES)


def coded(disk, names):
    """The second column as none and one, at some sites."""
    for name in names:
        table = pd.read_parquet(disk.data(name))
        table.iloc[:, 1] = (table.iloc[:, 1] > table.iloc[:, 1].median()).astype(float)
        table.to_parquet(disk.data(name), index=False)


@pytest.mark.parametrize(("names", "noted"), [(NAMES, True), ((A, C), False)])
def test_variables_of_few_levels_everywhere_are_noted(tmp_path, names, noted):
    own = horizontal(tmp_path, p=5, rows=(400, 500, 600))
    coded(own, names)
    found = conducted(own, Direct(own), "fedrcd-ni", accept_differing=NAMES)
    assert any("few levels: 'x2'. The model takes" in one for one in found.warnings) == noted


LIES = {
    "another name": (lambda reply: replace(reply, site=C), "another site's name"),
    "another run": (lambda reply: replace(reply, run="r0"), "another run"),
    "another plan": (lambda reply: replace(reply, digest="0"), "another run"),
    "other blocks": (lambda reply: replace(reply, blocks=(DeclaredBlock(C, "e", 500),)), "other blocks"),
    "a block twice": (lambda reply: replace(reply, blocks=reply.blocks * 2), "other blocks"),
    "no rows": (lambda reply: replace(reply, blocks=(DeclaredBlock(B, "e", 0),)), "not a reply"),
    "a story": (lambda reply: replace(reply, blocks=(DeclaredBlock(B, "e", 9, (("gaps", "a" * 99),)),)), "not a reply"),
    "columns of others": (lambda reply: replace(reply, blocks=(DeclaredBlock(B, "e", 9, few=("x",)),)), "not a reply"),
    "a long label": (lambda reply: replace(reply, blocks=(DeclaredBlock(B, "e" * 99, 9),)), "not a reply"),
    "a long version": (lambda reply: replace(reply, program="0" * 99), "not a reply"),
    "a refusal of its own": (lambda reply: replace(reply, refusal="weather"), "not a reply"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_reply_is_a_lost_site(disk, lie):
    change, words = LIES[lie]

    class Liar(Direct):
        def deliver(self, packets, seconds):
            for site, sent in super().deliver(packets, seconds):
                if site == B:
                    yield site, pack_message(change(unpack_message(sent, RollCallReply)))
                else:
                    yield site, sent

    with pytest.raises(SiteLost, match=words) as caught:
        conducted(disk, Liar(disk))
    assert caught.value.site == B


def test_another_version_of_the_program_is_said(disk, monkeypatch):
    monkeypatch.setattr("fedrcd.federation.coordinator.roll_call.PROGRAM", "9.9")
    warnings = conducted(disk, Direct(disk)).warnings
    assert len(warnings) == 3
    assert all("another version of fedrcd" in one for one in warnings)
