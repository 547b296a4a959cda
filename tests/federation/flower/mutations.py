"""Mutated messages through the record path: what a hostile site or coordinator may put on the wire.

`Mutations` takes true messages, changes them at random, and has them read as a coordinator or a site does.
"""

import json
import random
import resource
import sys

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedrcd.errors import FedrcdError
from fedrcd.federation.coordinator.accept import Asked, accept_reply
from fedrcd.federation.coordinator.combine import add_in_order, contributions
from fedrcd.federation.coordinator.gather import SiteLost
from fedrcd.federation.flower.records import ARRAYS, HEADER, TEXT, from_records, to_records
from fedrcd.federation.messages.envelope import is_message, pack_message, unpack_answer, unpack_message
from fedrcd.federation.messages.requests import Reply, Request, pack_reply, pack_request, unpack_request
from fedrcd.federation.messages.roll_call import DeclaredBlock, Plan, RollCallReply, RollCallRequest
from fedrcd.federation.site.service import MESSAGES
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC

LONGEST_LINE = 1000
SITE, VARIABLES = "hospital-a", ("a", "b", "c")
ODD_VALUES = (
    *(None, True, -1, 0, 1, 2**63, 10**400, 1e308, "", "x" * 5000, "\x1b[2J\x07", "pair-sums/1", [], {}),
    *([[[]]], {"array": 0}, {"array": -1}, {"array": 10**9}, {"array": "0"}, {"array": []}),
    *({"float": "0x1.0p+9999"}, {"float": "nan"}, {"float": "inf"}, {"float": 3}, {"float": "0x" + "f" * 4000}),
    *({"map": [[[], 1]]}, {"map": [[{"map": []}, 1]]}, {"map": 3}, {"kind": [], "fields": {}}),
    *({"kind": "frame/1", "fields": {"centre": 3, "scale": 4}}, {"kind": "frame/1", "fields": []}),
)
DTYPES = ("<i8", "<f8", "|i1", "|b1", "|O", "<U9", "|S8", "<c16", ">f8", "<f2", "|V16", "[('a', '<f8')]", "nonsense")
SHAPES = ("()", "(3,)", "(0,)", "(1, 1)", "(3, 3)", "(1099511627776,)", "(-1,)", "(2,) * 40", "3", "(True,)", "('a',)")


def deep(levels):
    """The text of lists in lists."""
    return "[" * levels + "]" * levels


def true_messages():
    """Replies with the questions that they answer, and requests; small ones, of all arithmetics."""
    frame = Frame(np.zeros(3), np.ones(3))
    rows = np.random.default_rng(5).laplace(size=(60, 3))
    site = LocalSite.of(SITE, rows, VARIABLES, SITE, threads=1)
    questions = [kind(VARIABLES, frame, *more, grid=grid) for grid in ARITHMETIC.values() for kind, more in KINDS]
    replies = [Reply("r", "d", SITE, "v", ((SITE, site.answer(question)),)) for question in questions]
    requests = [Request("r", 1, "f" * 64, SITE, (SITE,), question) for question in questions]
    requests.append(Request("r", 1, "f" * 64, SITE, (SITE,), GroupedQuestion(questions[0], 10)))
    plan = Plan("fedrcd-s", {"penalty": 0.1}, "exact", 0, check=False)
    called = RollCallRequest("r", "f" * 64, SITE, (SITE,), plan, "0.1.0")
    call = RollCallReply(SITE, "r", "d", "0.1.0", (DeclaredBlock(SITE, "e", 60, (("gaps", "few"),)),))
    return list(zip(questions, replies, strict=True)), [pack_request(one) for one in requests], called, call


KINDS = ((PairQuestion, (4,)), (PairQuestion, (3,)), (TensorQuestion, ()))


class Mutations:
    """Mutated messages by seed; every one is read as it would be where it arrives."""

    def __init__(self):
        self.answered, requests, called, call = true_messages()
        self.replies = [to_records(pack_reply(reply)) for _, reply in self.answered]
        self.calls = [to_records(pack_message(call))]
        self.requests = [to_records(packet) for packet in (*requests, pack_message(called))]
        self.accepted = self.refused = 0

    def read(self, seed):
        """Mutate one message and read it; whatever is neither understood nor refused as it should be is raised."""
        chance = random.Random(seed)
        pool, judge = chance.choice(((self.replies, self._reply), (self.calls, self._call), (self.requests, _request)))
        number = chance.randrange(len(pool))
        try:
            with np.errstate(all="ignore"):
                judge(mutated(pool[number], chance), number)
            self.accepted += 1
        except FedrcdError:
            self.refused += 1

    def _reply(self, records, number):
        """As the coordinator: read, judge, and add what was accepted to a true answer."""
        question, true = self.answered[number]
        asked = Asked(
            run="r",
            digest="d",
            question=question,
            blocks={SITE: (SITE,)},
            version=lambda _: None,
            declared={(SITE, SITE): 60},
        )
        try:
            reply = accept_reply(asked, SITE, from_records(records))
        except SiteLost as lost:
            if len(str(lost)) > LONGEST_LINE or not str(lost).isprintable():
                raise AssertionError("what is said of a reply is not one short line") from lost
            raise
        if reply.refusal is None:
            parts = [*contributions([reply, true])]
            for _, _, sums in parts:
                sums.moments_of_variables()
            add_in_order(parts)

    def _call(self, records, _):
        unpack_answer(from_records(records), RollCallReply)


