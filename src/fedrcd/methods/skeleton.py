"""The one algorithm behind every method: score, take the source, deflate, until one is left [P, Algorithm 1].

A method is a choice of parts: a *score* says how much each remaining variable looks like a source, a *deflation* says
what is known about the remaining variables once a source is taken out, and *weights* recover the effects along the
order. Parts talk to sites only by yielding questions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from fedrcd.errors import ConfigError, ProtocolError, StatisticError
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.methods.doubt import Doubt
from fedrcd.methods.em_moments import ask_moments
from fedrcd.methods.hidden.found import HiddenCauses
from fedrcd.methods.weights import Weights
from fedrcd.protocol.questions import Rounds
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

TIE = 1e-9
"""Share of the largest score by which one that counts as the best may fall short of it."""

DOUBT = 1e-3
"""A source is beyond doubt if less speaks against it than this share of what speaks against half of all variables."""

T = TypeVar("T")
Score = Callable[[T], Vector]
"""How much each variable of a statistic looks like a source, higher is better; shape (number of variables,)."""


@dataclass(frozen=True, slots=True)
class Evidence(Generic[T]):
    """A statistic of some of the variables: which these are, and what is known of them."""

    variables: tuple[int, ...]
    statistic: T


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """What every method's first round tells besides its statistic, all in the units of the data."""

    rows: int
    mean: Vector
    cov: Matrix
    distance: Vector
    """How far each variable is from Gaussian, in standard errors."""
    repaired: bool = False
    """Whether the covariance had to be made positive definite."""
    even: bool = True
    """Whether all pairs of variables were seen in the same number of rows."""
    noise: float = 0.0
    """What noise adds to the variance of effects, in units of what a single row leaves uncertain."""
    far: int = 0
    """Rows that were left out because they are far from all others."""

    @property
    def worth(self) -> int:
        """As many rows without noise, and none of them left out, leave effects as uncertain as these do."""
        used = self.rows - self.far
        return round(used / (1 + used * self.noise))

    def in_frame(self, frame: Frame) -> Gaussian:
        """Mean and covariance of the variables expressed in a frame."""
        return Gaussian((self.mean - frame.centre) / frame.scale, self.cov / np.outer(frame.scale, frame.scale))


