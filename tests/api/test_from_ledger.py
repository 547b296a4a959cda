"""Discovery from a ledger: the results of a run over the sites, without asking them."""

import json

import numpy as np
import pytest

from fedrcd import Discovery
from fedrcd.api.from_ledger import discover_stored, leave_one_site_out, rediscover
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, OutlierWarning, ProtocolError
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.transport import LedgerTransport
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import in_process
from fedrcd.statistics.frame import Frame
from tests.federation.living import TRIAL, configured, contribution, federation_of, put, sample

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")

P = 4
FEDERATION = federation_of(P, ("a", "b"))
X = sample(P, 600, noise="gamma")
ONE_ROUND = [name for name, card in METHODS.items() if card.erasable and not card.one_table]
OTHERS = [name for name, card in METHODS.items() if name not in ONE_ROUND]


def filled(path, configuration):
    ledger = Ledger.create(path, configuration, TRIAL)
    for site, rows in (("a", X[:250]), ("b", X[250:])):
        put(ledger, contribution(configuration, FEDERATION, site, rows))
    return ledger


@pytest.fixture
def ledger(tmp_path):
    with filled(tmp_path / "ledger.db", configured(FEDERATION)) as opened:
        yield opened


@pytest.mark.parametrize("arithmetic", ["exact", "compact"])
@pytest.mark.parametrize("method", ONE_ROUND)
def test_every_one_round_method_gives_the_bits_of_a_run_over_the_sites(method, arithmetic, tmp_path):
    configuration = configured(FEDERATION, arithmetic)
    blocks = [
        Table(rows, site, f"block-{site}", columns=FEDERATION.variables)
        for site, rows in (("a", X[:250]), ("b", X[250:]))
    ]
    transport = in_process(blocks, FEDERATION.variables, frame=configuration.frame, grid=configuration.grid)
    direct = run(build(method).rounds(transport.setting), transport)
    with filled(tmp_path / "ledger.db", configuration) as ledger:
        found = discover_stored(ledger, method)
    assert found.B.tobytes() == direct.B.tobytes()
    assert [step.margin for step in found.trace] == [step.margin for step in direct.steps]
    assert (found.rounds, found.bytes_sent, found.sites, found.rows) == (0, 0, 2, 600)


@pytest.mark.parametrize("method", OTHERS)
def test_other_methods_say_what_they_need(method, ledger):
    entries = len(ledger.entries)
    with pytest.raises(ProtocolError, match=r"new run over them: fedrcd coordinator run|needs all rows in one table"):
        discover_stored(ledger, method)
    assert len(ledger.entries) == entries


def test_the_transport_itself_answers_no_later_questions(ledger):
    transport = LedgerTransport.of(ledger)
    setting = transport.setting
    for question in (setting.residual_pairs(4, np.eye(P)), setting.pairs(4, complete=True)):
        with pytest.raises(ProtocolError, match="needs a new run"):
            transport.pool(question)
    other = in_process(
        [Table(X, "a", "x", columns=FEDERATION.variables)], FEDERATION.variables, frame=Frame.identity(P)
    )
    with pytest.raises(ProtocolError, match="another frame"):
        transport.pool(other.setting.pairs(4))


def test_a_ledger_of_pair_sums_runs_the_pair_methods(tmp_path):
    with filled(tmp_path / "ledger.db", configured(FEDERATION, families=("pairs/4",))) as ledger:
        assert discover_stored(ledger).method == "fedrcd-sp"
        with pytest.raises(ProtocolError, match="new run"):
            discover_stored(ledger, "fedrcd-t")


def test_results_carry_the_state_and_the_ledger_lists_them(ledger):
    found = discover_stored(ledger, "fedrcd-ni", weights="bic")
    listed = ledger.roster.results[-1]
    assert found.state_id == ledger.state_id == listed.state
    assert (listed.method, listed.options["weights"]) == ("fedrcd-ni", "bic")
    again = Discovery.from_json(found.to_json())
    assert again.state_id == found.state_id


def test_results_without_a_state_are_written_as_before(ledger):
    content = json.loads(discover_stored(ledger, "fedrcd-ni").to_json())
    assert content.pop("state_id")
    old = Discovery.from_json(json.dumps(content))
    assert old.state_id == ""
    assert "state_id" not in json.loads(old.to_json())


