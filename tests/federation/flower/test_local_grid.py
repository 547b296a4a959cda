"""The same ServerApp and ClientApp over a Grid in this process: every method, bit for bit, and many sites."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from fedrcd.data.federation import BlockEntry
from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.gather import RetryPolicy, SiteLost
from fedrcd.federation.coordinator.run_folder import Status
from fedrcd.federation.coordinator.saved_finding import read_finding
from fedrcd.federation.flower import client
from fedrcd.federation.flower.courier import GridCourier, exchange, find_nodes
from fedrcd.federation.flower.local_grid import LocalGrid
from fedrcd.federation.flower.records import from_records, to_records
from fedrcd.federation.flower.server import app as server_app
from fedrcd.federation.flower.server import conduct, plan_of
from fedrcd.federation.messages.envelope import is_message
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import unpack_reply
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from fedrcd.protocol.wire import Packet
from tests.federation.sites import NAMES, OnDisk, horizontal, scattered

FEDERATED = [name for name, card in METHODS.items() if not card.one_table]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return horizontal(tmp_path_factory.mktemp("federation"), p=4, rows=(300, 310, 2100))


@pytest.fixture
def disk(tables, tmp_path):
    """The federation with logs and results of this test's own."""
    return tables.apart(tmp_path)


def reference(disk, method, arithmetic="exact"):
    transport = disk.in_process(arithmetic=arithmetic)
    return run(build(method).rounds(transport.setting), transport), transport.traffic


def same(one, other):
    return (
        np.array_equal(one.order, other.order)
        and np.array_equal(one.B, other.B)
        and np.array_equal(one.marginals.cov, other.marginals.cov)
        and all(np.array_equal(a.scores, b.scores) for a, b in zip(one.steps, other.steps, strict=True))
    )


@pytest.mark.parametrize("arithmetic", ["exact", "compact", "float"])
@pytest.mark.parametrize("method", FEDERATED)
def test_every_method_gives_the_result_of_one_process_to_the_bit(disk, method, arithmetic):
    outcome = conduct(disk.plan(method, arithmetic=arithmetic), LocalGrid(disk.settings_files()))
    expected, traffic = reference(disk, method, arithmetic)
    assert same(outcome.estimate, expected)
    assert same(read_finding(disk.plan().folder).estimate, expected)  # the file keeps every bit too
    assert (outcome.rounds, outcome.bytes_sent) == (traffic.rounds, traffic.bytes_sent)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", ["fedrcd-sp", "fedrcd-x", "fedrcd-ni"])
def test_shared_rows_and_several_blocks_give_the_result_of_one_process(tmp_path, method, arithmetic):
    disk = scattered(tmp_path)
    outcome = conduct(disk.plan(method, arithmetic=arithmetic), LocalGrid(disk.settings_files()))
    assert same(outcome.estimate, reference(disk, method, arithmetic)[0])


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-x", "fed-direct"])
def test_sites_that_trim_give_the_result_of_the_rows_they_keep(tmp_path, method, arithmetic):
    disk = horizontal(tmp_path, p=4, rows=(300, 310, 2100))
    names = disk.federation.variables
    frame = [disk.federation.frame[name] for name in names]
    centre, scale = (np.array([getattr(one, key) for one in frame]) for key in ("centre", "scale"))
    kept = {}
    for number, site in enumerate(NAMES):
        rows = disk.in_process_rows(site)
        rows[number::50, number] *= 1e4  # decimal points
        write_table(disk.data(site), Table(rows, columns=names, source=site))
        kept[site] = rows[(np.abs((rows - centre) / scale) <= 8).all(axis=1)]
    sizes = tuple(BlockEntry(site, len(rows)) for site, rows in kept.items())
    trimmed = OnDisk(
        tmp_path / "kept",
        replace(disk.federation, blocks=sizes),
        {site: (rows, names) for site, rows in kept.items()},
    )
    outcome = conduct(disk.plan(method, arithmetic=arithmetic), LocalGrid(disk.settings_files(trim=8.0)))
    assert outcome.estimate.marginals.rows == sum(map(len, kept.values())) < 2710
    assert same(outcome.estimate, reference(trimmed, method, arithmetic)[0])