class Deflation(Protocol[T]):
    """Where the evidence of each step comes from."""

    least_squares: ClassVar[bool]
    """Whether what is left are residuals of least squares, whatever was taken out, and not only of a source."""

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[T], Marginals]]:
        """Evidence about all variables, before any source is taken out."""
        ...

    def remove(
        self, setting: Setting, marginals: Marginals, evidence: Evidence[T], sources: tuple[int, ...]
    ) -> Rounds[Evidence[T]]:
        """Evidence after all of `sources` are taken out; `evidence` is that of the step before."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One decision: the candidates, their scores, the one chosen and by how much it beat the runner-up."""

    candidates: tuple[int, ...]
    scores: Vector
    chosen: int
    margin: float

    @property
    def best(self) -> int:
        """The one that the scores are for: chosen, unless somebody else's choice was followed."""
        return self.candidates[int(np.argmax(self.scores))]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What a method returns: the order (roots first), the effects B[i, j] of j on i, and how it got there."""

    order: IntVector
    B: Matrix
    steps: tuple[Step, ...]
    marginals: Marginals
    start: IntVector
    """The order that the steps give, before it was refined."""
    hidden: HiddenCauses | None = None
    """What is hidden, if it was looked for; then B has the effects that are identified, and zeros elsewhere."""
    doubt: Doubt | None = None
    """What the sums of the first round say of the independence of errors, where they tell."""

    @property
    def marked(self) -> Matrix:
        """The effects, NaN where they are not identified."""
        return self.B if self.hidden is None else np.where(self.hidden.open, np.nan, self.B)


@dataclass(frozen=True, slots=True)
class Parts(Generic[T]):
    """A method as a choice of parts."""

    score: Score[T]
    deflation: Deflation[T]
    refine: Callable[[T, IntVector, Constraints | None], IntVector] | None = None
    """Improves the order that the sources give, from the evidence about all variables, within what is known."""
    climb: Callable[[Setting, Marginals, IntVector], Rounds[IntVector]] | None = None
    """Improves the order further, by asking."""
    judge: Callable[[T, IntVector], Doubt] | None = None
    """Says, from the evidence about all variables, whether the errors along an order are independent."""
    reconsider: Callable[[Setting, Doubt], Rounds[IntVector | None]] | None = None
    """Asks for another order where the data speak against the model, or nothing where the present one stands."""
    examine: Callable[[Setting, Marginals, IntVector, BoolMatrix], Rounds[Doubt]] | None = None
    """Judges the errors along an order, and the effects along edges, by asking."""
    weights: Weights = Weights()  # noqa: RUF009 - a frozen value
    hidden: Callable[[T, IntVector, Constraints | None], tuple[IntVector, Matrix, HiddenCauses]] | None = None
    """Finds hidden causes: from the evidence about all variables and the order, another order, and effects."""
    layers: bool = False
    """Whether several sources are taken at once where their scores leave no doubt."""

    def of_its_sources(self) -> Parts[T]:
        """The same, asking for nothing once the sources are known."""
        return replace(self, climb=None, reconsider=None, examine=None)

    def rounds(self, setting: Setting) -> Rounds[Estimate]:
        """The conversation of this method with a federation."""
        if setting.fills_gaps:
            given = yield from ask_moments(setting)
            setting = replace(setting, given=given)
        evidence, marginals = yield from self.deflation.start(setting)
        steps = yield from self._take_sources(setting, marginals, evidence)
        sources = [*setting.past_variables, *(step.chosen for step in steps)]
        last = set(range(len(setting.variables))) - set(sources)
        order = np.array([*sources, *last], dtype=np.int64)
        start = order
        if self.refine:
            order = self.refine(evidence.statistic, start, setting.constraints)
        if self.climb:
            order = yield from self.climb(setting, marginals, order)
        if self.hidden is not None:
            order, B, hidden = self.hidden(evidence.statistic, order, setting.constraints)
            return Estimate(order, B, tuple(steps), marginals, start, hidden)
        order, B, doubt = yield from self._weigh(setting, marginals, evidence, order)
        return Estimate(order, B, tuple(steps), marginals, start, doubt=doubt)

    def _weigh(
        self, setting: Setting, marginals: Marginals, evidence: Evidence[T], order: IntVector
    ) -> Rounds[tuple[IntVector, Matrix, Doubt | None]]:
        """The order, or another one where the data speak against it; effects; and what speaks for and against."""

        def effects(doubt: Doubt | None) -> Matrix:
            doubted = doubt.doubtful if doubt else not setting.past  # effects of before are small, and not judged
            return self.weights.along(order, marginals.cov, marginals.rows, setting.constraints, doubted=doubted)

        if self.judge is None or not marginals.even or setting.fills_gaps or setting.past:
            return order, effects(None), None
        doubt = self.judge(evidence.statistic, order)
        if self.reconsider:
            other = yield from self.reconsider(setting, doubt)
            if other is not None:
                order, doubt = other, self.judge(evidence.statistic, other)
        B = effects(doubt)
        if self.examine:
            judged = doubt.beside((yield from self.examine(setting, marginals, order, B != 0)))
            B = B if judged.doubtful == doubt.doubtful else effects(judged)
            doubt = judged
        return order, B, doubt

    def _take_sources(self, setting: Setting, marginals: Marginals, evidence: Evidence[T]) -> Rounds[list[Step]]:
        """Take one source after the other until one variable is left; what lies in the past is taken out before."""
        p, past = len(setting.present), setting.past_variables
        if past:
            if not self.deflation.least_squares:
                raise ConfigError("its sums follow sources alone, and no past; docs/howto/time.md says whose do")
            evidence = yield from self.deflation.remove(setting, marginals, evidence, past)
        steps: list[Step] = []
        scores = self.score(evidence.statistic)
        beyond_doubt = DOUBT * float(np.median(scores))
        while True:
            steps.append(_followed(setting, _next(setting, evidence.variables, scores, steps), steps))
            while self.layers and len(steps) < p - 1:
                another = _next(setting, evidence.variables, scores, steps)
                if another.scores.max() < beyond_doubt:
                    break
                steps.append(_followed(setting, another, steps))
            if len(steps) == p - 1:
                return steps
            before = evidence
            evidence = yield from self.deflation.remove(setting, marginals, evidence, _taken(setting, steps))
            if evidence is not before:
                scores = self.score(evidence.statistic)


def _next(setting: Setting, variables: tuple[int, ...], scores: Vector, steps: list[Step]) -> Step:
    """The step after those already made."""
    taken = _taken(setting, steps)
    return choose(variables, scores, taken, setting.candidates(taken))


def _followed(setting: Setting, step: Step, steps: list[Step]) -> Step:
    """The step that is taken after some; where an order is followed, the one that this tells."""
    if len(steps) >= len(setting.followed):
        return step
    source = setting.followed[len(steps)]
    return replace(step, chosen=source) if setting.insists else following(step, source)


def _taken(setting: Setting, steps: Sequence[Step]) -> tuple[int, ...]:
    """What lies in the past, and the sources so far."""
    return (*setting.past_variables, *[step.chosen for step in steps])


def choose(
    variables: tuple[int, ...], scores: Vector, taken: tuple[int, ...], admissible: Collection[int] | None = None
) -> Step:
    """The best candidate not yet taken; the variable that stands first wins a tie, an only candidate by nothing."""
    allowed = frozenset(variables if admissible is None else admissible).difference(taken)
    kept = [k for k, variable in enumerate(variables) if variable in allowed]
    candidates, of_candidates = tuple([variables[k] for k in kept]), scores[kept]
    if not np.isfinite(of_candidates).all():
        raise StatisticError("scores overflow; express the variables in units that give values nearer to one")
    best = int(np.argmax(of_candidates))
    others = np.delete(of_candidates, best)
    margin = float(of_candidates[best] - np.max(others)) if len(others) else 0.0
    return Step(candidates, of_candidates, candidates[best], margin)


def following(step: Step, source: int) -> Step:
    """The step that takes a source which somebody else took; raises unless no candidate is better by more than a hair.

    Scores are made of float64, in which two machines may differ in the last bits.
    """
    if source == step.chosen:
        return step
    if source in step.candidates:
        least = step.scores.max() - TIE * np.abs(step.scores).max()
        if step.scores[step.candidates.index(source)] >= least:
            return replace(step, chosen=source)
    raise ProtocolError("a source was taken that is not the best one by the same sums")


def local(value: Any) -> Rounds[Any]:
    """A conversation that asks nothing and returns `value`."""
    yield from ()
    return value
