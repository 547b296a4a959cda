"""What `auto` takes between machines: a method whose questions every site answers."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data.federation import BlockEntry
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import Fault, RetryPolicy, SiteLost
from fedrcd.federation.coordinator.resampling import plan_groups
from fedrcd.federation.coordinator.run_folder import Status
from fedrcd.federation.coordinator.saved_finding import read_finding
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.method_choice import choose_method
from fedrcd.federation.rules import Rules
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.runs.finding import Resampling
from tests.federation.couriers import Direct
from tests.federation.sites import NAMES, horizontal, in_triples, scattered

A, B, C = NAMES
STRICT = Rules(rows_per_tensor=50.0)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return horizontal(tmp_path_factory.mktemp("federation"))


@pytest.fixture
def disk(tables, tmp_path):
    """The federation with logs and results of this test's own."""
    return tables.apart(tmp_path)


@pytest.fixture(scope="module")
def many_columns(tmp_path_factory):
    return horizontal(tmp_path_factory.mktemp("many"), p=20, rows=(1000, 1100, 1100)).federation


def with_rows(federation, *rows):
    sizes = zip(federation.blocks, rows, strict=True)
    return replace(federation, blocks=tuple(BlockEntry(block.label, n) for block, n in sizes))


def conducted(disk, plan, courier):
    return Conductor(plan, disk.federation, say=lambda _: None).run(courier, NAMES)


def with_strict(disk, name, rules=STRICT, faults=None):
    """A courier to the sites, one of which has rules of its own."""
    courier = Direct(disk, faults)
    courier.services[name] = disk.service(name, rules=rules)
    return courier


def refusing(code):
    return lambda reply: replace(reply, blocks=(), refusal=code)


def reference(disk, method):
    transport = disk.in_process()
    return run(build(method).rounds(transport.setting), transport)


@pytest.mark.parametrize(
    ("smallest", "method"), [(1063, "fedrcd-s"), (1062, "fedrcd-sx"), (884, "fedrcd-sx"), (883, "fedrcd-sp")]
)
def test_the_rows_of_the_smallest_site_decide(many_columns, smallest, method):
    choice = choose_method(with_rows(many_columns, smallest, 5000, 5000), "auto", trust_coordinator=True)
    assert choice.method == method
    assert ("does not release the full tensor" in choice.reason) == (method != "fedrcd-s")
    assert ("more numbers than a site may release; the order is less accurate" in choice.reason) == (
        method == "fedrcd-sp"
    )


def test_a_method_that_is_named_is_taken(many_columns):
    assert choose_method(with_rows(many_columns, 300, 300, 300), "fedrcd-s") == ("fedrcd-s", "")


def test_numbers_of_rows_that_come_with_every_entry_count_too(tmp_path):
    federation = scattered(tmp_path).federation
    few = with_rows(federation, 100, 100, 46)  # 70 numbers of 69
    assert choose_method(federation, "auto").method == "fedrcd-s"
    assert choose_method(with_rows(federation, 100, 100, 100), "auto").method == "fedrcd-s"
    assert choose_method(few, "auto", trust_coordinator=True).method == "fedrcd-sx"
    assert choose_method(few, "auto").method == "fedrcd-sp"


def test_where_no_site_has_all_columns_pairs_are_enough_whatever_is_refused(tmp_path):
    federation = in_triples(tmp_path).federation
    assert choose_method(federation, "auto", refused=[Refusal.TENSOR_ROWS]) == choose_method(federation, "auto")


def test_a_run_over_few_rows_takes_a_method_that_all_sites_answer(tmp_path):
    disk = horizontal(tmp_path, p=16, rows=(590, 600, 700))
    courier = Direct(disk)
    outcome = conducted(disk, disk.plan("auto", trust_coordinator=True), courier)
    assert (outcome.method, outcome.rounds, outcome.warnings) == ("fedrcd-sx", 15, ())
    assert outcome.chosen == "a site does not release the full tensor"


def test_a_run_over_fewer_rows_ends_within_the_budget(tmp_path):
    disk = horizontal(tmp_path, p=8, rows=(120, 120, 120))
    outcome = conducted(disk, disk.plan("auto"), Direct(disk))
    assert (outcome.method, outcome.rounds, outcome.warnings) == ("fedrcd-sp", 1, ())


def test_a_site_that_refuses_the_tensor_changes_the_choice(disk):
    outcome = conducted(disk, disk.plan("auto", trust_coordinator=True), with_strict(disk, B))
    assert outcome.method == "fedrcd-sx"
    assert outcome.sites == NAMES
    assert np.array_equal(outcome.estimate.B, reference(disk, "fedrcd-sx").B)
    [warning] = outcome.warnings
    assert warning == (
        "site 'hospital-b' refused: it has too few rows to release the full tensor; going on with fedrcd-sx instead of "
        "fedrcd-s"
    )
    assert Status.read(disk.plan().folder).warnings == (warning,)
    assert read_finding(disk.plan().folder).chosen == "a site does not release the full tensor"