def test_many_sites_give_the_result_of_one_process(tmp_path):
    """A thousand do in `make bench`."""
    names = tuple(f"s{k:04}" for k in range(120))
    disk = horizontal(tmp_path, p=4, rows=(110,) * 120, names=names)
    outcome = conduct(disk.plan("fedrcd-s"), LocalGrid(disk.settings_files()))
    assert len(outcome.sites) == 120
    assert same(outcome.estimate, reference(disk, "fedrcd-s")[0])


def test_the_server_app_runs_a_plan(disk):
    plan = disk.plan()
    plan.write()
    config = {"plan": plan.folder, "federation": "", "method": "", "out": ""}
    context = Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config=config)
    server_app(LocalGrid(disk.settings_files()), context)
    assert read_finding(plan.folder).sites == NAMES


def test_without_a_plan_the_run_configuration_is_one(disk):
    config = {
        "plan": "",
        "federation": str(disk.file),
        "method": "fedrcd-x",
        "out": str(disk.folder / "o"),
        "by-key": False,
    }
    context = Context(run_id=7, node_id=0, node_config={}, state=RecordDict(), run_config=config)
    plan = plan_of(context)
    assert (plan.settings.method, plan.by_key, plan.run) == ("fedrcd-x", False, "flower-7")
    with pytest.raises(ValueError, match="needs 'method', a text"):
        plan_of(Context(run_id=7, node_id=0, node_config={}, state=RecordDict(), run_config={**config, "method": 3}))


def test_what_goes_wrong_is_in_the_status_file(disk):
    plan = disk.plan()
    with pytest.raises(ProtocolError):
        conduct(plan, LocalGrid(disk.settings_files()[:2]))
    status = Status.read(plan.folder)
    assert status.state == "failed"
    assert "'hospital-c'" in status.error
    assert status.exit_code == ProtocolError.exit_code


def test_two_nodes_of_one_name_are_refused(disk):
    files = disk.settings_files()
    with pytest.raises(ProtocolError, match="two nodes say they are site 'hospital-a'"):
        find_nodes(LocalGrid([*files, files[0]]), disk.federation, by_key=False, seconds=0)


def test_by_key_a_node_without_one_is_nobody(disk):
    with pytest.raises(ProtocolError, match="no key of site 'hospital-a'"):
        find_nodes(LocalGrid(disk.settings_files()), disk.federation, by_key=True, seconds=0)


# apps that misbehave


def conduct_with(disk, app, **changes):
    plan = disk.plan("fedrcd-x", retry_policy=RetryPolicy(deadline=240.0, give_up_after=0.0), **changes)
    grid = LocalGrid(disk.settings_files(), app)
    return conduct(plan, grid)


def app_that(answer):
    app = ClientApp()

    @app.query("ask")
    def on_question(message, context):
        return answer(message, context)

    app.query("name")(client.on_name)
    return app


def test_an_app_that_raises_loses_its_site_and_its_text_is_not_shown(disk):
    def fail(message, context):
        raise RuntimeError("patient 4711")

    with pytest.raises(SiteLost, match="failed before it could answer") as caught:
        conduct_with(disk, app_that(fail))
    assert "4711" not in str(caught.value)
    assert "4711" not in Status.read(disk.plan().folder).error


def test_an_app_that_answers_with_rows_is_not_believed(disk):
    def leak(message, context):
        return Message(RecordDict({"rows": ArrayRecord([np.ones((5, 4))])}), reply_to=message)

    with pytest.raises(SiteLost, match="not a reply"):
        conduct_with(disk, app_that(leak))


def test_an_app_that_repeats_an_old_answer_is_not_believed(disk):
    kept = {}

    def repeat(message, context):
        node = message.metadata.dst_node_id
        if is_message(from_records(message.content)):  # the roll call
            return client.on_question(message, context)
        if node not in kept:
            kept[node] = client.on_question(message, context).content
        return Message(kept[node], reply_to=message)

    with pytest.raises(SiteLost, match="answered another question"):
        conduct_with(disk, app_that(repeat))


class Twice(LocalGrid):
    """Delivers every reply twice, and strangers' replies besides."""

    def pull_messages(self, message_ids):
        replies = list(super().pull_messages(message_ids))
        return [copy for reply in replies for copy in (reply, reply)]


def test_a_reply_that_comes_twice_counts_once(disk):
    outcome = conduct(disk.plan("fedrcd-x"), Twice(disk.settings_files()))
    assert same(outcome.estimate, reference(disk, "fedrcd-x")[0])


