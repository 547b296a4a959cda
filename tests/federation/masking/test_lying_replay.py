"""A coordinator that lies in several rounds: it gets what it wants with a rule off, and nothing with it on."""

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from fedrcd import Knowledge
from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.masked import MaskedTransport
from fedrcd.federation.masking.site_run import Stage
from fedrcd.federation.masking.statements import result_digest
from fedrcd.federation.masking.vectors import Shape
from fedrcd.federation.messages.envelope import pack_message, unpack_message
from fedrcd.federation.messages.masked import MaskedReply, ReplayAsk, ReplayEnd
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request, pack_request, unpack_reply
from fedrcd.federation.site import disclosure
from fedrcd.methods import skeleton
from fedrcd.methods.deflations.entropies import standardised_residuals
from fedrcd.statistics.expectation import Gaussian
from tests.federation.masking.machines import Relay, apart, conducted, keyed
from tests.federation.sites import NAMES, logged

A, B, C = NAMES


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return keyed(tmp_path_factory.mktemp("federation"), p=3, rows=(400, 410, 420))


@pytest.fixture
def disk(tables, tmp_path):
    return apart(tables, tmp_path)


def answered(relay, site, number):
    """Whether a site answered in a round of a run."""
    rounds = [
        reply
        for to, asked, reply in relay.sent
        if to == site and isinstance(asked, ReplayAsk) and asked.round == number
    ]
    return any(reply.statement for reply in rounds)


def refused(relay):
    return {(site, reply.refusal) for site, _, reply in relay.sent if reply.refusal}


def lie_to(site, change, number=2):
    """A lie to one site in one round."""

    def lie(to, message):
        return change(message) if to == site and isinstance(message, ReplayAsk) and message.round == number else message

    return lie


def words(message, change):
    """The message with other numbers in place of the masked ones of the last site."""
    vectors = message.vectors.copy()
    change(vectors)
    return replace(message, vectors=vectors)


def flip_last(vectors):
    vectors[-1] ^= 1


def swap_sites(message):
    """The first two answers, statements and numbers, in each other's place."""
    parts = np.split(message.vectors, 3)
    return replace(
        message,
        answers=(message.answers[1], message.answers[0], message.answers[2]),
        vectors=np.concatenate([parts[1], parts[0], parts[2]]),
    )


