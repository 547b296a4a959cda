"""A coordinator that lies over machines: with a rule off it finds single sites, with it on nothing."""

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from typer.testing import CliRunner

from fedrcd.cli.main import app
from fedrcd.data.federation import write_federation
from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.federation.coordinator import masked as coordinator
from fedrcd.federation.masking import plan as planning
from fedrcd.federation.masking.derivation import MaskUse, RunKey, mask, pair_chain, public_key
from fedrcd.federation.masking.plan import MaskedPlan
from fedrcd.federation.masking.site_run import Stage, transcript_of
from fedrcd.federation.masking.statements import RollCall, RunTerms, Signed
from fedrcd.federation.messages.keys import fingerprint_of
from fedrcd.federation.messages.masked import MaskedAsk, MaskedCallRequest, MaskedEnd, MaskedReply
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request, pack_request, unpack_reply
from fedrcd.federation.site import masked as site_part
from fedrcd.methods.settings import Settings
from tests.federation.masking.machines import Relay, apart, conducted, keyed, masked_plan, site_key
from tests.federation.sites import logged

serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
FOUR = ("hospital-a", "hospital-b", "hospital-c", "hospital-d")
A, B, C, D = FOUR


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return keyed(tmp_path_factory.mktemp("federation"), names=FOUR, p=3, rows=(400, 410, 420, 430))


@pytest.fixture
def disk(tables, tmp_path):
    return apart(tables, tmp_path)


def clear_sums(disk, sites):
    """The exact sums of some sites, as a vector of whole numbers."""
    transport = disk.in_process(sites)
    planned = plan_over(disk, FOUR)
    return planned.shape.vector([transport.pool(planned.question)])


def plan_over(disk, cohort, method="fedrcd-s"):
    return MaskedPlan(method=method, settings=masked_plan(disk, method).settings).over(disk.federation, cohort)


@contextmanager
def eavesdropping(found):
    """A coordinator that keeps every total, and looks at nothing that could make it stop."""

    def kept(_signed, answers, _roster, question, shape, _position):
        vector = question.ring.zeros(question.length)
        for one in answers.values():
            vector = question.ring.add(vector, question.ring.from_bytes(one.vector, question.length))
        found.append(vector)
        return shape.pooled(vector)

    with patch.object(coordinator, "total", kept), patch.object(coordinator, "newly_told", lambda *_: ()):
        yield


def without(module, name, instead):
    """A rule that is switched off at the sites."""
    return patch.object(module, name, instead)


def refusals(relay):
    return [reply.refusal for _, _, reply in relay.sent if reply.refusal]


def stages(relay):
    """How far every site is in its newest run."""
    found = {}
    for name, service in relay.services.items():
        with service.store() as store:
            rows = store.masked._database.rows("SELECT run FROM masked_runs")
            found[name] = [store.masked.find(str(run))[1] for (run,) in rows]
    return found


# keys of its own


class OwnKeys:
    """Shows a site run keys of the coordinator's in place of the others'."""

    def __init__(self, victim, names=FOUR):
        self.victim, self.answer = victim, None
        self.secrets = {name: np.random.default_rng(k).bytes(32) for k, name in enumerate(names)}

    def __call__(self, site, message):
        if site == self.victim and isinstance(message, MaskedAsk):
            shown = [self.replaced(Signed(*one)) for one in message.roll_calls]
            self.shown = [RollCall.read(one.text) for one in shown]
            return replace(message, roll_calls=tuple((one.text, one.signature) for one in shown))
        if site == self.victim and isinstance(message, MaskedReply) and message.statement:
            self.answer = message
        return message

    def replaced(self, signed):
        said = RollCall.read(signed.text)
        if said.site == self.victim:
            return signed
        return Signed.by(site_key("coordinator"), replace(said, key=public_key(self.secrets[said.site]).hex()))

    def sums(self, planned):
        """The victim's sums, once the masks are taken off."""
        asked, transcript = planned.asked, transcript_of(self.shown)
        keys = [RunKey(one.site, one.run_key) for one in self.shown]
        own = next(k for k, one in enumerate(keys) if one.site == self.victim)
        vector = asked.ring.from_bytes(self.answer.data, asked.length)
        for k, one in enumerate(keys):
            if k != own:
                pair = tuple(keys[i] for i in sorted((own, k)))
                chain = pair_chain(self.secrets[one.site], keys[own].key, transcript, pair)
                change = asked.ring.subtract if own < k else asked.ring.add
                vector = change(vector, mask(chain, transcript, MaskUse(1, asked.digest, asked.length, asked.ring)))
        return vector


