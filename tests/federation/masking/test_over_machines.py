"""Masked runs over machines: the bits of the clear, and nothing answered that does not belong to the run."""

import json
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from typer.testing import CliRunner

from fedrcd.cli.main import app
from fedrcd.data.federation import write_federation
from fedrcd.federation.coordinator.masked import MaskedTransport
from fedrcd.federation.coordinator.recorded_answers import ANSWERS
from fedrcd.federation.masking.signed_result import SIGNATURES
from fedrcd.federation.masking.site_run import Stage
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from tests.federation.masking.machines import Relay, apart, conducted, keyed, with_keys
from tests.federation.sites import NAMES

ONCE = [name for name, card in METHODS.items() if card.rounds.once and not card.one_table]
REPLAYED = [name for name, card in METHODS.items() if card.replayed and not card.one_table]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return keyed(tmp_path_factory.mktemp("federation"), p=3, rows=(400, 410, 420))


@pytest.fixture
def disk(tables, tmp_path):
    """The federation with stores and results of this test's own."""
    return apart(tables, tmp_path)


def same(one, other):
    bits = ((a.order.tolist(), a.B.tobytes(), a.marginals.cov.tobytes()) for a in (one, other))
    return len(set(map(repr, bits))) == 1


def reference(disk, method, arithmetic="exact"):
    transport = disk.in_process(arithmetic=arithmetic)
    return run(build(method).rounds(transport.setting), transport)


def states(disk, number):
    """What every site has of a run."""
    found = {}
    for site in disk.federation.sites:
        with disk.service(site.name).store() as store:
            found[site.name] = store.masked.find(number)
    return found


@pytest.mark.parametrize("method", ONCE)
def test_every_method_that_asks_once_has_the_bits_of_the_clear(disk, method):
    found = conducted(disk, Relay(disk), method)
    assert same(found.estimate, reference(disk, method))
    assert found.rounds == 1


@pytest.mark.parametrize("method", REPLAYED)
def test_every_method_that_is_replayed_has_the_bits_of_the_clear_at_sites_that_trust_nobody(disk, method):
    found = conducted(disk, Relay(disk), method)
    assert same(found.estimate, reference(disk, method))
    assert found.rounds == METHODS[method].rounds(3)


@pytest.mark.parametrize("rounds", [0, 1, 2])
@pytest.mark.parametrize("answered", [0, 2])
def test_a_run_whose_coordinator_was_killed_goes_on_where_it_stopped(disk, rounds, answered):
    """After so many rounds, and so many answers to the next; nobody computes or sends anything else than before."""
    real, first = MaskedTransport._record, Relay(disk)

    def killed(self, number, site, reply):
        if number == rounds + 1 and site == NAMES[answered]:
            raise KeyboardInterrupt
        real(self, number, site, reply)

    with patch.object(MaskedTransport, "_record", killed), pytest.raises(KeyboardInterrupt):
        conducted(disk, first, "fed-direct")
    again = Relay(disk)
    assert same(conducted(disk, again, "fed-direct").estimate, reference(disk, "fed-direct"))
    answers = [
        (site, reply.statement) for one in (first, again) for site, _, reply in one.sent if hasattr(reply, "vector")
    ]
    assert len(set(answers)) == 3 * len(NAMES)
    assert not (disk.folder / "result" / ANSWERS).exists()


def test_every_site_has_the_result_of_its_own_replay(disk):
    found = conducted(disk, Relay(disk), "fedrcd-x")
    for name in NAMES:
        with disk.service(name).store() as store:
            [text] = store.masked.results().values()
        result = json.loads(text)
        assert result["order"] == found.estimate.order.tolist()
        assert (np.array(result["effects"]) == found.estimate.B).all()


@pytest.mark.parametrize(("method", "says"), [("fedrcd-x", "found this order"), ("fedrcd-ni", "were told this result")])
def test_a_result_is_verified_by_the_federation_file_alone(disk, method, says):
    conducted(disk, Relay(disk), method)
    folder = disk.folder / "result"
    done = CliRunner().invoke(app, ["verify", str(folder), "--federation", str(disk.file)])
    assert "signed by hospital-a, hospital-b, hospital-c" in done.stdout
    assert says in done.stdout


def test_keys_that_one_machine_made_are_said_with_the_result(tmp_path):
    disk = keyed(tmp_path, p=3, rows=(400, 410, 420))
    assert conducted(disk, Relay(disk), "fedrcd-ni").warnings == ()
    disk = disk.apart(tmp_path / "trial")
    disk.federation = replace(disk.federation, development_keys=True)
    write_federation(disk.file, disk.federation)
    [told] = conducted(with_keys(disk, tmp_path / "trial"), Relay(disk), "fedrcd-ni").warnings
    assert "THE MASKS OF THIS RUN HIDE NOTHING" in told


def changed_result(folder):
    found = json.loads((folder / "finding.json").read_text())
    B = found["estimate"]["B"]
    i, j = next((i, j) for i, row in enumerate(B) for j, value in enumerate(row) if value)
    B[i][j] *= 1 + 1e-15
    (folder / "finding.json").write_text(json.dumps(found))


def changed_signatures(change):
    def do(folder):
        content = json.loads((folder / SIGNATURES).read_text())
        change(content)
        (folder / SIGNATURES).write_text(json.dumps(content))

    return do


LIES = {
    "another site signed": (changed_signatures(lambda c: c["ends"].reverse()), "signature"),
    "a site is missing": (changed_signatures(lambda c: c["ends"].pop()), "2 of 3 sites have signed"),
    "another result": (changed_result, "signed another result"),
    "other terms": (
        changed_signatures(lambda c: c.update(terms=c["terms"].replace('"expires":', '"expires":1'))),
        "signed other terms",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_result_that_was_not_signed_is_not_verified(disk, lie):
    conducted(disk, Relay(disk), "fedrcd-ni")
    change, message = LIES[lie]
    change(disk.folder / "result")
    done = CliRunner().invoke(app, ["verify", str(disk.folder / "result"), "--federation", str(disk.file)])
    assert message in str(done.exception)


def test_afterwards_no_site_has_keys_or_answers(disk):
    relay = Relay(disk)
    conducted(disk, relay)
    [number] = {asked.run for _, asked, _ in relay.sent if hasattr(asked, "question")}
    for _, state in states(disk, number).values():
        assert (state.stage, state.secret, state.vector, state.reason) == (Stage.ENDED, "", b"", "finished")
    assert list(states(disk, number)) == list(NAMES)