def test_all_listed_results_are_computed_anew(ledger):
    discover_stored(ledger, "fedrcd-ni", weights="none")
    discover_stored(ledger, "fedrcd-s")
    ledger.record_result("fedrcd-x", METHODS["fedrcd-x"].resolve({}), "by a run over the sites")
    ledger.leave("b")
    found, again = rediscover(ledger)
    assert [(one.method, one.rows, one.state_id) for one in found] == [
        ("fedrcd-ni", 250, ledger.state_id),
        ("fedrcd-s", 250, ledger.state_id),
    ]
    assert found[0].options["weights"] == "none"
    assert len(again) == 1
    assert "fedrcd-x" in again[0]


def test_an_empty_state_has_no_result(tmp_path):
    with (
        Ledger.create(tmp_path / "ledger.db", configured(FEDERATION), TRIAL) as ledger,
        pytest.raises(ProtocolError, match="no contr"),
    ):
        discover_stored(ledger)


def test_wrong_options_are_refused_before_anything_is_listed(ledger):
    entries = len(ledger.entries)
    with pytest.raises(ConfigError):
        discover_stored(ledger, "fedrcd-s", colour="red")
    with pytest.raises(ConfigError):
        discover_stored(ledger, "fedrcd-sss")
    assert len(ledger.entries) == entries


def test_clipped_values_are_told(tmp_path):
    configuration = configured(FEDERATION, "compact")
    far = X.copy()
    far[:3] *= 1e4
    with Ledger.create(tmp_path / "ledger.db", configuration, TRIAL) as ledger:
        put(ledger, contribution(configuration, FEDERATION, "a", far))
        with pytest.warns(OutlierWarning, match="clipped"):
            discover_stored(ledger, "fedrcd-ni")


@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-ni"])
def test_without_a_site_the_ledger_gives_what_a_ledger_of_the_others_does(method, ledger, tmp_path):
    entries = len(ledger.entries)
    left_out = leave_one_site_out(ledger, method)
    assert len(ledger.entries) == entries + 1  # the result; the others are only told
    assert left_out.found.to_json() == discover_stored(ledger, method).to_json()
    for site, other, rows in (("a", "b", X[250:]), ("b", "a", X[:250])):
        with Ledger.create(tmp_path / f"{site}.db", ledger.configuration, TRIAL) as alone:
            put(alone, contribution(ledger.configuration, FEDERATION, other, rows))
            expected = discover_stored(alone, method)
        order, B = left_out.without[site]
        assert order == expected.order
        assert B.tobytes() == expected.B.tobytes()
    assert left_out.table()["without"].tolist() == ["a", "b"]
    assert ledger.state_digest() == ledger.state_id


def test_a_site_that_cannot_be_spared_is_named(tmp_path):
    with Ledger.create(tmp_path / "l.db", configured(FEDERATION), TRIAL) as ledger:
        put(ledger, contribution(ledger.configuration, FEDERATION, "a", X[:250]))
        left_out = leave_one_site_out(ledger)
    assert left_out.table().empty
    assert left_out.impossible == {"a": "no contribution is in the state of the ledger"}


def test_knowledge_is_kept_and_remembered(ledger):
    free = discover_stored(ledger, "fedrcd-s")
    known = Knowledge(tiers=[[name] for name in reversed(free.order)])
    found = discover_stored(ledger, "fedrcd-s", knowledge=known)
    assert list(found.order) == list(reversed(free.order))
    put(ledger, contribution(ledger.configuration, FEDERATION, "a", X[:240], version=2, purpose="erase"))
    [again], _ = rediscover(ledger)
    assert again.order == found.order
    for order, B in leave_one_site_out(ledger, "fedrcd-s", knowledge=known).without.values():
        assert known.violations(B, order, found.names) == []


def test_a_result_records_the_arithmetic_and_the_knowledge_it_keeps_to(ledger):
    names = FEDERATION.variables
    found = discover_stored(ledger, "fedrcd-s", knowledge=Knowledge(sinks=[names[0]]))
    assert json.loads(found.to_json())["settings"] == {"arithmetic": "exact", "knowledge": {"sinks": [names[0]]}}


def test_auto_has_no_options_of_its_own_here_either(ledger):
    with pytest.raises(ConfigError, match="auto has no option 'negentropy'"):
        discover_stored(ledger, negentropy="edgeworth")
