"""What hostile bytes can do: nothing but be refused, be logged in one line, and lose the site that sent them."""

import json

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp

from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.gather import RetryPolicy
from fedrcd.federation.flower import client, courier
from fedrcd.federation.flower.local_grid import LocalGrid
from fedrcd.federation.flower.records import ARRAYS, HEADER, TEXT, from_records, to_records
from fedrcd.federation.flower.server import conduct
from fedrcd.federation.messages.envelope import is_message, pack_message
from fedrcd.federation.messages.printable import printable
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request, pack_request, unpack_reply
from fedrcd.federation.messages.roll_call import Plan, RollCallRequest
from fedrcd.federation.site import log
from fedrcd.federation.site.log import LONGEST_DETAIL
from fedrcd.protocol.wire import Packet, unpack
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.tensor_sums import TensorSums
from tests.federation.flower.mutations import Mutations, _claimed, deep
from tests.federation.sites import NAMES, horizontal, logged

A, B, C = NAMES
MUTATED = 3000
"""A sample; `make verify` reads a million."""


def test_mutated_messages_are_refused_or_understood():
    mutations = Mutations()
    for seed in range(MUTATED):
        mutations.read(seed)
    assert mutations.accepted > 50
    assert mutations.accepted + mutations.refused == MUTATED


def records(header, *arrays):
    return RecordDict(
        {
            HEADER: ConfigRecord({TEXT: header if isinstance(header, str) else json.dumps(header)}),
            ARRAYS: ArrayRecord({str(k): array for k, array in enumerate(arrays)}),
        }
    )


HUGE = _claimed("<f8", "False", "(1099511627776,)", b"")


def test_believing_the_header_of_an_array_asks_for_eight_tebibytes():
    with pytest.raises((MemoryError, ValueError)):  # the latter where the system promises any memory
        HUGE.numpy()
    with pytest.raises(ProtocolError, match="not as long as its shape says"):
        from_records(records({}, HUGE))


@pytest.mark.parametrize("shape", ["(True,)", "(0, 1152921504606846976)", "(-1, -3)", "(1.0,)", "('a',)", "3"])
def test_shapes_that_no_array_has_are_refused(shape):
    with pytest.raises(ProtocolError):
        from_records(records({}, _claimed("<f8", "False", shape, bytes(8 * (shape == "(True,)")))))


@pytest.mark.parametrize("values", [np.array(["patient"]), np.array([1j]), np.ones((1,) * 9)])
def test_arrays_of_other_numbers_or_axes_do_not_arrive(values):
    with pytest.raises(ProtocolError):
        from_records(records({}, Array(values)))


@pytest.mark.parametrize(
    "header",
    [
        deep(100_000),
        "9" * 5000,
        f'"{"x" * 2**24}"',
        {"kind": "grid/1", "fields": {"bits": 2**63, "limit": 64}},
        {"kind": "frame/1", "fields": {"centre": {"float": "0x1p+9999"}, "scale": {"array": 0}}},
        {"kind": "frame/1", "fields": {"centre": {"map": [[{"map": []}, 1]]}, "scale": {"array": 0}}},
        {"kind": "frame/1", "fields": {"centre": {"array": 0}, "scale": {"array": 0}}},
    ],
)
def test_headers_that_nobody_sends_are_refused(header):
    with pytest.raises(ProtocolError):
        unpack(from_records(records(header, Array(np.array([[True]])))), (Frame, TensorSums))


def test_arrays_arrive_to_the_bit_whatever_their_order():
    columns = np.asfortranarray(np.random.default_rng(0).normal(size=(3, 4)))
    for values in (columns, np.ascontiguousarray(columns), np.arange(5) * 10**12, np.arange(5), np.empty((0, 3))):
        [came] = from_records(to_records(Packet({}, (values,)))).arrays
        assert came.dtype == values.dtype
        assert np.array_equal(came, values)


# a site that sends such replies is lost; a run that may go on without it goes on


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return horizontal(tmp_path_factory.mktemp("federation"), p=3, rows=(400, 410, 420))


@pytest.fixture
def disk(tables, tmp_path):
    return tables.apart(tmp_path)


def with_header(true, **changes):
    packet = from_records(true)
    return to_records(Packet({**packet.header, **changes}, packet.arrays))


