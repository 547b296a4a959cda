"""What a coordinator may try: each attack finds what it looks for once the rule is switched off."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking import answers as masked_answers
from fedrcd.federation.masking import derivation, site_run
from fedrcd.federation.masking.answers import Masked
from fedrcd.federation.masking.derivation import MaskUse, RunKey, mask, pair_chain, public_key
from fedrcd.federation.masking.site_run import RunAborted, RunRefused, SiteRun, Stage, transcript_of
from fedrcd.federation.masking.statements import RollCall, RunTerms, Signed
from tests.federation.masking.runs import (
    EXPIRES,
    NAMES,
    NOW,
    QUESTION,
    RING,
    Random,
    Site,
    added,
    key_of,
    numbers,
    request,
    roster,
    sites,
    true_total,
)

pytest.importorskip("cryptography")
THREE = NAMES[:3]


def called(run=1, seed=1, names=THREE):
    several = sites(seed, names)
    return several, [site.call(request(run, names)) for site in several.values()]


# keys of the coordinator's

MINE = {name: np.random.default_rng(k).bytes(32) for k, name in enumerate(NAMES)}


def with_keys_of_mine(roll_calls, victim):
    """The roll calls that a site is shown, with run keys of the coordinator's in place of the others'."""
    shown = []
    for one in roll_calls:
        said = RollCall.read(one.text)
        if said.site == victim:
            shown.append(one)
        else:
            fake = replace(said, key=public_key(MINE[said.site]).hex())
            shown.append(Signed.by(key_of("coordinator"), fake))
    return shown


def unmasked(answer, shown, victim):
    """What is left of a site's answer once the masks that the coordinator can make are taken off."""
    said = [RollCall.read(one.text) for one in shown]
    transcript, keys = transcript_of(said), [RunKey(one.site, one.run_key) for one in said]
    own = next(k for k, one in enumerate(keys) if one.site == victim)
    vector = RING.from_bytes(answer.vector, QUESTION.length)
    use = MaskUse(1, QUESTION.digest, QUESTION.length, RING)
    for k, one in enumerate(keys):
        if k != own:
            chain = pair_chain(MINE[one.site], keys[own].key, transcript, tuple(keys[i] for i in sorted((own, k))))
            change = RING.subtract if own < k else RING.add
            vector = change(vector, mask(chain, transcript, use))
    return vector


def test_keys_of_the_coordinators_own_take_masks_off_only_where_signatures_are_not_looked_at():
    several, roll_calls = called()
    shown = with_keys_of_mine(roll_calls, "b")
    with patch.object(Signed, "read", lambda self, kind, _public: kind.read(self.text)):
        answer = Site("b", several["b"].vector, Random(1), several["b"].disk).answer(shown)
    assert (unmasked(answer, shown, "b") == several["b"].vector).all()
    with pytest.raises(RunAborted, match="signature"):
        several["b"].answer(shown)
    assert (several["b"].disk.stage, several["b"].disk.secret) == (Stage.ENDED, "")


# masks that are used twice


def test_a_mask_used_twice_gives_the_difference_of_two_answers_away():
    several, roll_calls = called()
    before, victim = several["a"].disk, several["a"]
    first = victim.answer(roll_calls)
    victim.vector = numbers(99)
    assert victim.answer(roll_calls) == first  # the bytes of before, whatever the rows are now
    forgetful = Site("a", victim.vector, Random(1), before)  # a disk that was not written before the answer left
    second = forgetful.answer(roll_calls)
    one, two = (RING.from_bytes(sent.vector, QUESTION.length) for sent in (first, second))
    assert (RING.subtract(two, one) == RING.subtract(victim.vector, sites()["a"].vector)).all()


def test_nothing_secret_is_left_once_an_answer_is_made():
    several, roll_calls = called()
    secret = several["a"].disk.secret
    assert len(bytes.fromhex(secret)) * 8 >= 128
    several["a"].answer(roll_calls)
    kept = several["a"].disk
    assert secret not in kept.text
    assert bytes.fromhex(secret) not in kept.vector
    assert kept.ended("over").text.count("signature") == 0


