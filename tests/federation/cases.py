"""Questions put to a block of rows, for tests of the rules of disclosure."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data.table import Table
from fedrcd.federation.messages.refusals import Refused
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.disclosure import check_question
from fedrcd.federation.site.log import LogEntry
from fedrcd.federation.site.rule_context import RuleContext
from fedrcd.methods.deflations.entropies import standardised_residuals
from fedrcd.protocol.entropy_question import EntropyQuestion
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Basis
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.residual_maps import residual_map

P = 4
NAMES = ("a", "b", "c", "d")
FRAME = Frame(np.zeros(P), np.ones(P))
OTHER_FRAME = Frame(np.zeros(P), np.full(P, 2.0))
X = np.random.default_rng(1).normal(size=(400, P))
MOMENTS = Gaussian(X.mean(axis=0), np.cov(X.T, ddof=0))
EXACT = ARITHMETIC["exact"]


def table(rows, columns=NAMES):
    return Table(rows, columns=columns, source="rows")


def case(question, rows=X, history=(), frame=FRAME, run="r.0", trusted=True, **more):
    """A question put to rows; its coordinator is trusted unless a test is about that.

    Entries of the history are about these rows unless they say another version.
    """
    more = {"related": frozenset({"", more.get("version", "")}), "vectors": (frozenset({""}),), **more}
    return RuleContext(
        question=question,
        run=run,
        variables=NAMES,
        frame=frame,
        rows=table(rows),
        history=history,
        rules=Rules(),
        trusted=trusted,
        **more,
    )


def refusal(*args, **kwargs):
    with pytest.raises(Refused) as caught:
        check_question(case(*args, **kwargs))
    return caught.value.code


def entry(**fields):
    defaults = {
        "time": "t",
        "run": "r.0",
        "round": 1,
        "federation": "f",
        "digest": "q",
        "question": "w",
        "outcome": "answered",
    }
    return LogEntry(**{**defaults, **fields})


def residuals(*sources, moments=MOMENTS, basis=None, change=0.0):
    R, _ = residual_map(moments.cov, sources)
    return PairQuestion(NAMES, FRAME, 4, R + change, basis=basis or Basis(moments, sources))


def entropies(*sources, moments=MOMENTS, **changes):
    true = standardised_residuals(moments, sources)
    u = len(true.variables)
    pairs = np.argwhere(~np.eye(u, dtype=bool))
    question = EntropyQuestion(
        NAMES, FRAME, true.R, true.offset, pairs, true.rho[pairs[:, 0], pairs[:, 1]], singles=True, basis=true.basis
    )
    return replace(question, **changes)