REPLIES = {
    "an array of 8 TiB": lambda true: records(json.loads(true[HEADER][TEXT]), HUGE),
    "lists in lists": lambda _: records(deep(100_000)),
    "a refusal that cannot be hashed": lambda true: with_header(true, refusal=[]),
    "a refusal that is none": lambda true: with_header(true, refusal="weather"),
    "text": lambda _: RecordDict({"c": ConfigRecord({"x": "y"})}),
    "a name with escapes": lambda true: with_header(true, site="\x1b[2J" * 10**5),
    "strings": lambda true: records(json.loads(true[HEADER][TEXT]), *[Array(np.array(["x"]))] * 9),
    "infinite sums": lambda true: to_records(
        Packet(from_records(true).header, tuple(one * np.inf for one in from_records(true).arrays))
    ),
}


def answered_by_a_liar(disk, kind, arithmetic):
    """A run that may go on without site B, which sends hostile replies."""
    app = ClientApp()

    @app.query("ask")
    def on_question(message, context):
        true = client.on_question(message, context)
        if client.site_settings(context).name != B or is_message(from_records(message.content)):
            return true
        return Message(REPLIES[kind](true.content), reply_to=message)

    app.query("name")(client.on_name)
    policy = RetryPolicy(deadline=240.0, give_up_after=0.0)
    plan = disk.plan("fedrcd-ni", retry_policy=policy, allow_missing=True, arithmetic=arithmetic)
    with np.errstate(invalid="ignore"):
        return conduct(plan, LocalGrid(disk.settings_files(), app))


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("kind", REPLIES)
def test_a_hostile_reply_loses_its_site_and_not_the_run(disk, kind, arithmetic):
    found = answered_by_a_liar(disk, kind, arithmetic)
    assert (found.sites, found.missing) == ((A, C), (B,))
    [warning] = found.warnings
    assert warning.isprintable()
    assert len(warning) < 1000


@pytest.mark.parametrize("kind", ["an array of 8 TiB", "lists in lists", "text"])
def test_where_messages_are_believed_such_a_reply_ends_the_run(disk, kind, monkeypatch):
    def believed(records):
        arrays = records[ARRAYS]
        return Packet(json.loads(records[HEADER][TEXT]), tuple(arrays[str(k)].numpy() for k in range(len(arrays))))

    monkeypatch.setattr(courier, "from_records", believed)
    with pytest.raises((MemoryError, ValueError, RecursionError, KeyError)):
        answered_by_a_liar(disk, kind, "exact")


# whatever a site is asked is in its log, in one line, short, without control characters


def test_what_cannot_be_read_is_logged(disk):
    service = disk.service(B)
    reply = unpack_reply(service.respond(Packet({"fedrcd": "nonsense\x1b[2J" * 10**5}, ())))
    assert reply.refusal is Refusal.MESSAGE
    [entry] = logged(service)
    assert (entry.outcome, entry.question) == ("message", "a message that cannot be read")


@pytest.mark.parametrize("name", ["\x1b[2J\x07", "r" * 20_000_000, "a\nb"])
def test_a_run_of_such_a_name_is_refused(disk, name):
    service = disk.service(B)
    question = disk.in_process().setting.pairs(4)
    plan = Plan("fedrcd-s", {}, "exact", 0, check=False)
    for packet in (
        pack_request(Request(name, 1, disk.digest, B, NAMES, question)),
        pack_message(RollCallRequest(name, disk.digest, B, NAMES, plan, "0")),
    ):
        assert unpack_reply(service.respond(packet)).refusal is Refusal.MESSAGE
    assert [entry.run for entry in logged(service)] == ["", ""]


def called_for_such_a_method(disk):
    """What a site logs of a roll call for a method whose name clears the screen."""
    service = disk.service(B)
    plan = Plan("\x1b[2J\n" + "s" * 10**6, {}, "exact", 0, check=False)
    service.respond(pack_message(RollCallRequest("r", disk.digest, B, NAMES, plan, "0")))
    [entry] = logged(service)
    return entry


def test_where_texts_of_others_are_believed_the_log_clears_the_screen(disk, monkeypatch):
    monkeypatch.setattr(log, "printable", lambda text, *_: text)
    assert "\x1b[2J" in called_for_such_a_method(disk).question


def test_a_method_of_such_a_name_is_logged_fit_to_be_shown(disk):
    entry = called_for_such_a_method(disk)
    assert entry.question.isprintable()
    assert entry.detail.isprintable()
    assert max(len(entry.question), len(entry.detail)) < 6 * LONGEST_DETAIL


def test_what_is_not_printable_is_written_as_an_escape():
    assert printable("é\x1b[2J\u202e\n") == "é\\x1b[2J\\u202e\\n"
    assert printable("x" * 999, 3) == "xxx..."
