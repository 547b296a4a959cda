"""A whitening of somebody's own choice: the coordinator's, or that of a site whose rows outweigh all others."""

from contextlib import suppress
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from fedrcd.errors import ProtocolError
from fedrcd.federation.messages.envelope import pack_message, unpack_message
from fedrcd.federation.messages.masked import MaskedReply, ReplayAsk
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request, pack_request, unpack_reply
from fedrcd.federation.site import disclosure
from fedrcd.federation.site.whitening_rules import honest_whitening
from fedrcd.statistics.directions import Whitening
from tests.federation.masking.machines import Relay, apart, conducted, keyed
from tests.federation.sites import NAMES

A, B, C = NAMES
METHOD = "fedrcd-r"

unseen = patch.dict(disclosure.RULES, {"whitening": lambda _: None})


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return keyed(tmp_path_factory.mktemp("federation"), p=3, rows=(400, 410, 420))


@pytest.fixture
def disk(tables, tmp_path):
    return apart(tables, tmp_path)


def stretched(disk):
    """About the first row of the first site, whose first value the coordinator knows: all others look along it.

    The value is far out, and nobody else has it.
    """
    setting = disk.in_process().setting
    row = setting.frame.express(disk.in_process_rows(A)[:1].copy())[0]
    whitening = Whitening(row * [1, 0, 0], np.diag([1e6, 1.0, 1.0])).on_grid(setting.grid)
    return setting.directions(whitening, near=True), row


def told(sums, row):
    """How far the other values of the row are from those that the sums show."""
    sign = sums.floats().at(1, 0)[1:3, 0]
    true = row[1:] / np.sqrt(1 + (row[1:] ** 2).sum())
    return float(np.abs(sign - true).max())


def test_a_whitening_of_the_coordinators_choice_tells_a_row_where_the_rule_is_off(disk, tmp_path):
    question, row = stretched(disk)
    request = pack_request(Request("r1", 1, disk.digest, A, NAMES, question))
    open_site = apart(disk, tmp_path / "off").service(A, clear=True, trust_coordinator=True)
    with unseen:
        [(_, sums)] = unpack_reply(open_site.respond(request)).blocks
    assert told(sums, row) < 0.05
    refusals = {
        how: unpack_reply(apart(disk, tmp_path / how).service(A, **given).respond(request)).refusal
        for how, given in {
            "masks": {},
            "clear": {"clear": True},
            "trusting": {"clear": True, "trust_coordinator": True},
        }.items()
    }
    assert refusals == {"masks": Refusal.CLEAR, "clear": Refusal.TRUST, "trusting": Refusal.MAP}


def test_sites_that_replay_answer_their_own_question_and_no_other(disk):
    """Under masks questions do not travel: a coordinator can only name one, and another name ends the run."""
    relay = Relay(disk)
    conducted(disk, relay, METHOD)
    asked = next(message for site, message, _ in relay.sent if site == B and isinstance(message, ReplayAsk))
    names = {message.question for _, message, _ in relay.sent if isinstance(message, ReplayAsk)}
    assert len(names) == 5  # the same for all sites
    again = apart(disk, disk.folder / "again")
    lying = Relay(again, lambda site, message: other_question(message) if site == B else message)
    with pytest.raises(ProtocolError):
        conducted(again, lying, METHOD)
    assert (B, Refusal.RUN) in {(site, reply.refusal) for site, _, reply in lying.sent}
    late = unpack_message(relay.services[B].respond(pack_message(other_question(asked))), MaskedReply)
    assert (late.refusal, late.data) == (Refusal.RUN, b"")


def other_question(message):
    if not isinstance(message, ReplayAsk):
        return message
    return ReplayAsk(
        message.site, message.run, message.round, "0" * 64, message.sources, message.answers, message.vectors
    )


@pytest.fixture
def outweighed(tmp_path):
    """A federation in which the rows of one site, which colludes, are many and vary in two directions alone."""
    disk = keyed(tmp_path / "outweighed", p=3, rows=(400, 410, 9000))
    table = pd.read_parquet(disk.data(C))
    centre = disk.federation.declared_frame().centre[0]
    table.iloc[:, 0] = centre + (table.iloc[:, 0] - centre) * 1e-3
    table.to_parquet(disk.data(C), index=False)
    return disk


def test_a_whitening_that_a_colluding_site_brings_about_is_refused_by_the_others(outweighed, tmp_path):
    relay = Relay(other := apart(outweighed, tmp_path / "off"))
    with unseen, suppress(ProtocolError):  # what comes of it does not matter
        conducted(other, relay, METHOD, accept_differing=(C,))
    assert answered_later(relay, A)
    relay = Relay(other := apart(outweighed, tmp_path / "on"))
    colludes = patch.dict(disclosure.RULES, {"whitening": but_at(C)})
    with colludes, pytest.raises(ProtocolError):
        conducted(other, relay, METHOD, accept_differing=(C,))
    assert (A, Refusal.MAP.value) in {(site, reply.refusal) for site, _, reply in relay.sent if reply.refusal}


def but_at(site):
    """The rule at all sites but one."""
    return lambda context: None if context.block == site else honest_whitening(context)


def answered_later(relay, site):
    """Whether a site answered under another whitening than that of the start."""
    return any(to == site and isinstance(asked, ReplayAsk) and reply.statement for to, asked, reply in relay.sent)