def test_run_keys_come_from_all_the_bits_that_are_drawn():
    drawn = []

    def random(size):
        drawn.append(size)
        return bytes(size)

    Site("a", numbers(1), random).call(request())
    assert drawn == [32]
    with pytest.raises(ProtocolError, match="256 bits"):
        Site("a", numbers(1), lambda size: bytes(size // 4)).call(request())


# what must be refused or repeated


def test_the_same_request_gets_the_same_bytes_and_another_ends_the_run():
    site = sites()["a"]
    first = site.call(request())
    assert site.call(request()) == first
    with pytest.raises(RunAborted, match="second roll call"):
        site.call(request(plan="another"))
    with pytest.raises(RunRefused, match="over here: a second roll call"):
        site.call(request())


def test_a_run_that_expired_is_not_answered():
    several, roll_calls = called()
    several["a"].now = EXPIRES
    with pytest.raises(RunAborted, match="expired"):
        several["a"].answer(roll_calls)
    several["b"].answer(roll_calls)
    several["b"].now = EXPIRES
    with pytest.raises(RunAborted, match="expired"):
        several["b"].answer(roll_calls)
    assert several["b"].disk.vector == b""
    with pytest.raises(RunRefused, match="expired"):
        Site("c", numbers(1), Random(1), now=EXPIRES).call(request())


def test_a_run_without_a_roll_call_is_not_answered():
    _, roll_calls = called()
    with pytest.raises(RunRefused, match="no roll call"):
        Site("a", numbers(1), Random(1)).answer(roll_calls)


def test_a_site_of_no_cohort_is_not_called():
    with pytest.raises(RunRefused, match="not of the cohort"):
        Site("d", numbers(1), Random(1)).call(request(1, THREE))


@pytest.mark.parametrize(
    ("registered", "message"),
    [
        ({"a": ""}, "'a' of the cohort has no registered key"),
        ({"a": None, "b": None}, "same registered key"),
    ],
)
def test_a_roster_that_hides_nobody_is_refused(registered, message):
    several, roll_calls = called()
    keys = {**roster(THREE), **{name: key_of("a").public if key is None else key for name, key in registered.items()}}
    state, site = several["c"].disk, several["c"]
    with pytest.raises(RunAborted, match=message):
        site_run.answer(state, roll_calls, keys, QUESTION, site.vector, key_of("c"), NOW)


def test_an_unknown_site_in_the_cohort_is_refused():
    several, roll_calls = called()
    keys = {name: key for name, key in roster(THREE).items() if name != "b"}
    with pytest.raises(RunAborted, match="'b' of the cohort has no registered key"):
        site_run.answer(several["c"].disk, roll_calls, keys, QUESTION, several["c"].vector, key_of("c"), NOW)


def test_rows_beyond_what_the_ring_holds_are_refused():
    several = sites(1, THREE)
    ring = QUESTION._replace(ring=replace(RING, most_rows=2999))
    roll_calls = [site.call(request(1, THREE)) for site in several.values()]
    with pytest.raises(RunAborted, match="3000 rows at most do not fit"):
        several["a"].answer(roll_calls, ring)


@pytest.mark.parametrize("field", ["run", "plan", "cohort", "expires"])
def test_terms_that_are_none_cannot_be_read(field):
    text = request().content.decode()
    assert RunTerms.read(text) == request()
    for wrong in (text[:-1], text.replace(field, "other"), text + " ", "[]", "{}", "[" * 10**5):
        with pytest.raises(ProtocolError, match="no terms of a run"):
            RunTerms.read(wrong)


def test_an_answer_of_another_run_is_not_added():
    several, roll_calls = called(run=1)
    others, earlier = called(run=2)
    answers = {name: site.answer(roll_calls) for name, site in several.items()}
    assert added(roll_calls, answers) == true_total(several)
    answers["a"] = others["a"].answer(earlier)
    with pytest.raises(ProtocolError, match="another run or question"):
        added(roll_calls, answers)


def test_a_state_is_the_same_when_it_is_read_again():
    several, roll_calls = called()
    for state in (
        several["a"].disk,
        several["a"].answer(roll_calls) and several["a"].disk,
        several["a"].disk.ended("x"),
    ):
        assert SiteRun.of(state.text, state.numbers) == state


# what is seen before a sum is complete


def answers_of(vector, runs):
    """The masked bytes of one site in many runs."""
    found = []
    for run in range(1, runs + 1):
        several = sites(run, THREE)
        several["a"].vector = vector
        roll_calls = [site.call(request(run, THREE)) for site in several.values()]
        found.append(several["a"].answer(roll_calls).vector)
    return found


@pytest.mark.parametrize("vector", [RING.zeros(QUESTION.length), numbers(5)], ids=["all zero", "sums of rows"])
def test_a_masked_answer_is_noise_whatever_is_behind_it(vector):
    data = np.frombuffer(b"".join(answers_of(vector, 60)), dtype=np.uint8)
    assert chisquare(np.bincount(data, minlength=256)).pvalue > 1e-4
    words = np.frombuffer(data.tobytes(), dtype="<u8")
    assert kstest(words / 2.0**64, "uniform").pvalue > 1e-4
    bits = np.unpackbits(data).reshape(-1, 64).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 5 * 0.5 / np.sqrt(len(words))


def test_without_masks_the_same_tests_fail():
    with patch.object(site_run, "masked", lambda vector, *_: vector):
        data = np.frombuffer(b"".join(answers_of(numbers(5), 20)), dtype=np.uint8)
    assert chisquare(np.bincount(data, minlength=256)).pvalue < 1e-9


def test_keystreams_of_many_runs_are_distinct():
    keys, streams = public_key(MINE["a"]), set()
    pair = (RunKey("a", keys), RunKey("b", public_key(MINE["b"])))
    use = MaskUse(1, "question", 1, RING)
    for run in range(300):
        transcript = derivation.digest(b"transcript", run.to_bytes(4, "big"))
        chain = pair_chain(MINE["a"], pair[1].key, transcript, pair)
        streams.add(RING.to_bytes(mask(chain, transcript, use)))
    assert len(streams) == 300


def test_numbers_that_were_changed_on_the_way_are_not_added():
    several, roll_calls = called()
    answers = {name: site.answer(roll_calls) for name, site in several.items()}
    data = bytes([answers["a"].vector[0] ^ 1]) + answers["a"].vector[1:]
    changed = {**answers, "a": Masked(answers["a"].statement, data)}
    with pytest.raises(ProtocolError, match="changed on the way"):
        added(roll_calls, changed)
    with patch.object(masked_answers, "require_answer", lambda one, *_: RING.from_bytes(one.vector, QUESTION.length)):
        total = RING.zeros(QUESTION.length)
        for one in changed.values():
            total = RING.add(total, masked_answers.require_answer(one))
    assert RING.to_bytes(total) != true_total(several)
