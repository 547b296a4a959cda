"""What coordinator and site say to each other."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data.federation import VariableFrame
from fedrcd.errors import ProtocolError
from fedrcd.federation.messages.refusals import WORDS, Refusal
from fedrcd.federation.messages.requests import (
    Reply,
    Request,
    cohort_layout,
    federation_digest,
    pack_reply,
    pack_request,
    question_digest,
    unpack_reply,
    unpack_request,
)
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.protocol.wire import Packet
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_sums import pair_sums
from tests.federation.sites import NAMES, horizontal

FRAME = Frame(np.zeros(2), np.ones(2))
QUESTION = PairQuestion(("a", "b"), FRAME, 4)
REQUEST = Request("r1.0", 2, "f" * 64, "hospital-a", NAMES, QUESTION)
SUMS = pair_sums([np.random.default_rng(0).normal(size=(9, 2))], 2, 4)
REPLY = Reply("r1.0", REQUEST.digest, "hospital-a", "v", (("2021", SUMS), ("2022", None)))


def changed(packet, **header):
    return Packet({**packet.header, **header}, packet.arrays)


def test_a_request_arrives_as_it_was_sent():
    came = unpack_request(pack_request(REQUEST))
    assert came.digest == REQUEST.digest
    assert (came.run, came.round, came.federation, came.site, came.cohort) == ("r1.0", 2, "f" * 64, "hospital-a", NAMES)


def test_a_reply_arrives_as_it_was_sent():
    came = unpack_reply(pack_reply(REPLY))
    assert came.blocks[0] == ("2021", SUMS)
    assert came.blocks[1] == ("2022", None)
    assert (came.run, came.digest, came.site, came.version, came.refusal) == (
        "r1.0",
        REPLY.digest,
        "hospital-a",
        "v",
        None,
    )


def test_a_refusal_is_a_code_and_nothing_else():
    packet = pack_reply(Reply("r1.0", "d", "hospital-a", refusal=Refusal.BUDGET))
    assert packet.arrays == ()
    assert packet.header["refusal"] == "budget"
    assert unpack_reply(packet).refusal is Refusal.BUDGET


def test_every_refusal_has_words():
    assert set(WORDS) == set(Refusal)


@pytest.mark.parametrize(
    "header",
    [
        {"fedrcd": "fedrcd-federation/2"},
        {"round": True},
        {"round": "2"},
        {"cohort": [1]},
        {"cohort": "hospital-a"},
        {"question": None},
        {"question": {"kind": "pair-sums/1", "fields": {}}},
        {"site": None},
    ],
)
def test_a_request_of_another_form_is_refused(header):
    with pytest.raises(ProtocolError):
        unpack_request(changed(pack_request(REQUEST), **header))


@pytest.mark.parametrize(
    "header",
    [
        {"refusal": "because I say so"},
        {"blocks": [["2021", None]]},
        {"blocks": [["2021", None, -1]]},
        {"blocks": [["2021", None, 0]]},
        {"blocks": [[2021, None, 0]]},
        {"version": 3},
    ],
)
def test_a_reply_of_another_form_is_refused(header):
    with pytest.raises(ProtocolError):
        unpack_reply(changed(pack_reply(REPLY), **header))


def test_rows_cannot_be_sent_as_a_reply():
    with pytest.raises(TypeError, match="does not travel"):
        pack_reply(replace(REPLY, blocks=(("2021", object()),)))
    rows = Packet(
        {"fedrcd": "fedrcd-federation/1", **pack_reply(REPLY).header, "blocks": [["2021", {"array": 0}, 1]]},
        (np.ones((5, 2)),),
    )
    with pytest.raises(ProtocolError):
        unpack_reply(rows)


def test_the_digest_tells_questions_and_cohorts_apart():
    assert question_digest(QUESTION, NAMES) == question_digest(PairQuestion(("a", "b"), FRAME, 4), NAMES)
    others = [
        question_digest(QUESTION, NAMES[:2]),
        question_digest(PairQuestion(("a", "b"), FRAME, 3), NAMES),
        question_digest(TensorQuestion(("a", "b"), FRAME), NAMES),
    ]
    assert len({question_digest(QUESTION, NAMES), *others}) == 4


def test_the_digest_of_a_federation_sees_every_part(tmp_path):
    federation = horizontal(tmp_path).federation
    first = federation.sites[0]
    others = [
        replace(federation, variables=federation.variables[::-1]),
        replace(federation, sites=(replace(first, key="k"), *federation.sites[1:])),
        replace(federation, id_column="patient"),
        replace(federation, block_column="year"),
        replace(federation, frame={**federation.frame, "x1": VariableFrame(0.0, 3.0)}),
        replace(federation, blocks=(replace(federation.blocks[0], rows=7), *federation.blocks[1:])),
    ]
    assert len({federation_digest(one) for one in (federation, *others)}) == 7


def test_a_cohort_of_whole_sites_needs_no_layout(tmp_path):
    federation = horizontal(tmp_path).federation
    assert cohort_layout(federation, NAMES) is None
    part = replace(federation, sites=(replace(federation.sites[0], columns=("x1", "x2")), *federation.sites[1:]))
    layout = cohort_layout(part, NAMES[:2])
    assert [holding.site for holding in layout.holdings] == list(NAMES[:2])
    assert cohort_layout(part, NAMES[1:]) is None
