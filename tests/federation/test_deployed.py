"""A coordinator among faults: the right sums or none, never wrong ones."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.conduct import Conductor, ask_frame
from fedrcd.federation.coordinator.gather import Fault, RetryPolicy, SiteLost
from fedrcd.federation.coordinator.recorded_answers import ANSWERS, RecordedAnswers
from fedrcd.federation.coordinator.run_folder import RunPlan, Status
from fedrcd.federation.coordinator.saved_finding import read_finding
from fedrcd.federation.coordinator.transport import MachineTransport
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.federation.method_choice import choose_method
from fedrcd.federation.rules import Rules
from fedrcd.federation.surroundings import Surroundings
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.questions import Basis
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.protocol.transport import Setting
from fedrcd.protocol.wire import Packet, to_bytes
from fedrcd.statistics.exact_sums import exact_pair_sums
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.grouped_sums import GroupedSums
from fedrcd.statistics.pair_sums import pair_sums
from tests.federation.couriers import Direct
from tests.federation.sites import NAMES, horizontal

EXACT = ARITHMETIC["exact"]
A, B, C = NAMES


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return horizontal(tmp_path_factory.mktemp("federation"), p=3, rows=(1500, 1510, 1520))


@pytest.fixture
def disk(shared, tmp_path):
    """The federation with logs and results of this test's own."""
    return shared.apart(tmp_path)


def transport(disk, courier, **changes):
    frame = disk.federation.declared_frame()
    setting = Setting(disk.federation.variables, frame, cohort_layout(disk.federation, NAMES), grid=EXACT)
    fields = {
        "setting": setting,
        "courier": courier,
        "run": "r1.0",
        "federation": disk.digest,
        "blocks": {site.name: site.blocks for site in disk.federation.sites},
        "answers": RecordedAnswers(disk.folder / "answers.sqlite"),
        "retry_policy": RetryPolicy(deadline=1.0, give_up_after=60.0, approval=60.0, pause=0.01),
    }
    return MachineTransport(**{**fields, **changes})


def question(disk):
    return transport(disk, None).setting.pairs(4)


class Clock:
    """Time that passes while somebody waits."""

    def __init__(self):
        self.time, self.pauses = 0.0, []
        self.surroundings = Surroundings(monotonic=lambda: self.time, sleep=self.sleep)

    def sleep(self, seconds):
        self.time += seconds
        self.pauses.append(seconds)


def pooled(disk, faults=None, **changes):
    return transport(disk, Direct(disk, faults), **changes).pool(question(disk))


def test_sums_are_those_of_the_reference(disk):
    reference = disk.in_process()
    deployed = transport(disk, Direct(disk))
    assert to_bytes(deployed.pool(question(disk))) == to_bytes(reference.pool(question(disk)))
    assert deployed.traffic.rounds == 1
    assert deployed.traffic.bytes_sent == reference.traffic.bytes_sent
    assert len(deployed.seconds) == 1


@pytest.mark.parametrize("fault", list(Fault))
def test_a_fault_is_tried_again(disk, fault):
    said = []
    courier = Direct(disk, {B: [fault]})
    deployed = transport(disk, courier, warn=said.append)
    assert to_bytes(deployed.pool(question(disk))) == to_bytes(disk.in_process().pool(question(disk)))
    assert courier.asked == {(A, 1): 1, (B, 1): 2, (C, 1): 1}  # who answered is not asked again
    assert said == [f"site {B!r} {fault.value}; asking again, for 60 s at most"]


@pytest.mark.parametrize("fault", list(Fault))
def test_too_many_faults_lose_the_site(disk, fault):
    clock = Clock()
    courier = Direct(disk, {B: [fault] * 1000})
    policy = RetryPolicy(give_up_after=900.0)
    with pytest.raises(SiteLost, match=f"site 'hospital-b' {fault.value}"):
        transport(disk, courier, retry_policy=policy, surroundings=clock.surroundings).pool(question(disk))
    assert 900 <= clock.time <= 960
    assert clock.pauses[:5] == [2, 4, 8, 16, 30]
    assert set(clock.pauses[5:]) == {30}