def test_keys_of_the_coordinators_show_the_sums_of_a_site_only_where_signatures_are_not_looked_at(disk):
    lie = OwnKeys(B)
    with without(Signed, "read", lambda self, kind, _public: kind.read(self.text)), pytest.raises(ProtocolError):
        conducted(disk, Relay(disk, lie))  # the total is spoilt, but the coordinator has what it wanted
    assert (lie.sums(plan_over(disk, FOUR)) == clear_sums(disk, (B,))).all()


def test_with_signatures_the_run_is_over_at_that_site_and_its_key_is_gone(disk):
    lie = OwnKeys(B)
    relay = Relay(disk, lie)
    with pytest.raises(ProtocolError):
        conducted(disk, relay)
    assert lie.answer is None
    [state] = stages(relay)[B]
    assert (state.stage, state.secret, state.vector) == (Stage.ENDED, "", b"")
    assert "signature" in logged(relay.services[B])[-1].detail


# two totals


def two_totals(disk, relay):
    """What a run over four sites and one over three of them give a coordinator."""
    totals = []
    with eavesdropping(totals):
        conducted(disk, relay)
        conducted(disk, relay, names=(A, B, C), allow_missing=True, run="r2")
    return totals


def test_two_totals_tell_the_site_between_them_only_where_sites_do_not_remember(disk):
    relay = Relay(disk)
    with without(site_part, "newly_told", lambda *_: ()):
        both, three = two_totals(disk, relay)
    ring = plan_over(disk, FOUR).asked.ring
    assert (ring.subtract(both, three) == clear_sums(disk, (D,))).all()


def test_sites_refuse_the_second_total_although_the_first_coordinator_says_it_failed(disk):
    relay = Relay(disk)
    lost = []

    def drop(site, message):
        """Pretends that the answer of a site was lost, having read it."""
        if site == D and isinstance(message, MaskedReply):
            lost.append(message)
            return replace(message, statement="", signature="", refusal=Refusal.FAILED.value)
        return message

    relay.change = drop
    with eavesdropping([]), pytest.raises(ConfigError, match="nobody among 2 sites"):  # what is left without them
        conducted(disk, relay, allow_missing=True)
    assert lost[0].statement
    assert Refusal.COHORT.value in refusals(relay)


# two sites


def test_a_total_of_two_sites_tells_each_the_other_only_where_nobody_counts_them(disk):
    totals, pair = [], (A, B)
    uncounted = without(planning, "require_hidden", lambda *_: None)
    with eavesdropping(totals), uncounted, without(site_part, "newly_told", lambda *_: ()):
        conducted(disk, Relay(disk), names=pair, allow_missing=True)
    ring = plan_over(disk, FOUR).asked.ring
    assert (ring.subtract(totals[0], clear_sums(disk, (A,))) == clear_sums(disk, (B,))).all()
    with pytest.raises(ConfigError, match="masks hide nobody among 2 sites"):
        conducted(disk, Relay(disk), names=pair, allow_missing=True)


def test_sites_count_for_themselves(disk):
    """The coordinator may believe what it likes."""
    relay, terms = Relay(disk), run_terms(disk, (A, B))
    for site in (A, B):
        assert called(relay, site, terms).refusal == Refusal.MASKS.value


# a question in the clear


def test_a_site_answers_in_the_clear_only_where_its_people_said_so(disk):
    planned = plan_over(disk, FOUR)
    request = Request("r1", 1, disk.digest, A, FOUR, planned.question)
    reply = {
        clear: unpack_reply(disk.service(A, clear=clear).respond(pack_request(request))) for clear in (False, True)
    }
    assert (reply[False].refusal, reply[False].blocks) == (Refusal.CLEAR, ())
    [(_, sums)] = reply[True].blocks
    assert (planned.shape.vector([sums]) == clear_sums(disk, (A,))).all()


# other terms for some, and messages that belong elsewhere