LIES = {
    "another question": lambda m: replace(m, question="0" * 64),
    "a later round": lambda m: replace(m, round=3),
    "another source": lambda m: replace(m, sources=((m.sources[0] + 1) % 3,) if m.sources else (1,)),
    "no such source": lambda m: replace(m, sources=(7,)),
    "changed numbers": lambda m: words(m, flip_last),
    "one answer left out": lambda m: replace(m, answers=m.answers[:-1]),
    "one answer twice": lambda m: replace(m, answers=(m.answers[0], m.answers[0], m.answers[2])),
    "answers in another order": swap_sites,
    "no numbers": lambda m: replace(m, vectors=m.vectors[:0]),
    "a forged signature": lambda m: replace(m, answers=(*m.answers[:2], (m.answers[2][0], "00" + m.answers[2][1][2:]))),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_site_that_is_told_otherwise_ends_the_run(disk, lie):
    relay = Relay(disk, lie_to(B, LIES[lie]))
    with pytest.raises(ProtocolError):
        conducted(disk, relay, "fedrcd-x")
    assert not answered(relay, B, 2)
    with relay.services[B].store() as store:
        [(run,)] = list(store.masked._database.rows("SELECT run FROM masked_runs"))
        _, state = store.masked.find(str(run))
    assert (state.stage, state.chains, state.vector, state.totals) == (Stage.ENDED, {}, b"", b"")


# the order


@contextmanager
def coordinator_takes(wanted):
    """A coordinator that takes the sources it likes; sites drive the same code, so that only it is told to."""
    real = skeleton.choose

    def chosen(variables, scores, taken, admissible=None):
        step = real(variables, scores, taken, admissible)
        return replace(step, chosen=wanted[len(taken)]) if Deciding.now else step

    with patch.object(skeleton, "choose", chosen):
        yield


class Deciding:
    """Whether the coordinator's method runs now, or a site's."""

    now = True


class Watched(Relay):
    """Knows when a site is at work."""

    def deliver(self, packets, seconds):
        Deciding.now = False
        try:
            yield from list(super().deliver(packets, seconds))
        finally:
            Deciding.now = True


def honest_order(disk):
    return conducted(disk, Relay(disk), "fedrcd-x").estimate.order.tolist()


def test_an_order_of_its_own_is_answered_only_where_sites_take_any_source(disk, tmp_path):
    wanted = honest_order(disk)[::-1]
    other, relay = apart(disk, tmp_path / "off"), None
    relay = Watched(other)
    with (
        coordinator_takes(wanted),
        patch.object(skeleton, "following", lambda step, source: replace(step, chosen=source)),
    ):
        found = conducted(other, relay, "fedrcd-x")
    assert found.estimate.order.tolist() == wanted
    other = apart(disk, tmp_path / "on")
    relay = Watched(other)
    with coordinator_takes(wanted), pytest.raises(ProtocolError):
        conducted(other, relay, "fedrcd-x")
    assert not any(answered(relay, site, 2) for site in NAMES)
    assert "not the best one" in logged(relay.services[A])[-1].detail


def test_a_source_as_good_as_the_best_is_followed():
    step = skeleton.Step((0, 1), np.array([1.0, 1.0 - 1e-12]), 0, 1e-12)
    assert skeleton.following(step, 1).chosen == 1
    with pytest.raises(ProtocolError, match="not the best one"):
        skeleton.following(replace(step, scores=np.array([1.0, 1.0 - 1e-6])), 1)
    with pytest.raises(ProtocolError, match="not the best one"):
        skeleton.following(step, 2)


# moments that a colluding site sets


class Colluding(Relay):
    """Knows whose turn it is, for a site that does what the coordinator wants."""

    at = ""

    def deliver(self, packets, seconds):
        for site in packets:
            Colluding.at = site
            yield from super().deliver({site: packets[site]}, seconds)


@contextmanager
def moments_set_by(disk, site, shift):
    """A site whose sums move all pooled moments as if every row were so many steps further, whoever has it."""
    transport, real = disk.in_process(), Shape.vector
    honest = transport.pool(transport.setting.pairs(2, complete=True))
    sums, rows = whole(honest), honest.most_rows
    first = sums[1, 0]
    more = {
        (1, 0): rows * shift + 0 * first,
        (2, 0): 2 * shift * first + rows * shift**2,
        (1, 1): shift * (first + first.T) + rows * shift**2,
    }

    def vector(self, answers):
        answers = list(answers)
        low = self.template.low
        if Colluding.at != site or low.kind != "pairs" or low.order != 2:
            return real(self, answers)
        [mine] = answers
        values = [value + more[power] for power, value in whole(mine).items()]
        parts = [value & ((1 << 56) - 1) for value in values], [value >> 56 for value in values]
        return real(self, [replace(mine, low=mine.low.with_arrays(parts[0]), high=mine.high.with_arrays(parts[1]))])

    with patch.object(Shape, "vector", vector):
        yield


def whole(sums):
    """Exact sums of order 2 as whole numbers, which are small enough."""
    halves = zip(sums.low.sums.items(), sums.high.sums.values(), strict=True)
    return {power: low + (high << 56) for (power, low), high in halves}


FAR = 10 << 14
"""Ten scales, in steps of the grid."""


def test_moments_that_a_colluding_site_set_are_taken_only_where_nobody_looks_at_the_rows_here(disk, tmp_path):
    other = apart(disk, tmp_path / "off")
    relay = Colluding(other)
    unseen = patch.dict(disclosure.RULES, {"own moments": lambda _: None})
    with moments_set_by(other, C, FAR), unseen:
        conducted(other, relay, "fed-direct")
    assert answered(relay, A, 2)
    other = apart(disk, tmp_path / "on")
    relay = Colluding(other)
    with moments_set_by(other, C, FAR), pytest.raises(ProtocolError):
        conducted(other, relay, "fed-direct")
    assert not answered(relay, A, 2)
    assert (A, Refusal.UNLIKE.value) in refused(relay)


# several runs


def test_the_same_rows_are_asked_about_along_one_order(disk, tmp_path):
    honest = honest_order(disk)
    wanted = honest[::-1]
    given = {"knowledge": Knowledge(tiers=[[f"x{k + 1}"] for k in wanted])}
    with pytest.raises(ProtocolError, match="prior knowledge"):
        conducted(disk, Relay(disk), "fedrcd-x", run="r2", **given)
    relay = Watched(disk)
    with coordinator_takes(wanted), everybody_follows(), pytest.raises(ProtocolError):
        conducted(disk, relay, "fedrcd-x", run="r3")
    assert (A, Refusal.CHAIN.value) in refused(relay)
    relay = Watched(disk)
    with coordinator_takes(wanted), everybody_follows(), patch.dict(disclosure.RULES, {"one chain": lambda _: None}):
        assert conducted(disk, relay, "fedrcd-x", run="r4").estimate.order.tolist() == wanted


def everybody_follows():
    """As if knowledge had chosen the order."""
    return patch.object(skeleton, "following", lambda step, source: replace(step, chosen=source))


def test_the_same_run_again_is_answered_for_nothing(disk):
    first = conducted(disk, Relay(disk), "fedrcd-x")
    again = conducted(disk, Relay(disk), "fedrcd-x", run="r2")
    assert again.estimate.B.tobytes() == first.estimate.B.tobytes()


# questions in the clear


def test_entropies_about_a_mean_of_its_own_are_answered_by_nobody_who_trusts_nobody(disk):
    federation = disk.federation
    true = standardised_residuals(Gaussian(np.full(3, 30.0), np.eye(3)), ())
    setting = disk.in_process().setting
    question = true.question(setting, np.empty((0, 2), dtype=np.int64), singles=True)
    request = Request("r1", 1, disk.digest, A, NAMES, question)
    assert federation.sites[0].name == A
    said = {
        how: unpack_reply(disk.service(A, **given).respond(pack_request(request))).refusal
        for how, given in {"masks": {}, "clear": {"clear": True}}.items()
    }
    assert said == {"masks": Refusal.CLEAR, "clear": Refusal.TRUST}


# the end


@pytest.mark.parametrize("change", ["order", "effects", "digest", "early"])
def test_a_result_that_the_sums_do_not_give_is_not_signed(disk, change):
    def lie(to, message):
        if to != B or not isinstance(message, ReplayEnd):
            return message
        order, effects = message.order, message.effects.copy()
        if change == "order":
            order = order[::-1]
        if change == "effects":
            effects[effects != 0] += 1e-6
        digest = "0" * 64 if change == "digest" else result_digest(np.array(order), effects)
        return replace(message, order=order, effects=effects, result=digest)

    relay, heard = Relay(disk, lie), []
    if change == "early":
        end_early(disk, relay)
    else:
        conducted(disk, relay, "fedrcd-x", said=heard)
        assert any("erases what it has" in line for line in heard)
    with relay.services[B].store() as store:
        assert store.masked.results() == {}


def end_early(disk, relay):
    """Ends a run after its first round."""
    real = MaskedTransport.pool

    def pool(self, question):
        if not self.rounds:
            return real(self, question)
        signed, vectors = self._last_answers()
        order, effects = np.arange(3), np.zeros((3, 3))
        message = ReplayEnd(B, self.terms.run, signed, vectors, (0, 1, 2), effects, result_digest(order, effects))
        reply = relay.services[B].respond(pack_message(message))
        from fedrcd.federation.messages.masked import MaskedEndReply

        assert unpack_message(reply, MaskedEndReply).refusal == Refusal.RUN
        raise ProtocolError("the lie is told")

    with patch.object(MaskedTransport, "pool", pool), pytest.raises(ProtocolError, match="the lie is told"):
        conducted(disk, relay, "fedrcd-x")


def test_asked_again_a_site_repeats_its_bytes(disk):
    relay = Relay(disk)
    with patch.object(MaskedTransport, "end", lambda *_: None):
        conducted(disk, relay, "fedrcd-x")
    asked, reply = [(m, r) for site, m, r in relay.sent if site == B and isinstance(m, ReplayAsk)][-1]
    again = unpack_message(relay.services[B].respond(pack_message(asked)), MaskedReply)
    assert (again.statement, again.data) == (reply.statement, reply.data)
