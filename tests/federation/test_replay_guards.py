"""Rules that replay does not replace: joint cells, moments of the rows here, one chain."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data.table import Table
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.cell_counts import least_joint_cell
from fedrcd.federation.site.disclosure import check_question
from fedrcd.federation.site.log import ANSWERED, LogEntry
from fedrcd.federation.site.rule_context import RuleContext
from fedrcd.methods.deflations.entropies import standardised_residuals
from fedrcd.methods.deflations.site_residuals import whole_residual_map
from fedrcd.protocol.questions import Basis
from fedrcd.protocol.transport import Setting
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC

NAMES = ("x1", "x2", "x3", "x4")
FRAME = Frame.identity(4)
SETTING = Setting(NAMES, FRAME, grid=ARITHMETIC["exact"])
NONE = np.empty((0, 2), dtype=np.int64)


def rows(*, flag=None, n=2000):
    X = np.random.default_rng(3).laplace(size=(n, 4)) / np.sqrt(2)
    if flag is not None:
        X[:, 3] = np.arange(n) < flag
    return X


def moments(X, shift=0.0):
    return Gaussian(X.mean(axis=0) + shift, np.cov(X.T, ddof=0))


def entropies(X, *, shift=0.0, sources=()):
    residuals = standardised_residuals(moments(X, shift), sources, ARITHMETIC["exact"])
    return residuals.question(SETTING, np.array([[0, 1], [1, 0]]), singles=True)


def residual_pairs(X, *, sources=(0,), shift=0.0):
    given = moments(X, shift)
    R, *_ = whole_residual_map(given.cov, sources)
    return SETTING.residual_pairs(4, R, Basis(given, sources))


def context(X, question, *, replayed=True, history=(), version="v1"):
    return RuleContext(
        question=question,
        run="r",
        variables=NAMES,
        frame=FRAME,
        rows=Table(X, "s", "b", columns=NAMES, source="s"),
        history=history,
        rules=Rules(),
        related=frozenset({"v1", "v2"}),
        version=version,
        trusted=True,
        replayed=replayed,
    )


def refusal(*given, **more):
    try:
        check_question(context(*given, **more))
    except Refused as refused:
        return refused.code
    return None


def test_honest_questions_are_answered():
    X = rows()
    for question in (entropies(X), entropies(X, sources=(1,)), residual_pairs(X)):
        assert refusal(X, question) is None


def test_moments_far_from_those_here_are_refused_only_where_the_question_was_replayed():
    X = rows()
    assert refusal(X, entropies(X, shift=0.9)) is None
    assert refusal(X, entropies(X, shift=1.2)) is Refusal.UNLIKE
    assert refusal(X, entropies(X, shift=1.2), replayed=False) is None
    wide = X * np.array([1.0, 1.0, 2.1, 1.0])
    assert refusal(X, entropies(wide)) is Refusal.UNLIKE


def cells(n, *, small):
    """Three binary columns whose pairs and triples are large; all together have one small cell if asked for."""
    codes = np.arange(n) % 8
    X = rows(n=n)
    for k in range(3):
        X[:, k] = codes >> k & 1
    if small:
        X[:, 3] = np.arange(n) < 8 * small  # with it every cell of all four has so few rows
    return X


def test_all_few_level_columns_together_are_looked_at_for_entropies():
    assert least_joint_cell(Table(cells(2000, small=0), "s", "b", columns=NAMES, source="s"), Rules()) == 250
    X = cells(2000, small=5)
    noise = np.random.default_rng(1).normal(size=X.shape) / 100
    question = entropies(X + noise)
    assert refusal(X, question) is Refusal.CELLS
    assert refusal(X, question, replayed=False) is None  # pairs have 20 rows at least


def test_many_few_level_columns_are_counted_without_all_their_combinations():
    X = np.random.default_rng(1).integers(0, 5, size=(3000, 40)).astype(float)
    names = tuple(f"x{k}" for k in range(40))
    assert least_joint_cell(Table(X, "s", "b", columns=names, source="s"), Rules()) == 1


def entry(question, *, masked=True, version="v1"):
    basis = question.basis
    return LogEntry(
        time="t",
        run="another",
        round=2,
        outcome=ANSWERED,
        version=version,
        masked=masked or None,
        basis=digest_of(basis.moments),
        sources=basis.sources,
    )


@pytest.mark.parametrize(
    ("before", "now", "refused"),
    [
        ({"sources": (0,)}, {"sources": (0,)}, False),
        ({"sources": (0, 1)}, {"sources": (0,)}, False),
        ({"sources": (0,)}, {"sources": (1,)}, True),
        ({"sources": (0,)}, {"sources": (0,), "shift": 0.1}, True),
    ],
)
def test_one_edition_is_asked_about_along_one_order(before, now, refused):
    X = rows()
    history = [entry(residual_pairs(X, **before))]
    question = residual_pairs(X, **now)
    assert refusal(X, question, history=history) is (Refusal.CHAIN if refused else None)
    assert refusal(X, question, history=[replace(one, version="v2") for one in history]) is None
    assert refusal(X, question, history=history, replayed=False) is None
