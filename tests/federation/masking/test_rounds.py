"""Masked runs of several rounds, without a network: chains, crashes, and answers that do not belong."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking import site_run
from fedrcd.federation.masking.answers import Masked, MaskedQuestion, added, after
from fedrcd.federation.masking.derivation import next_chain
from fedrcd.federation.masking.site_run import RunAborted, RunRefused, SiteRun, Stage, answer_next, total_of_round
from fedrcd.federation.masking.statements import MaskedAnswer, Signed
from tests.federation.masking.runs import NAMES, NOW, QUESTION, RING, key_of, numbers, request, roster, sites

pytest.importorskip("cryptography")
THREE = NAMES[:3]


def question(number):
    return MaskedQuestion(f"question {number}", QUESTION.length, RING)


class Rounds:
    """Three sites that answer round after round; `disks` are what is written down."""

    def __init__(self, seed=1):
        self.several = sites(seed, THREE)
        calls = [site.call(request(seed, THREE)) for site in self.several.values()]
        self.disks, self.answers, self.number = {}, {}, 1
        for name, site in self.several.items():
            given = (calls, roster(), question(1), site.vector, key_of(name), NOW)
            state, signed, data = site_run.answer(site.disk, *given, goes_on=True)
            self.disks[name], self.answers[name] = state, Masked(signed, data)

    def next_of(self, name, answers=None, vector=None, *, goes_on=True):
        """The next state of a site and its answer; nothing is written yet."""
        state = self.disks[name]
        total, here = total_of_round(state, answers or self.answers, roster(), question(self.number))
        vector = numbers(50 * self.number + THREE.index(name)) if vector is None else vector
        given = (total, here, question(self.number + 1), vector, key_of(name), NOW)
        state, signed, data = answer_next(state, *given, goes_on=goes_on)
        return SiteRun.of(state.text, state.numbers), Masked(signed, data)

    def go_on(self):
        made = {name: self.next_of(name) for name in THREE}
        self.disks = {name: state for name, (state, _) in made.items()}
        self.answers = {name: answer for name, (_, answer) in made.items()}
        self.number += 1

    def total(self):
        return added(self.answers, THREE, self.disks["a"].position, roster(), question(self.number))


def test_every_round_has_the_true_total():
    run = Rounds()
    for _ in range(4):
        run.go_on()
        true = RING.zeros(QUESTION.length)
        for k in range(3):
            true = RING.add(true, numbers(50 * (run.number - 1) + k))
        assert (run.total() == true).all()
    kept = run.disks["a"].totals
    assert len(kept) == 4 * QUESTION.length * RING.width


def test_nothing_on_the_disk_gives_a_mask_of_before_once_more():
    run = Rounds()
    seen = set()
    for _ in range(3):
        before = run.disks["a"]
        run.go_on()
        state = run.disks["a"]
        assert not set(before.chains.values()) & set(state.chains.values())
        assert all(chain not in state.text for chain in before.chains.values())
        assert state.secret == ""
        seen |= set(state.chains.values())
    assert len(seen) == 6
    over = run.disks["a"].ended("over")
    assert (over.chains, over.totals, over.vector, over.answer) == ({}, b"", b"", None)


def test_the_next_chain_depends_on_the_chain_the_run_and_the_round():
    chains = {next_chain(bytes([a]) * 32, bytes([b]) * 32, c) for a in (1, 2) for b in (1, 2) for c in (1, 2)}
    assert len(chains) == 8


def test_a_disk_that_was_not_written_would_mask_two_vectors_alike():
    """Why the state must be on the disk before an answer leaves."""
    run = Rounds()
    one, two = (run.next_of("a", vector=numbers(seed))[1].vector for seed in (7, 8))
    difference = RING.subtract(RING.from_bytes(two, QUESTION.length), RING.from_bytes(one, QUESTION.length))
    assert (difference == RING.subtract(numbers(8), numbers(7))).all()


def test_a_crash_before_the_answer_is_written_changes_nothing():
    run = Rounds()
    lost = run.next_of("a")  # nothing was written, nothing left
    run.go_on()
    assert lost[1].vector == run.answers["a"].vector


def flipped(answer):
    return Masked(answer.statement, bytes([answer.vector[0] ^ 1]) + answer.vector[1:])


def other_position(answer, name, **changes):
    """An answer that the site signed at another place."""
    said = replace(MaskedAnswer.read(answer.statement.text), **changes)
    return Masked(Signed.by(key_of(name), said), answer.vector)


LIES = {
    "a flipped bit of another": lambda run: {**run.answers, "b": flipped(run.answers["b"])},
    "a flipped bit of its own": lambda run: {**run.answers, "a": flipped(run.answers["a"])},
    "one left out": lambda run: {name: run.answers[name] for name in "ab"},
    "one in the place of another": lambda run: {**run.answers, "b": run.answers["c"]},
    "one of another round": lambda run: {**run.answers, "b": other_position(run.answers["b"], "b", round=9)},
    "one after other rounds": lambda run: {**run.answers, "b": other_position(run.answers["b"], "b", before="00" * 32)},
    "one of another run": lambda run: {**run.answers, "b": Rounds(2).answers["b"]},
    "one to another question": lambda run: {**run.answers, "b": other_position(run.answers["b"], "b", question="x")},
    "one that another signed": lambda run: {**run.answers, "b": other_position(run.answers["b"], "c", site="b")},
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("rounds", [0, 2])
def test_answers_that_do_not_belong_end_the_run(lie, rounds):
    run = Rounds()
    for _ in range(rounds):
        run.go_on()
    with pytest.raises(RunAborted) as aborted:
        run.next_of("a", LIES[lie](run))
    assert (aborted.value.state.stage, aborted.value.state.chains) == (Stage.ENDED, {})


def test_a_question_of_a_round_before_that_comes_late_changes_nothing():
    run = Rounds()
    run.go_on()
    with pytest.raises(RunRefused, match="has gone on"):
        site_run.stored_answer(run.disks["a"], "question 1", NOW, 1)
    assert site_run.stored_answer(run.disks["a"], "question 2", NOW, 2)[1] == run.answers["a"].vector
    assert site_run.stored_answer(run.disks["a"], "question 3", NOW, 3) is None


def test_after_the_last_round_there_is_none():
    run = Rounds()
    state, _ = run.next_of("a", goes_on=False)
    assert state.chains == {}
    run.disks["a"] = state
    with pytest.raises(RunRefused, match="does not go on"):
        answer_next(state, RING.zeros(6), state.position, question(3), numbers(1), key_of("a"), NOW, goes_on=True)
    with pytest.raises(RunAborted, match="another question"):
        site_run.stored_answer(state, "question 3", NOW, 3)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(THREE), st.sampled_from(["answers", "crashes", "is asked twice"])), max_size=9)
)
def test_whatever_happens_in_which_order_the_total_is_true_and_no_mask_is_used_twice(events):
    run, made, sent = Rounds(), {}, {name: set() for name in THREE}
    for name, event in [*events, *((name, "answers") for name in THREE)]:
        if name in made:
            again = site_run.stored_answer(made[name][0], "question 2", NOW, 2)
            sent[name].add(again[1])
            continue
        state, answer = run.next_of(name)
        if event != "crashes":
            made[name] = (state, answer)
            sent[name].add(answer.vector)
    assert all(len(vectors) == 1 for vectors in sent.values())
    answers = {name: made[name][1] for name in THREE}
    here = after(run.disks["a"].position, run.answers, THREE)
    total = added(answers, THREE, here, roster(), question(2))
    true = RING.zeros(QUESTION.length)
    for k in range(3):
        true = RING.add(true, numbers(50 + k))
    assert (total == true).all()


def test_a_site_that_was_not_asked_in_the_first_round_is_not_in_later_ones():
    run = Rounds()
    called = sites(3, THREE)["a"]
    called.call(request(3, THREE))
    with pytest.raises(ProtocolError, match="not answered here"):
        total_of_round(called.disk, run.answers, roster(), question(1))