def run_terms(disk, cohort, method="fedrcd-s", **changes):
    plan = MaskedPlan(method=method, settings=Settings.of(method, arithmetic="exact", masked=True))
    fields = {"federation": disk.digest, "run": "11" * 16, "plan": plan.text, "cohort": cohort, "expires": in_an_hour()}
    return RunTerms(**{**fields, **changes})


def in_an_hour():
    from fedrcd.federation.surroundings import REAL

    return int(REAL.now().timestamp()) + 3600


def called(relay, site, terms):
    from fedrcd.federation.messages.envelope import pack_message, unpack_message
    from fedrcd.federation.messages.masked import MaskedCallReply

    packet = pack_message(MaskedCallRequest(site, terms.content.decode(), "1"))
    return unpack_message(relay.services[site].respond(packet), MaskedCallReply)


def to_one(site, change):
    """A lie to one site."""
    return lambda to, message: change(message) if to == site else message


def other_terms(**changes):
    """Terms with something else in them."""

    def change(message):
        if not isinstance(message, MaskedCallRequest):
            return message
        return replace(message, terms=replace(RunTerms.read(message.terms), **changes).content.decode())

    return change


def shown(change):
    """Roll calls that were changed on the way to a site."""

    def lie(message):
        return replace(message, roll_calls=change(message.roll_calls)) if isinstance(message, MaskedAsk) else message

    return lie


def with_other_plan(message):
    if not isinstance(message, MaskedCallRequest):
        return message
    terms = RunTerms.read(message.terms)
    plan = replace(MaskedPlan.read(terms.plan), method="fedrcd-ni")
    return replace(message, terms=replace(terms, plan=plan.text).content.decode())


def flip(text):
    return text[:-1] + ("0" if text[-1] != "0" else "1")


LIES = {
    "another cohort for one": other_terms(cohort=(A, B, D)),
    "another order of the cohort": other_terms(cohort=(B, A, C, D)),
    "another federation file": other_terms(federation="0" * 64),
    "another run number": other_terms(run="22" * 16),
    "an expiry in a year": lambda m: other_terms(expires=in_an_hour() + 365 * 86400)(m),
    "another plan for one": with_other_plan,
    "roll calls in another order": shown(lambda calls: calls[::-1]),
    "a roll call left out": shown(lambda calls: calls[:-1]),
    "a roll call twice": shown(lambda calls: (*calls[:-1], calls[0])),
    "a roll call under another's name": shown(lambda calls: (calls[0], calls[2], calls[1], calls[3])),
    "a forged signature": shown(lambda calls: (*calls[:-1], (calls[-1][0], flip(calls[-1][1])))),
    "a changed statement": shown(
        lambda calls: (*calls[:-1], (calls[-1][0].replace('"rows":', '"rows":1'), calls[-1][1]))
    ),
    "another question": lambda m: replace(m, question="0" * 64) if isinstance(m, MaskedAsk) else m,
    "another run when it is asked": lambda m: replace(m, run="33" * 16) if isinstance(m, MaskedAsk) else m,
}


@pytest.mark.parametrize("lie", LIES)
def test_a_site_that_is_told_otherwise_answers_nothing(disk, lie):
    relay = Relay(disk, to_one(B, LIES[lie]))
    with pytest.raises(ProtocolError):
        conducted(disk, relay)
    assert not any(site == B and isinstance(reply, MaskedReply) and reply.statement for site, _, reply in relay.sent)


def test_a_roll_call_of_another_run_does_not_belong_to_this_one(disk):
    """Even one that the same site signed under the same terms but for the number."""
    relay, earlier = Relay(disk), {}
    for site in FOUR:
        reply = called(relay, site, run_terms(disk, FOUR))
        earlier[site] = (reply.statement, reply.signature)
    relay.change = to_one(B, shown(lambda calls: (*calls[:-1], earlier[D])))
    with pytest.raises(ProtocolError):
        conducted(disk, relay)
    assert (
        "roll calls" in logged(relay.services[B])[-1].detail or "signed another" in logged(relay.services[B])[-1].detail
    )


