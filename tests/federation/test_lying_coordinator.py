"""A coordinator that lies about the moments of a question rebuilds a patient; a site that does not trust it refuses."""

import numpy as np
import pytest
from scipy.optimize import brentq

from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request, pack_request, unpack_reply
from fedrcd.methods.deflations.entropies import standardised_residuals
from fedrcd.methods.examination import ask_residuals
from fedrcd.methods.registry import METHODS, build
from fedrcd.methods.skeleton import Marginals
from fedrcd.protocol.driver import run
from fedrcd.protocol.entropy_question import EntropyQuestion
from fedrcd.protocol.moment_questions import ExpectationQuestion
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.sites import NAMES, horizontal

A, P = NAMES[0], 5
AWAY = 30.0
"""Kernel widths by which the coordinator's mean of the first column lies beyond every patient."""

RHO = 0.7
"""The correlation with the first column that the coordinator makes up."""


@pytest.fixture
def disk(tmp_path):
    """A site with one patient who stands out in one column, and is like everybody else in the others."""
    federation = horizontal(tmp_path, p=P)
    rows = np.array(federation.in_process().sites[0].rows.values)
    rows[123, 0] = rows[:, 0].mean() + 20 * rows[:, 0].std()
    write_table(federation.data(A), Table(rows, columns=federation.federation.variables, source=A))
    return federation


def lie(disk, rows):
    """A question whose moments pass for those of all sites: variances are right, the mean is not."""
    federation = disk.federation
    frame = federation.declared_frame()
    z = frame.express(rows)
    sd = z.std(axis=0)
    correlation = np.full((P, P), RHO**2)
    correlation[0, :] = correlation[:, 0] = RHO
    np.fill_diagonal(correlation, 1.0)
    mean = z.mean(axis=0)
    mean[0] = z[:, 0].max() + AWAY * sd[0]
    residuals = standardised_residuals(Gaussian(mean, correlation * np.outer(sd, sd)), ())
    pairs = np.array([(j, 0) for j in range(1, P)])
    return EntropyQuestion(
        federation.variables,
        frame,
        residuals.R,
        residuals.offset,
        pairs,
        residuals.rho[pairs[:, 0], pairs[:, 1]],
        singles=True,
        basis=residuals.basis,
    )


def farthest(total):
    """The value behind a sum of u exp(-u^2 / 2) that one row makes up alone."""
    size = brentq(lambda u: np.log(u) - u * u / 2 - np.log(abs(total)), 1.0, 200.0, xtol=1e-12)
    return np.sign(total) * size


def rebuilt(question, sums):
    """The row of the patient farthest out, from the two sums of every quantity."""
    u = np.empty(P)
    u[0] = farthest(sums.gauss[0])
    for k, (j, _) in enumerate(question.pairs.tolist()):
        w = farthest(sums.gauss[P + k])
        u[j] = w * np.sqrt(1 - RHO**2) + RHO * u[0]
    z = (u + question.offset) / np.diagonal(question.residuals)
    return question.frame.centre + question.frame.scale * z


def asked(disk, question, **settings):
    request = Request("r1.0", 1, disk.digest, A, NAMES, question)
    return unpack_reply(disk.service(A, **settings).respond(pack_request(request)))


def test_a_site_that_trusts_its_coordinator_tells_a_whole_patient(disk):
    rows = disk.in_process().sites[0].rows.values
    question = lie(disk, rows)
    [(_, sums)] = asked(disk, question, trust_coordinator=True).blocks
    np.testing.assert_allclose(rebuilt(question, sums), rows[123], rtol=1e-6, atol=1e-6)


def test_a_site_that_does_not_tells_nothing(disk):
    reply = asked(disk, lie(disk, disk.in_process().sites[0].rows.values), trust_coordinator=False)
    assert reply.refusal is Refusal.TRUST
    assert reply.blocks == ()


class Asking:
    """A coordinator that notes what one site, which trusts nobody, says to each question of a method."""

    def __init__(self, disk):
        self.disk, self.traffic, self.questions, self.replies = disk, Traffic(), [], []
        self.setting = Setting(disk.federation.variables, disk.federation.declared_frame(), grid=ARITHMETIC["exact"])
        self.behind = disk.in_process()

    def pool(self, question):
        self.questions.append(question)
        self.replies.append(asked(self.disk, question, trust_coordinator=False))
        return self.behind.pool(question)


@pytest.mark.parametrize("method", [name for name, card in METHODS.items() if not card.one_table])
def test_only_methods_of_one_round_are_answered_to_the_end(disk, method):
    asking = Asking(disk)
    run(build(method).rounds(asking.setting), asking)
    refusals = [reply.refusal for reply in asking.replies]
    if METHODS[method].erasable:
        assert refusals == [None]
    else:
        assert refusals[0] is None  # the same sums that a method of one round asks for
        assert refusals[1] is Refusal.TRUST
        assert [one is Refusal.TRUST for one in refusals] == [one.needs_trust for one in asking.questions]


def test_checks_and_filling_are_not_answered(disk):
    asking = Asking(disk)
    moments = Gaussian(np.zeros(P), np.eye(P))
    marginals = Marginals(400, np.zeros(P), np.eye(P), np.zeros(P))
    run(ask_residuals(asking.setting, marginals, np.arange(P)), asking)
    assert asking.replies[-1].refusal is Refusal.TRUST
    filling = PairQuestion(asking.setting.variables, asking.setting.frame, 4, given=moments)
    assert asked(disk, filling, trust_coordinator=False).refusal is Refusal.TRUST
    step = ExpectationQuestion(asking.setting.variables, asking.setting.frame, moments)
    for trusts in (False, True):
        assert asked(disk, step, trust_coordinator=trusts).refusal is Refusal.QUESTION


def test_a_frame_of_the_coordinators_choice_is_refused(tmp_path):
    disk = horizontal(tmp_path, framed=False)
    question = PairQuestion(disk.federation.variables, horizontal(tmp_path / "other").federation.declared_frame(), 4)
    assert asked(disk, question, trust_coordinator=False).refusal is Refusal.TRUST
    assert asked(disk, question, trust_coordinator=True).refusal is None
