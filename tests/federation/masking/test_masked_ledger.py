"""A ledger of totals: the bits of the rows that are there, nobody's own sums, receipts, certificates, and lies."""

import json
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from fedrcd.api.from_ledger import bootstrap_stored, discover_stored, leave_one_site_out, rediscover
from fedrcd.cli.main import app
from fedrcd.data.federation import write_federation
from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.federation.coordinator.gather import SiteLost
from fedrcd.federation.coordinator.masked import MaskedTransport
from fedrcd.federation.coordinator.masked_refresh import MaskedRefresher
from fedrcd.federation.ledger.certificate import require_genuine
from fedrcd.federation.ledger.masked_totals import PLACE, SignedTotal
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.ledger.verify import verify_ledger
from fedrcd.federation.masking.site_run import Stage
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.site.refreshing import CERTIFICATES, RECEIPTS
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from tests.federation.masking.ledgers import ROWS, Pooling
from tests.federation.sites import NAMES
from tests.federation.test_refresh import Carrier

A, B, C = NAMES


@pytest.fixture
def pooling(tmp_path):
    return Pooling(tmp_path)


def effects(transport, method="fedrcd-s"):
    return run(build(method).rounds(transport.setting), transport).B.tobytes()


def test_an_erasure_is_a_new_total_with_the_bits_of_a_federation_in_which_the_rows_never_were(pooling):
    assert pooling.refresh().entries == {site: [2] for site in NAMES}
    pooling.erase(A, 150)
    assert pooling.refresh().entries == {site: [3] for site in NAMES}
    with pooling.ledger() as ledger:
        assert [entry.kind for entry in ledger.entries] == ["opened", "pooled", "pooled"]
        for method in ("fedrcd-s", "fedrcd-ni"):
            assert discover_stored(ledger, method).B.tobytes() == effects(pooling.in_process({A: 150}), method)


def test_the_state_after_an_erasure_is_that_of_a_ledger_in_which_the_rows_never_were(tmp_path):
    secret = bytes(range(32))
    erased, fresh = (Pooling(tmp_path / name, secret=secret) for name in ("erased", "fresh"))
    erased.refresh()
    erased.erase(B, 200)
    erased.refresh()
    fresh.erase(B, 200)
    fresh.refresh()
    with erased.ledger() as one, fresh.ledger() as other:
        assert one.state_id == other.state_id


def test_every_site_has_a_receipt_and_the_one_whose_rows_are_others_a_certificate(pooling):
    pooling.refresh()
    pooling.erase(A, 150)
    pooling.refresh()
    for name in NAMES:
        texts = [path.read_text() for path in (pooling.disk.state(name) / RECEIPTS).iterdir()]
        for receipt in map(Receipt.from_json, texts):
            receipt.require_genuine()
        assert len(texts) == 2
        assert (pooling.disk.state(name) / CERTIFICATES).exists() == (name == A)
    [path] = (pooling.disk.state(A) / CERTIFICATES).iterdir()
    certificate = json.loads(path.read_text())
    require_genuine(certificate)
    assert (certificate["site"], certificate["former_version"], certificate["present_version"]) == (A, 1, 2)


def test_a_certificate_lists_the_results_of_states_that_held_the_rows(pooling):
    pooling.refresh()
    with pooling.ledger() as ledger:
        discover_stored(ledger, "fedrcd-ni")
    pooling.erase(A, 150)
    pooling.refresh()
    with pooling.ledger() as ledger:
        found, again = rediscover(ledger)
    assert ([one.method for one in found], again) == (["fedrcd-ni"], [])
    [path] = (pooling.disk.state(A) / CERTIFICATES).iterdir()
    [listed] = json.loads(path.read_text())["results_from_earlier_states"]
    assert listed["method"] == "fedrcd-ni"


def test_the_ledger_holds_no_numbers_but_the_total(pooling):
    """Once it was refreshed, nothing in its file or in its folder is a vector of a single site."""
    carrier = Carrier(pooling.services)
    pooling.refresh(carrier)
    vectors = [array.tobytes() for _, packet in carrier.received for array in packet.arrays if array.nbytes > 64]
    assert len(vectors) >= 2 * len(NAMES)
    for path in [pooling.path, *(one for one in (pooling.folder / "refresh").rglob("*") if one.is_file())]:
        data = path.read_bytes()
        assert not any(vector in data for vector in vectors)