def _request(records, _):
    """As a site: read the message and describe its question for the log."""
    packet = from_records(records)
    if is_message(packet):
        unpack_message(packet, MESSAGES)
    else:
        unpack_request(packet)


def mutated(records, chance):
    """A copy of the records of a message, changed in one to three places."""
    text, arrays = str(records[HEADER][TEXT]), dict(records[ARRAYS].items())
    untouched = sorted(arrays)
    for _ in range(chance.randint(1, 3)):
        if untouched and chance.random() < 0.5:
            name = untouched.pop(chance.randrange(len(untouched)))
            arrays[name] = _other_array(arrays[name], chance)
        else:
            text = _other_text(text, chance)
    if chance.random() < 0.05:
        arrays[str(chance.randrange(9))] = Array(np.ones(chance.randrange(5)))
    return RecordDict({HEADER: ConfigRecord({TEXT: text}), ARRAYS: ArrayRecord(arrays)})


def _other_text(text, chance):
    way = chance.randrange(6)
    if way == 0:
        at = chance.randrange(len(text) + 1)
        return text[:at] + chance.choice(("", "[", "}", '"', "9" * 5000, "\\u0000", "NaN")) + text[at + 1 :]
    if way == 1 and chance.random() < 0.1:
        return deep(chance.choice((10, 100, 5000)))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return text
    places = list(_places(content))
    parent, key = chance.choice(places) if places else (None, None)
    if parent is None:
        return text
    if way == 2 and isinstance(parent, dict):
        del parent[key]
    elif way == 3:
        other, theirs = chance.choice(places)
        parent[key] = json.loads(json.dumps(other[theirs]))
    elif isinstance(parent[key], int) and way == 4:
        parent[key] += chance.choice((-1, 1, 1000))
    else:
        parent[key] = chance.choice(ODD_VALUES)
    return json.dumps(content)


def _places(content):
    """Every place in a header, as what holds it and its key."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in list(items):
        yield content, key
        yield from _places(value)


def _other_array(array, chance):
    way = chance.randrange(6)
    data = bytearray(array.data)
    if way == 0:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif way == 1:
        del data[chance.randrange(len(data)) :]
    elif way == 2:
        data += bytes(chance.randrange(100))
    elif way == 3:
        order = chance.choice(("True", "False", "1"))
        return _claimed(chance.choice(DTYPES), order, chance.choice(SHAPES), bytes(chance.randrange(200)))
    elif way == 4:
        values = np.array(array.numpy())
        if values.size:
            odd = (np.nan, np.inf, 1e300) if values.dtype.kind == "f" else (np.iinfo(values.dtype).max, -1, 0)
            values.flat[chance.randrange(values.size)] = chance.choice(odd)
        return Array(values)
    else:
        return Array(dtype="float64", shape=(1,), stype=chance.choice(("numpy.ndarray", "pickle")), data=bytes(data))
    return Array(dtype=array.dtype, shape=tuple(array.shape), stype=array.stype, data=bytes(data))


def _claimed(dtype, order, shape, data):
    """An array in the form of NumPy whose header says what it likes."""
    quoted = dtype if dtype.startswith("[") else repr(dtype)
    header = f"{{'descr': {quoted}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return Array(
        dtype="float64",
        shape=(1,),
        stype="numpy.ndarray",
        data=b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data,
    )


def main(seed, first, end):
    """Read the mutated messages of some numbers, and print what came of them as JSON."""
    mutations, uncaught = Mutations(), {}
    before = most_memory()
    for number in range(first, end):
        try:
            mutations.read((seed << 40) + number)
        except Exception as problem:  # whatever it is, it is what is counted
            uncaught[number] = repr(problem)[:200]
    found = {"uncaught": len(uncaught), "accepted": mutations.accepted, "grown": most_memory() - before}
    print(json.dumps({**found, "first": dict(list(uncaught.items())[:5])}))


def most_memory():
    """Megabytes that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