@pytest.mark.parametrize("code", [Refusal.DATA, Refusal.DEADLINE, Refusal.FAILED])
def test_what_may_mend_is_tried_again(disk, code):
    refuse = lambda reply: replace(reply, blocks=(), refusal=code)  # noqa: E731
    assert to_bytes(pooled(disk, {B: [refuse]})) == to_bytes(disk.in_process().pool(question(disk)))
    with pytest.raises(SiteLost, match="refused"):  # it is there: waiting for a quarter of an hour is no use
        pooled(disk, {B: [refuse] * 3}, run="r2.0")


@pytest.mark.parametrize(
    "code", sorted(set(Refusal) - {Refusal.DATA, Refusal.DEADLINE, Refusal.FAILED, Refusal.WAITING})
)
def test_a_refusal_is_final_and_said_in_words(disk, code):
    from fedrcd.federation.messages.refusals import WORDS

    courier = Direct(disk, {B: [lambda reply: replace(reply, blocks=(), refusal=code)]})
    with pytest.raises(SiteLost) as caught:
        transport(disk, courier).pool(question(disk))
    assert str(caught.value) == f"site 'hospital-b' refused: {WORDS[code]}"
    assert courier.asked[B, 1] == 1


def wrong_order(reply):
    X = np.random.default_rng(0).normal(size=(300, 3))
    return replace(reply, blocks=((B, exact_pair_sums([X], 3, 3, EXACT)),))


def wrong_size(reply):
    X = np.random.default_rng(0).normal(size=(300, 2))
    return replace(reply, blocks=((B, exact_pair_sums([X], 2, 4, EXACT)),))


def wrong_arithmetic(reply):
    X = np.random.default_rng(0).normal(size=(300, 3))
    return replace(reply, blocks=((B, pair_sums([X], 3, 4)),))