def test_asked_again_a_site_repeats_its_bytes_and_asked_otherwise_it_is_done(disk):
    relay, sent = Relay(disk), []

    def twice(site, message):
        if site == B and isinstance(message, MaskedAsk):
            sent.append(message)
        return message

    relay.change = twice
    with patch.object(coordinator.MaskedTransport, "end", lambda *_: None):
        conducted(disk, relay)
    [first] = [reply for site, _, reply in relay.sent if site == B and isinstance(reply, MaskedReply)]
    again = asked(relay, sent[0])
    assert (again.statement, again.data) == (first.statement, first.data)
    assert asked(relay, replace(sent[0], question="0" * 64)).refusal == Refusal.RUN.value


def asked(relay, message):
    from fedrcd.federation.messages.envelope import pack_message, unpack_message

    return unpack_message(relay.services[message.site].respond(pack_message(message)), MaskedReply)


def test_a_run_is_not_ended_with_answers_that_are_not_those_of_all(disk):
    relay = Relay(disk, to_one(B, lambda m: replace(m, answers=m.answers[:-1]) if isinstance(m, MaskedEnd) else m))
    heard = []
    conducted(disk, relay, said=heard)
    [state] = stages(relay)[B]
    assert (state.reason, state.secret, state.vector) == ("answers that do not agree", "", b"")
    assert any("erases what it has" in line for line in heard)


# what is left on the disk


def test_neither_keys_nor_masked_numbers_are_left_in_the_bytes_of_a_store(disk):
    relay, secrets, vectors = Relay(disk), [], []
    real = site_part.site_run.answer

    def watched(state, *rest, **more):
        secrets.append(state.secret)
        done = real(state, *rest, **more)
        vectors.append(done[2])
        return done

    with patch.object(site_part.site_run, "answer", watched):
        conducted(disk, relay)
    for name, secret, vector in zip(FOUR, secrets, vectors, strict=True):
        kept = b"".join(path.read_bytes() for path in disk.state(name).glob("site.db*"))
        assert secret.encode() not in kept
        assert bytes.fromhex(secret) not in kept
        assert vector[:64] not in kept


# another roster


def with_keys_of_the_coordinators(disk, tmp_path):
    """A federation file in which two of three sites are the coordinator's, and a relay that runs them."""
    fake = {name: site_key(f"the coordinator's {name}").public for name in (B, C, D)}
    sites = tuple(replace(site, key=fake.get(site.name, site.key)) for site in disk.federation.sites)
    changed = replace(disk.federation, sites=sites)
    write_federation(disk.file, changed)
    disk.federation = changed
    relay = Relay(disk)
    for name in fake:
        key = tmp_path / name / "key"
        key.parent.mkdir()
        form = serialization.PrivateFormat.OpenSSH
        private = site_key(f"the coordinator's {name}").private
        key.write_bytes(private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        relay.services[name] = disk.service(name, state=str(tmp_path / name / "state"), key=str(key))
    return relay


def test_a_roster_of_the_coordinators_shows_the_sums_of_a_site_only_where_nobody_accepts_rosters(disk, tmp_path):
    conducted(disk, Relay(disk))
    relay, totals = with_keys_of_the_coordinators(disk, tmp_path), []
    again = {"run": "r2"}
    with pytest.raises(ProtocolError, match="fedrcd site accept"):
        conducted(disk, relay, **again)
    unseen, untold = (
        without(site_part.MaskedSite, "_require_accepted", lambda _: None),
        without(site_part, "newly_told", lambda *_: ()),
    )
    with eavesdropping(totals), unseen, untold:
        conducted(disk, relay, **again)
    ring = plan_over(disk, FOUR).asked.ring
    assert (ring.subtract(totals[0], clear_sums(disk, (B, C, D))) == clear_sums(disk, (A,))).all()


def test_a_person_sees_what_changed_and_accepts_it(disk, tmp_path):
    conducted(disk, Relay(disk))
    with_keys_of_the_coordinators(disk, tmp_path)
    command = ["site", "accept", "--name", A, "--federation", str(disk.file), "--state", str(disk.state(A))]
    said = CliRunner().invoke(app, command).stdout
    assert "+key = " in said
    assert "not accepted yet" in said
    assert fingerprint_of(site_key(f"the coordinator's {B}").public) in said
    assert "accepted\n" in CliRunner().invoke(app, [*command, "--yes"]).stdout
    assert "this is the file that was accepted" in CliRunner().invoke(app, command).stdout