def test_nothing_is_asked_where_no_edition_is_another(pooling):
    pooling.refresh()
    carrier = Carrier(pooling.services)
    assert not any(pooling.refresh(carrier).entries.values())
    asked = " ".join(json.dumps(packet.header) for _, packet in carrier.sent)
    assert "masked-call-request" in asked
    assert "masked-ask" not in asked


def test_afterwards_sites_have_neither_keys_nor_answers(pooling):
    pooling.refresh()
    for name in NAMES:
        with pooling.services[name].store() as store:
            rows = list(store._database.rows("SELECT run FROM masked_runs"))
            states = [store.masked.find(str(one))[1] for (one,) in rows]
        assert len(states) == 2
        assert {(state.stage, state.secret, state.vector) for state in states} == {(Stage.ENDED, "", b"")}


def test_few_erased_rows_wait_and_the_ledger_keeps_the_former_total(pooling):
    pooling.refresh()
    pooling.erase(A, 2)
    said = []
    refreshed = pooling.refresh(said=said)
    assert not any(refreshed.entries.values())
    assert list(refreshed.held_back) == [A]
    assert any("keeps the former total" in text for text in said)
    with pooling.ledger() as ledger:
        assert ledger.pooled()["tensor"].floats().count == sum(ROWS)


def test_groups_of_rows_are_added_over_the_sites_and_can_be_resampled(tmp_path):
    pooling = Pooling(tmp_path, rows=(1500, 1600, 1700), groups=10)
    pooling.refresh()
    with pooling.ledger() as ledger:
        drawn = bootstrap_stored(ledger, "fedrcd-ni", n_sampling=5, random_state=0)
        assert drawn.discovery.B.tobytes() == effects(pooling.in_process({}), "fedrcd-ni")
    assert verify_ledger(pooling.path) == []


def test_a_killed_coordinator_goes_on_with_the_same_answers(pooling, monkeypatch):
    """Killed between the answers and the ledger: masks are used once, sites repeat what they sent."""
    before = Carrier(pooling.services)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(MaskedTransport, "signed_run", property(killed))
        with pytest.raises(KeyboardInterrupt):
            pooling.refresh(before)
    after = Carrier(pooling.services)
    pooling.refresh(after)
    answers = [
        {array.tobytes() for _, packet in one.received for array in packet.arrays if array.nbytes > 64}
        for one in (before, after)
    ]
    assert answers[0] == answers[1]
    with pooling.ledger() as ledger:
        assert discover_stored(ledger).B.tobytes() == effects(pooling.in_process({}))