LIES = {
    "nothing of ours": (lambda _: Packet(None, ()), "not a reply"),
    "another kind": (lambda _: Packet({"fedrcd": "fedrcd-federation/9"}, ()), "not a reply"),
    "another name": (lambda reply: replace(reply, site=C), "another site's name"),
    "an earlier run": (lambda reply: replace(reply, run="r0.0"), "another question"),
    "another question": (lambda reply: replace(reply, digest="0" * 64), "another question"),
    "other blocks": (lambda reply: replace(reply, blocks=((C, reply.blocks[0][1]),)), "other blocks"),
    "a block twice": (lambda reply: replace(reply, blocks=reply.blocks * 2), "other blocks"),
    "another order": (wrong_order, "kind or the size"),
    "another size": (wrong_size, "kind or the size"),
    "other arithmetic": (wrong_arithmetic, "kind or the size"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_reply_is_never_added(disk, lie):
    change, words = LIES[lie]
    with pytest.raises(SiteLost, match=words):
        pooled(disk, {B: [change]})


def of_another_site(reply):
    [(label, sums)] = reply.blocks
    return replace(reply, blocks=((label, GroupedSums({(C, C): sums.groups[B, B]})),))


def fewer_groups(reply):
    [(label, sums)] = reply.blocks
    return replace(reply, blocks=((label, GroupedSums({(B, B): sums.groups[B, B][1:]})),))


def without_groups(reply):
    [(label, sums)] = reply.blocks
    return replace(reply, blocks=((label, sums.total()),))


@pytest.mark.parametrize("lie", [of_another_site, fewer_groups, without_groups])
def test_wrong_groups_are_never_added(disk, lie):
    asked = GroupedQuestion(question(disk), 10)
    assert transport(disk, Direct(disk), run="r0.0").pool(asked).smallest >= 100
    with pytest.raises(SiteLost, match="kind or the size"):
        transport(disk, Direct(disk, {B: [lie]})).pool(asked)


def test_wrong_residual_sums_are_never_added(disk):
    def fewer(reply):
        [(label, sums)] = reply.blocks
        return replace(reply, blocks=((label, replace(sums, c31=sums.c31[:2])),))

    X = np.concatenate([disk.in_process_rows(name) for name in NAMES])
    moments = Gaussian(np.zeros(3), np.cov(disk.federation.declared_frame().express(X).T))
    asked = ResidualQuestion(disk.federation.variables, disk.federation.declared_frame(), Basis(moments, (0, 1, 2)))
    assert transport(disk, Direct(disk), run="r0.0").pool(asked).count == len(X)
    with pytest.raises(SiteLost, match="kind or the size"):
        transport(disk, Direct(disk, {B: [fewer]})).pool(asked)


def test_sums_that_no_rows_have_are_never_added(disk):
    def flip(reply):
        sums = reply.blocks[0][1]
        sums.low.sums[4, 0][0, 0] ^= 1
        return reply

    with pytest.raises(SiteLost, match="the sums of hospital-b cannot be used"):
        pooled(disk, {B: [flip]})


def test_rows_that_change_during_a_run_stop_it(disk):
    deployed = transport(disk, Direct(disk))
    deployed.pool(question(disk))
    changed = transport(disk, Direct(disk, {B: [lambda reply: replace(reply, version="w")]}))
    with pytest.raises(SiteLost, match="changed its rows during the run"):
        changed.pool(changed.setting.pairs(3))


def test_a_site_whose_person_is_slow_is_asked_again(disk):
    wait = lambda reply: replace(reply, blocks=(), refusal=Refusal.WAITING)  # noqa: E731
    courier = Direct(disk, {B: [wait, wait, wait]})
    deployed = transport(disk, courier)
    assert to_bytes(deployed.pool(question(disk))) == to_bytes(disk.in_process().pool(question(disk)))
    assert courier.asked[B, 1] == 4
    with pytest.raises(SiteLost, match="a person there has to approve"):
        pooled(disk, {B: [wait] * 1000}, run="r2.0", surroundings=Clock().surroundings)


def test_answers_that_came_are_not_asked_for_again(disk):
    first = Direct(disk, {C: [Fault.DIED]})
    with pytest.raises(SiteLost):
        transport(disk, first, retry_policy=RetryPolicy(give_up_after=0.0)).pool(question(disk))
    second = Direct(disk)
    sums = transport(disk, second).pool(question(disk))
    assert second.asked == {(C, 1): 1}
    assert to_bytes(sums) == to_bytes(disk.in_process().pool(question(disk)))


def test_the_recorder_hears_of_every_answer_in_the_order_of_the_federation(disk):
    heard = []
    deployed = transport(disk, Direct(disk), recorder=lambda *told: heard.append(told))
    total = deployed.pool(question(disk))
    assert [(site, block) for site, block, _, _ in heard] == [(A, A), (B, B), (C, C)]
    assert to_bytes(heard[0][3] + heard[1][3] + heard[2][3]) == to_bytes(total)


# runs


def conduct(disk, plan=None, faults=None, present=NAMES, **settings):
    courier = Direct(disk, faults, **settings)
    conductor = Conductor(plan or disk.plan("fedrcd-x"), disk.federation, say=lambda _: None)
    return conductor.run(courier, present), courier


def impatient(disk, **changes):
    return disk.plan("fedrcd-x", retry_policy=RetryPolicy(deadline=1.0, give_up_after=0.0), **changes)


def estimate(disk, cohort=NAMES, method="fedrcd-x"):
    reference = disk.in_process(cohort)
    return run(build(method).rounds(reference.setting), reference)


def test_a_run_ends_with_an_outcome_and_without_recorded_answers(disk):
    outcome, _ = conduct(disk)
    plan = disk.plan()
    assert np.array_equal(outcome.estimate.B, estimate(disk).B)
    assert not (disk.folder / "result" / ANSWERS).exists()
    assert Status.read(plan.folder).state == "finished"
    again = read_finding(plan.folder)
    assert np.array_equal(again.estimate.B, outcome.estimate.B)
    assert np.array_equal(again.estimate.marginals.cov, outcome.estimate.marginals.cov)
    assert (again.sites, again.missing, again.rounds) == (NAMES, (), 2)


def test_a_missing_site_stops_a_run(disk):
    with pytest.raises(ProtocolError, match=r"one site is missing: 'hospital-b'.*--allow-missing"):
        conduct(disk, present=(A, C))


def test_a_missing_site_is_left_out_loudly_if_allowed(disk):
    outcome, courier = conduct(disk, disk.plan("fedrcd-x", allow_missing=True), present=(A, C))
    assert outcome.missing == (B,)
    assert "without 'hospital-b'" in outcome.warnings[0]
    assert np.array_equal(outcome.estimate.B, estimate(disk, (A, C)).B)
    assert {site for site, _ in courier.asked} == {A, C}


def test_a_federation_of_nobody_does_not_run(disk):
    with pytest.raises(ProtocolError, match="no site is there"):
        conduct(disk, disk.plan("fedrcd-x", allow_missing=True), present=())


def test_a_site_lost_between_rounds_stops_the_run_and_the_next_one_goes_on(disk):
    faults = {B: [None, Fault.DIED]}  # answers round 1, dies in round 2
    with pytest.raises(SiteLost):
        conduct(disk, impatient(disk), faults)
    outcome, courier = conduct(disk, impatient(disk))
    assert courier.asked == {(B, 2): 1}  # sites keep no state: its next answer is all that was missing
    assert np.array_equal(outcome.estimate.B, estimate(disk).B)


def test_cohorts_are_never_mixed(disk):
    faults = {B: [None, Fault.DIED]}
    outcome, courier = conduct(disk, impatient(disk, allow_missing=True), faults)
    assert outcome.missing == (B,)
    assert "starting anew without it" in outcome.warnings[0]
    assert np.array_equal(outcome.estimate.B, estimate(disk, (A, C)).B)
    assert courier.asked[A, 1] == 2  # asked anew: who answers for what may differ


def test_a_site_that_refuses_can_be_left_out(disk):
    disk.settings_files()
    courier = Direct(disk)
    courier.services[B] = disk.service(B, rules=Rules(rows=2000))
    conductor = Conductor(disk.plan("fedrcd-s", allow_missing=True), disk.federation, say=lambda _: None)
    outcome = conductor.run(courier, NAMES)
    assert outcome.missing == (B,)
    assert "too few rows" in outcome.warnings[0]


def test_a_plan_comes_back(disk):
    plan = disk.plan("fedrcd-x", options={"weights": "bic"}, allow_missing=True, retry_policy=RetryPolicy(deadline=3.0))
    plan.write()
    assert RunPlan.read(plan.folder) == plan
    assert plan.same_as(replace(plan, run="other", wait=3.0))
    assert not plan.same_as(replace(plan, settings=replace(plan.settings, method="fedrcd-s")))


def test_auto_avoids_rounds_between_machines(disk):
    assert choose_method(disk.federation, "auto").method == "fedrcd-s"


def test_a_method_for_one_table_is_refused(disk):
    with pytest.raises(ValueError, match="over sites fed-direct"):
        choose_method(disk.federation, "direct-lingam")


def test_a_frame_that_is_not_declared_takes_a_round(tmp_path):
    disk = horizontal(tmp_path, p=3, rows=(300, 310, 320), framed=False)
    outcome, courier = conduct(disk, disk.plan("fedrcd-s"))
    assert outcome.rounds == 2
    frame = ask_frame(replace(transport_without_frame(disk, courier)))
    assert np.array_equal(np.log2(frame.scale), np.round(np.log2(frame.scale)))
    X = np.concatenate([disk.in_process_rows(name) for name in NAMES])
    assert (np.abs(X.mean(axis=0) - frame.centre) <= frame.scale / 2 + 1e-12).all()
    assert (np.abs(np.log2(X.std(axis=0) / frame.scale)) <= 0.5 + 1e-9).all()


def transport_without_frame(disk, courier):
    from fedrcd.statistics.frame import Frame

    setting = Setting(disk.federation.variables, Frame.identity(3), None, grid=EXACT)
    return MachineTransport(
        setting=setting,
        courier=courier,
        run="again",
        federation=disk.digest,
        blocks={site.name: site.blocks for site in disk.federation.sites},
        answers=RecordedAnswers(disk.folder / "other.sqlite"),
    )


def test_a_table_that_changes_between_rounds_is_noticed(tmp_path):
    disk = horizontal(tmp_path, p=3, rows=(1500, 1510, 1520))

    def change(reply):
        rows = disk.in_process_rows(B)
        rows[0] += 1.0
        write_table(disk.data(B), Table(rows, columns=disk.federation.variables, source=B))
        return reply  # the first answer is about the old rows

    with pytest.raises(SiteLost, match="rows of it are gone or changed"):
        conduct(disk, impatient(disk), {B: [change]})