def test_sites_are_not_left_out_where_another_method_does(disk):
    outcome = conducted(disk, disk.plan("auto", trust_coordinator=True, allow_missing=True), with_strict(disk, B))
    assert outcome.missing == ()


def test_a_method_that_was_named_is_not_changed(disk):
    with pytest.raises(SiteLost, match="take fedrcd-sx"):
        conducted(disk, disk.plan("fedrcd-s"), with_strict(disk, B))


def test_a_site_whose_budget_ends_between_rounds_changes_the_choice(disk):
    tight = replace(STRICT, share=0.05)  # 125 numbers: the first of four rounds
    outcome = conducted(disk, disk.plan("auto", trust_coordinator=True), with_strict(disk, B, tight))
    assert outcome.method == "fedrcd-sp"
    assert [warning.rpartition("; ")[2] for warning in outcome.warnings] == [
        "going on with fedrcd-sx instead of fedrcd-s",
        "going on with fedrcd-sp instead of fedrcd-sx",
    ]
    assert np.array_equal(outcome.estimate.B, reference(disk, "fedrcd-sp").B)


@pytest.mark.parametrize("code", [Refusal.ROWS, Refusal.FRAME, Refusal.APPROVAL])
def test_what_every_method_would_meet_stops_the_run(disk, code):
    with pytest.raises(SiteLost):
        conducted(disk, disk.plan("auto"), Direct(disk, {B: [refusing(code)]}))


def test_a_refusal_of_the_last_choice_stops_the_run(disk):
    with pytest.raises(SiteLost, match="budget"):
        conducted(disk, disk.plan("auto"), Direct(disk, {B: [refusing(Refusal.BUDGET)] * 2}))


def test_methods_that_follow_each_other_do_not_meet_in_the_logs_of_sites(disk):
    faults = {B: [refusing(Refusal.TENSOR_ROWS), None, None, refusing(Refusal.BUDGET)]}
    outcome = conducted(disk, disk.plan("auto", trust_coordinator=True, check=True), Direct(disk, faults))
    assert outcome.method == "fedrcd-sp"
    assert outcome.checked.residuals is not None  # along another order than that of the rounds before


def test_a_run_that_is_resumed_chooses_the_same_and_asks_nothing_twice(disk):
    plan = disk.plan("auto", trust_coordinator=True, retry_policy=RetryPolicy(deadline=1.0, give_up_after=0.0))
    with pytest.raises(SiteLost, match="stopped before it answered"):
        conducted(disk, plan, with_strict(disk, B, faults={B: [None, None, Fault.DIED]}))
    courier = with_strict(disk, B)
    outcome = conducted(disk, plan, courier)
    assert outcome.method == "fedrcd-sx"
    assert np.array_equal(outcome.estimate.B, reference(disk, "fedrcd-sx").B)
    assert courier.asked == {(B, 3): 1, (A, 4): 1, (B, 4): 1, (C, 4): 1}  # B refused the tensor in the roll call again


def test_without_trust_auto_takes_one_round(tmp_path):
    disk = horizontal(tmp_path, p=16, rows=(590, 600, 700))
    outcome = conducted(disk, disk.plan("auto"), Direct(disk))
    assert (outcome.method, outcome.rounds, outcome.warnings) == ("fedrcd-sp", 1, ())
    assert outcome.chosen == (
        "a site does not release the full tensor, and several rounds are for sites that trust the coordinator; the "
        "order is less accurate"
    )


def test_a_method_of_several_rounds_that_is_named_is_asked_for_without_trust(many_columns):
    assert choose_method(many_columns, "fedrcd-sx") == ("fedrcd-sx", "")


def test_a_site_that_does_not_trust_the_coordinator_changes_the_choice(disk):
    faults = {B: [refusing(Refusal.TENSOR_ROWS), refusing(Refusal.TRUST)]}
    outcome = conducted(disk, disk.plan("auto", trust_coordinator=True), Direct(disk, faults))
    assert (outcome.method, outcome.rounds) == ("fedrcd-sp", 1)
    assert [warning.rpartition("; ")[2] for warning in outcome.warnings][-1] == (
        "going on with fedrcd-sp instead of fedrcd-sx"
    )


def test_a_bootstrap_of_small_groups_takes_pairs(tmp_path):
    disk = horizontal(tmp_path, p=10, rows=(1700, 4000, 4000))
    planned = plan_groups(disk.federation, disk.plan("auto"))
    assert planned.method == "fedrcd-sp"
    resampling = Resampling(replicates=3, groups=planned.groups, seed=0)
    outcome = conducted(disk, disk.plan("auto", resampling=resampling), Direct(disk))
    assert outcome.method == "fedrcd-sp"
    assert "groups of rows are summed in one round" in outcome.chosen
    assert plan_groups(with_rows(disk.federation, 4000, 4000, 4000), disk.plan("auto")).method == "fedrcd-s"