class Silent(LocalGrid):
    """Never replies."""

    def pull_messages(self, message_ids):  # noqa: ARG002
        return []


def test_silence_ends_at_the_deadline(disk):
    nodes = {name: number for number, name in enumerate(NAMES, 1)}
    courier = GridCourier(Silent(disk.settings_files()), nodes, poll=0.01)
    came = dict(courier.deliver({NAMES[0]: Packet({}, ())}, 0.2))
    assert came == {NAMES[0]: "did not answer in time"}


class Swapped(LocalGrid):
    """Says that a reply comes from another node."""

    def pull_messages(self, message_ids):
        replies = list(super().pull_messages(message_ids))
        for reply in replies:
            reply.metadata.__dict__["_src_node_id"] = 99
        return replies


def test_a_reply_of_another_node_is_none(disk):
    nodes = {name: number for number, name in enumerate(NAMES, 1)}
    courier = GridCourier(Swapped(disk.settings_files()), nodes)
    assert dict(courier.deliver({NAMES[0]: Packet({}, ())}, 1.0)) == {NAMES[0]: "was answered for by another node"}


def test_messages_that_could_not_be_pushed_are_silence(disk):
    class Full(LocalGrid):
        def push_messages(self, messages):  # noqa: ARG002
            return []

    full = Full(disk.settings_files())  # first: without a grid no message can be made
    message = Message(RecordDict(), 1, client.NAME)
    assert list(exchange(full, {"a": message}, 1.0, 0.01)) == [("a", None)]


# the client


def reply_of(content, config):
    context = Context(run_id=1, node_id=1, node_config=config, state=RecordDict(), run_config={})
    return unpack_reply(client.answer(content, context))


def test_a_hang_is_answered_at_the_deadline(disk, monkeypatch):
    settings = disk.settings_files(deadline=0.2)[0]
    asked, over = threading.Event(), threading.Event()

    def hang(*_):
        asked.set()
        over.wait()

    monkeypatch.setattr("fedrcd.federation.site.service.read_tables", hang)
    grid = LocalGrid([settings])
    with pytest.raises(SiteLost, match="its own deadline"):
        conduct(disk.plan(allow_missing=True, retry_policy=RetryPolicy(deadline=240.0, give_up_after=0.0)), grid)
    assert asked.is_set()
    over.set()


def test_in_the_simulation_of_flower_nodes_are_numbered(disk):
    disk.settings_files()
    config = {"sites": str(disk.folder / "state")}
    for number, name in enumerate(NAMES):
        node = {"partition-id": number, "num-partitions": 3}
        context = Context(run_id=1, node_id=1, node_config=node, state=RecordDict(), run_config=config)
        assert client.site_settings(context).name == name


def test_a_node_that_was_not_set_up_refuses(disk):
    assert reply_of(RecordDict(), {}).refusal is Refusal.FAILED
    assert reply_of(RecordDict(), {"settings": "/nowhere/site.json"}).refusal is Refusal.FAILED
    assert reply_of(RecordDict(), {"settings": disk.settings_files()[0]}).refusal is Refusal.MESSAGE


@pytest.mark.parametrize(
    "records",
    [
        {},
        {"fedrcd": ConfigRecord({"header": "{}"})},
        {"fedrcd": ConfigRecord({"header": 3}), "arrays": ArrayRecord()},
        {"fedrcd": ConfigRecord({"header": "{"}), "arrays": ArrayRecord()},
        {"fedrcd": ArrayRecord(), "arrays": ArrayRecord()},
        {"fedrcd": ConfigRecord({"header": "{}"}), "arrays": ArrayRecord([np.ones(2)]), "more": ConfigRecord()},
    ],
)
def test_records_of_another_form_are_refused(records):
    with pytest.raises(ProtocolError):
        from_records(RecordDict(records))


def test_packets_keep_every_bit_in_records():
    numbers = np.array([0.1, -0.0, np.nextafter(1, 2), 5e-324, np.inf])
    whole = np.array([[2**63 - 1, -(2**63)]])
    packet = from_records(to_records(Packet({"a": [1, None, "é"]}, (numbers, whole, np.array([True])))))
    assert packet.header == {"a": [1, None, "é"]}
    assert [array.tobytes() for array in packet.arrays] == [numbers.tobytes(), whole.tobytes(), b"\x01"]
    assert [array.dtype for array in packet.arrays] == [np.float64, np.int64, np.bool_]
