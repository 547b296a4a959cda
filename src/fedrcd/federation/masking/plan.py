"""The plan of a masked run: all that decides what is asked, so that every site works the question out by itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any, NamedTuple, Self

from fedrcd.confidence.replicates import one_round
from fedrcd.data.agreed import Agreed
from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError, FedrcdError, ProtocolError
from fedrcd.federation.masking.adding import require_possible
from fedrcd.federation.masking.answers import MaskedQuestion, question_name
from fedrcd.federation.masking.coverage import require_hidden, totals_of
from fedrcd.federation.masking.ring import Words
from fedrcd.federation.masking.vectors import Shape
from fedrcd.federation.messages.digests import canonical
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.methods.registry import build, card_of
from fedrcd.methods.settings import Settings
from fedrcd.methods.skeleton import Estimate, Parts
from fedrcd.protocol.blas import one_blas_thread
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.in_process import WITHIN, Within, after_own
from fedrcd.protocol.questions import Question, Rounds
from fedrcd.protocol.transport import Setting
from fedrcd.runs.finding import Resampling
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.grid import ARITHMETIC


class Planned(NamedTuple):
    """A question of a run over a cohort, how it is masked, and who is in which of its totals."""

    question: Question[Any]
    asked: MaskedQuestion
    shape: Shape
    layout: Layout | None
    totals: list[frozenset[tuple[str, str]]]


@dataclass(slots=True)
class Replay:
    """A site's own copy of the method of a run: at a question, `planned`, or at its end, with an `estimate`.

    `rows` is how many there are over all sites at most.
    """

    plan: MaskedPlan
    federation: Federation
    cohort: tuple[str, ...]
    rows: int
    conversation: Rounds[Estimate]
    planned: Planned | None = None
    estimate: Estimate | None = None

    def add(self, total: Words) -> None:
        """Go on with the total of the round; raises unless some rows can have it and the next question can be asked."""
        if self.planned is None:
            raise ProtocolError("there are more rounds than the method asks for")
        sums = self.planned.shape.pooled(total)
        require_possible(sums, self.rows)
        try:
            with one_blas_thread():
                question = self.conversation.send(sums)
        except StopIteration as end:
            self.planned, self.estimate = None, end.value
            return
        self.planned = self.plan.planned(question, self.federation, self.cohort)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedPlan:
    """What a masked run will ask and do: the method that was chosen, all settings, the bootstrap with its seed.

    `title` and `purpose` are for people, who see them at every site before anything leaves.
    """

    method: str
    settings: Settings
    resampling: Resampling | None = None
    program: str = version("fedrcd")
    title: str = ""
    purpose: str = ""

    @property
    def text(self) -> str:
        """The plan as all sites sign it."""
        resampling = self.resampling and asdict(self.resampling)
        said = {"method": self.method, "settings": self.settings.as_dict(), "resampling": resampling}
        return canonical({**said, "program": self.program, "title": self.title, "purpose": self.purpose})

    @classmethod
    def read(cls, text: str) -> Self:
        """The plan in a text; `ProtocolError` unless it is one."""
        try:
            content: dict[str, Any] = json.loads(text)
            drawn = content["resampling"]
            plan = cls(
                method=content["method"],
                settings=Settings.from_dict(content["settings"]),
                resampling=drawn and Resampling(**drawn),
                program=content["program"],
                title=content["title"],
                purpose=content["purpose"],
            )
            if plan.text != text:
                raise ProtocolError("this is no plan of a masked run")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, FedrcdError):
            raise ProtocolError("this is no plan of a masked run") from None
        return plan

    @property
    def groups(self) -> int:
        """Groups of rows that are asked for; 0 for none."""
        return self.resampling.groups if self.resampling else 0

    @property
    def within(self) -> Within:
        """How sites express their rows; `ConfigError` for a way that masks hide."""
        self.settings.check_within()
        for one in WITHIN:
            if self.settings.within == one:
                return one
        raise ConfigError("within='auto' asks every site for moments of its own, which masks hide")

    @property
    def given(self) -> Agreed:
        """What the method is given beside its own defaults: it decides which residuals are asked for."""
        return Agreed(self.settings.knowledge, dict(self.settings.options), self.within)

    @property
    def goes_on(self) -> bool:
        """Whether there are rounds after the first."""
        return not self.resampling and not card_of(self.method).rounds.once

    def rounds(self, p: int) -> int:
        """How many rounds there are with p variables."""
        return card_of(self.method).rounds_with(self.settings.method_options, p)

    def sources_of(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """The sources that led to an order; none are told by one that was refined afterwards."""
        return () if self.parts.refine else order

    @property
    def parts(self) -> Parts[Any]:
        """The method with its options set."""
        card, options = card_of(self.method), self.settings.method_options
        if card.one_table:
            raise ConfigError(f"{card.name} works on one table, where there is nothing to mask")
        if self.resampling:
            return one_round(card, options)
        if not card.maskable:
            raise ConfigError(f"{card.name} asks several times, for what sites cannot work out by themselves")
        return build(self.method, **options)

    def setting(self, federation: Federation, cohort: Sequence[str]) -> Setting:
        """What the method knows before its question, which is all in the federation file and the plan.

        Under masks the noise of sites adds up to all of it without those that may collude, who know their own.
        """
        if self.settings.wants_noise and not federation.single_rows:
            raise ConfigError(
                "noise hides single rows, and one of this federation is part of several, or a subject has several: it "
                "goes with unit = 'row' and no lags"
            )
        frame = federation.declared_frame()
        if frame is None:
            raise ConfigError(
                "masks need a frame that the federation file declares for every variable; see `fedrcd frame propose`"
            )
        setting = Setting(
            federation.variables,
            after_own(frame, self.within),
            cohort_layout(federation, cohort),
            noise_part=1 / max(len(cohort) - federation.colluding, 1),
            noise_parts=len(cohort),
            grid=ARITHMETIC[self.settings.summation],
            past=federation.lags,
        )
        return setting.knowing(self.settings.knowledge)

    def over(self, federation: Federation, cohort: tuple[str, ...]) -> Planned:
        """What is asked of a cohort; `ConfigError`, with the reason, where masks cannot be, or would not hide it."""
        question = next(self.parts.rounds(self.setting(federation, cohort)))
        if self.groups:
            question = GroupedQuestion(question, self.groups)  # type: ignore[arg-type]
        return self.planned(question, federation, cohort)

    def planned(self, question: Question[Any], federation: Federation, cohort: tuple[str, ...]) -> Planned:
        """How a question is asked of a cohort; `ConfigError`, with the reason, where it cannot be masked."""
        layout = cohort_layout(federation, cohort)
        if not question.maskable:
            raise ConfigError("only sums of whole numbers can be masked; take arithmetic='exact'")
        require_hidden(question, layout, cohort, federation.colluding)
        shape = Shape.of(question, layout)
        named = question_name(question, cohort)
        everybody = frozenset((site.name, block) for site in federation.sites for block in site.blocks)
        totals = [frozenset(one for one in everybody if one[0] in cohort)]
        if layout is not None:
            totals = totals_of(question, layout)
        return Planned(question, MaskedQuestion(named, shape.length, shape.ring), shape, layout, totals)

    def replayed(
        self, federation: Federation, cohort: tuple[str, ...], totals: bytes, sources: tuple[int, ...], rows: int
    ) -> Replay:
        """Where the method is given the totals of all rounds so far, one after the other.

        `sources` are those that the coordinator took; they are followed if they are as good as the best. `rows` is how
        many there are at most.
        """
        setting = self.setting(federation, cohort)
        chosen = tuple(one for one in sources if one not in setting.past_variables)  # the past is nobody's choice
        setting = replace(setting, followed=chosen)
        replay = Replay(self, federation, cohort, rows, self.parts.rounds(setting))
        with one_blas_thread():
            replay.planned = self.planned(next(replay.conversation), federation, cohort)
        left = totals
        while left and replay.planned is not None:
            asked = replay.planned.asked
            size = asked.length * asked.ring.width
            replay.add(asked.ring.from_bytes(left[:size], asked.length))
            left = left[size:]
        return replay
