"""Transports pool the answers of sites; `InProcess` is the reference and the embedded default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.graphs.past_names import earlier
from fedrcd.protocol.accept import accept
from fedrcd.protocol.combine import Pooling, in_the_clear
from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.protocol.gather import Answer, gather
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Basis, Question, S
from fedrcd.protocol.site import Site
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.protocol.wire import size_of
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.directions import Whitening
from fedrcd.statistics.exact_sums import Clipped
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid, rounded_map
from fedrcd.statistics.sums import Sums
from fedrcd.typing import Matrix


@dataclass(slots=True)
class Traffic:
    """What a conversation has cost so far."""

    rounds: int = 0
    bytes_sent: int = 0
    """Bytes of all answers of all sites, in the form in which they travel."""
    numbers: int = 0
    """Numbers about rows that these answers told."""
    clipped: Clipped | None = None
    """Values that the first exact sums had to clip; None while sums are float64."""
    answers: int = 0
    expected: int = 0
    """Answers that the conversation will take, 0 if it is not known."""

    @property
    def share(self) -> float | None:
        """How much of the conversation is done, if it is known how long it is."""
        return min(1.0, self.answers / self.expected) if self.expected else None

    @property
    def words(self) -> str:
        """What it has cost, for people who wait."""
        return f"round {self.rounds}, {self.bytes_sent:,} bytes sent"

    def count(self, answer: Sums) -> None:
        """Count what one site sent."""
        self.bytes_sent += size_of(answer)
        self.numbers += answer.entries
        self.answers += 1

    def add(self, before: Traffic) -> None:
        """Count what was asked in a conversation before this one."""
        self.rounds += before.rounds
        self.bytes_sent += before.bytes_sent
        self.numbers += before.numbers

    def note_clipped(self, pooled: Sums) -> None:
        """Remember what the first exact sums clipped: later rounds are over the same rows."""
        if self.clipped is None:
            self.clipped = pooled.clipped


@dataclass(frozen=True, slots=True)
class Setting:
    """What every method knows before its first question."""

    variables: tuple[str, ...]
    frame: Frame
    layout: Layout | None = None
    """Who holds what; None where every site holds all variables of rows of its own."""
    fills_gaps: bool = False
    """Whether gaps are filled by pooled moments, which methods ask for first."""
    given: Gaussian | None = None
    """Those moments, once they are known."""
    grid: Grid | None = None
    """The grid on which pair and tensor sums are exact; without, they are float64."""
    constraints: Constraints | None = None
    """What is known of the graph before the data are seen."""
    robust: Frame | None = None
    """Medians and robust scales of the rows, in the frame; None where the frame was declared, and is about that."""
    past: int = 0
    """Steps of time that every row goes back: all variables now come first, then all of one step before, and so on."""
    followed: tuple[int, ...] = ()
    """Sources that somebody else took, who has the same sums: taken here too if they are as good as the best."""
    insists: bool = False
    """Whether these are taken whatever the sums say: then steps tell what the sums would have taken."""
    noise_part: float = 1.0
    """The part of the variance of noise that every site adds: all of it, where none relies on others to add theirs."""
    noise_parts: int = 1
    """How many sites add as much."""

    def pairs(self, order: int, *, complete: bool = False) -> PairQuestion:
        """Asks for pair sums of all variables."""
        return PairQuestion(self.variables, self.frame, order, complete=complete, given=self.given, grid=self.grid)

    def residual_pairs(self, order: int, R: Matrix, basis: Basis | None = None) -> PairQuestion:
        """Asks for pair sums of residuals R z, which come from a basis; exact sums need R on a grid, too."""
        on_grid = R if self.grid is None else rounded_map(R)
        return PairQuestion(self.variables, self.frame, order, on_grid, grid=self.grid, basis=basis)

    def tensor(self) -> TensorQuestion:
        """Asks for tensor sums of all variables."""
        return TensorQuestion(self.variables, self.frame, self.given, self.grid)

    def directions(self, whitening: Whitening, *, near: bool = False) -> DirectionQuestion:
        """Asks for second moments of the directions of rows under a whitening; with `near` those far out count less."""
        return DirectionQuestion(self.variables, self.frame, whitening, self.grid, near)

    def direction_tensor(self, whitening: Whitening, *, near: bool = False) -> DirectionTensorQuestion:
        """Asks for tensor sums of these directions."""
        return DirectionTensorQuestion(self.variables, self.frame, whitening, self.grid, near)

    @property
    def present(self) -> tuple[str, ...]:
        """The variables that have an order to be found: all, but for those of steps before."""
        return self.variables[: len(self.variables) // (self.past + 1)]

    @property
    def past_variables(self) -> tuple[int, ...]:
        """Those of steps before, earliest first."""
        return earlier(len(self.present), self.past)

    def knowing(self, known: Knowledge | None) -> Setting:
        """The same with what is known of the graph, and of time: nothing that is now affects what was before."""
        constraints = known.constraints(self.present, self.past) if known else None
        if self.past and constraints is None:
            constraints = Constraints.none(len(self.present)).with_past(self.past)
        return self if constraints is None else replace(self, constraints=constraints)

    def candidates(self, placed: Sequence[int]) -> list[int] | None:
        """Variables that may follow those already placed; None if any may."""
        return None if self.constraints is None else self.constraints.admissible(placed)


class Transport(Protocol):
    """Carries a question to all sites and adds up what they answer."""

    @property
    def setting(self) -> Setting:
        """Variables and frame of the federation."""
        ...

    @property
    def traffic(self) -> Traffic:
        """Rounds and bytes so far."""
        ...

    def pool(self, question: Question[S]) -> S:
        """The sum of all sites' answers."""
        ...


class Around:
    """What a transport around another, `behind`, has from it."""

    __slots__ = ()

    behind: Transport

    @property
    def setting(self) -> Setting:
        """Of the transport behind."""
        return self.behind.setting

    @property
    def traffic(self) -> Traffic:
        """Of the transport behind."""
        return self.behind.traffic


@dataclass(frozen=True, slots=True)
class InProcess:
    """All sites live in this process; answers are added in the order the sites are given."""

    sites: Sequence[Site]
    setting: Setting
    progress: Callable[[Traffic], None] | None = None
    traffic: Traffic = field(default_factory=Traffic)
    combine: Pooling = in_the_clear
    """How answers are added: as they are, or under masks."""

    def pool(self, question: Question[S]) -> S:
        """The sum of all sites' answers: gathered, accepted, combined."""
        self.traffic.rounds += 1
        layout = self.setting.layout
        gathered = gather(question, self.sites, layout)
        accepted = (Answer(one.site, accept(question, one)) for one in gathered)
        pooled: S = self.combine(question, layout, accepted, self._count)
        self.traffic.note_clipped(pooled)
        return pooled

    def _count(self, answer: Sums) -> None:
        self.traffic.count(answer)
        if self.progress:
            self.progress(self.traffic)