def test_receipts_come_later_where_the_coordinator_was_killed_before_it_told(pooling, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(MaskedRefresher, "_tell", killed)
        with pytest.raises(KeyboardInterrupt):
            pooling.refresh()
    assert not (pooling.disk.state(A) / RECEIPTS).exists()
    assert not any(pooling.refresh().entries.values())
    assert len(list((pooling.disk.state(A) / RECEIPTS).iterdir())) == 1


def test_a_site_that_is_missing_leaves_only_with_its_consent(tmp_path):
    """Without D the new total and the one before tell D's sums; whoever agreed to that may be left out."""
    names = (*NAMES, "hospital-d")
    rows = (*ROWS, 460)
    closed = Pooling(tmp_path / "closed", names=names, rows=rows)
    closed.refresh()
    with pytest.raises(SiteLost, match="has not agreed to it"):
        closed.refresh(names=NAMES)
    agreed = Pooling(tmp_path / "agreed", names=names, rows=rows, agree_to_differences=True)
    agreed.refresh()
    agreed.refresh(names=NAMES)
    with agreed.ledger() as ledger:
        assert discover_stored(ledger).B.tobytes() == effects(agreed.in_process({}, NAMES))
        assert {site for site, _ in ledger.roster.standings} == set(NAMES)


def test_a_ledger_of_totals_takes_no_contributions_and_gives_no_result_without_a_site(pooling):
    pooling.refresh()
    with pooling.ledger() as ledger:
        with pytest.raises(ProtocolError, match="holds masked totals"):
            ledger.leave(A)
        assert set(leave_one_site_out(ledger).impossible) == set(NAMES)


def refusals(pooling, site):
    with pooling.services[site].store() as store:
        return [entry.detail for entry in store.entries() if entry.outcome == Refusal.LEDGER]


def test_a_ledger_that_was_rolled_back_is_found(pooling):
    pooling.refresh()
    before = pooling.folder / "before.db"
    shutil.copy(pooling.path, before)
    pooling.erase(A, 150)
    pooling.refresh()
    shutil.copy(before, pooling.path)
    with pytest.raises(SiteLost):
        pooling.refresh(out="again")
    assert any("rewritten" in one for name in NAMES for one in refusals(pooling, name))


def lying_total(change):
    """A coordinator that enters something else than the sites have signed."""
    real = SignedTotal.content.fget

    def content(self):
        return change(real(self))

    return content


LIES = {
    "an edition": lambda content: {**content, "editions": dict.fromkeys(content["editions"], "another")},
    "rows": lambda content: {**content, "held": [[*one[:2], one[2] + 1, one[3]] for one in content["held"]]},
    "a site less": lambda content: {**content, "held": content["held"][1:]},
    "no answers": lambda content: {
        **content,
        "runs": {name: {**one, "answers": one["roll_calls"]} for name, one in content["runs"].items()},
    },
}


@pytest.mark.parametrize("lie", LIES)
def test_sites_do_not_acknowledge_a_total_that_they_have_not_signed(pooling, monkeypatch, lie):
    monkeypatch.setattr(SignedTotal, "check", lambda *_: None)
    monkeypatch.setattr(SignedTotal, "content", property(lying_total(LIES[lie])))
    with pytest.raises(SiteLost):
        pooling.refresh()
    assert not any((pooling.disk.state(name) / RECEIPTS).exists() for name in NAMES)
    assert all(refusals(pooling, name) for name in NAMES)


def test_the_verification_names_what_was_changed(pooling):
    pooling.refresh()
    assert verify_ledger(pooling.path) == []
    with pooling.ledger() as ledger:
        payload = bytearray(ledger.payload(PLACE))
        payload[-3] ^= 1
        with ledger._database.changes():
            ledger._database.run("UPDATE contributions SET payload = ?", bytes(payload))
    assert [str(one) for one in verify_ledger(pooling.path)] == [
        "the total: its bytes are not those that were acknowledged"
    ]
    with pooling.ledger() as ledger, ledger._database.changes():
        ledger._database.run("DELETE FROM contributions")
    assert [str(one) for one in verify_ledger(pooling.path)] == ["the total: it is missing"]


def test_a_total_that_the_sites_did_not_sign_is_named_by_the_verification(pooling, monkeypatch):
    """By a coordinator that has the ledger's key, and writes what it likes."""
    monkeypatch.setattr(SignedTotal, "check", lambda *_: None)
    monkeypatch.setattr(SignedTotal, "content", property(lying_total(LIES["no answers"])))
    with pytest.raises(SiteLost):
        pooling.refresh()
    [problem] = verify_ledger(pooling.path)
    assert problem.record == "entry 2"


def test_the_commands_open_show_verify_and_certify_a_ledger_of_totals(pooling):
    cli, path = CliRunner(), str(pooling.folder / "other.db")
    made = cli.invoke(app, ["ledger", "new", path, "--federation", str(pooling.disk.file), "--masked"])
    assert "masked: it holds totals" in made.stdout
    pooling.refresh()
    pooling.erase(A, 150)
    pooling.refresh()
    shown = cli.invoke(app, ["ledger", "show", str(pooling.path)]).stdout
    assert "one total over the rows of all these sites" in shown
    assert f"total over {A}, {B}, {C}" in shown
    assert "every record is as it was written" in cli.invoke(app, ["ledger", "verify", str(pooling.path)]).stdout
    page = pooling.folder / "certificate.html"
    asked = ["ledger", "certificate", str(pooling.path), "3", "--site", A, "--out", str(page)]
    assert cli.invoke(app, asked).exit_code == 0
    assert "Certificate of erasure" in page.read_text()
    refused = cli.invoke(app, [*asked[:5], B, *asked[6:]])
    assert isinstance(refused.exception, ConfigError)
    assert "took out no sums" in str(refused.exception)


def test_a_ledger_of_totals_is_refused_where_masks_hide_nobody(pooling):
    two = replace(pooling.federation, sites=pooling.federation.sites[:2], blocks=pooling.federation.blocks[:2])
    write_federation(pooling.folder / "two.toml", two)
    asked = ["ledger", "new", str(pooling.folder / "two.db"), "--federation", str(pooling.folder / "two.toml")]
    done = CliRunner().invoke(app, [*asked, "--masked"])
    assert "masks hide nobody among 2 sites" in str(done.exception)
    assert not (pooling.folder / "two.db").exists()
