"""The plan of a masked run: all that decides what is asked, so that every site works the question out by itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, NamedTuple, Self

from fedrcd.confidence.replicates import one_round
from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError, FedrcdError, ProtocolError
from fedrcd.federation.ledger.digests import canonical
from fedrcd.federation.masking.coverage import require_hidden, totals_of
from fedrcd.federation.masking.derivation import digest
from fedrcd.federation.masking.site_run import MaskedQuestion
from fedrcd.federation.masking.vectors import Shape
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.methods.registry import build, find
from fedrcd.methods.settings import Settings
from fedrcd.methods.skeleton import Parts
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.questions import Question
from fedrcd.protocol.transport import Setting
from fedrcd.protocol.wire import to_bytes
from fedrcd.runs.finding import Resampling
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.grid import ARITHMETIC


class Planned(NamedTuple):
    """The one question of a run over a cohort, how it is masked, and who is in which of its totals."""

    question: Question[Any]
    asked: MaskedQuestion
    shape: Shape
    layout: Layout | None
    totals: list[frozenset[tuple[str, str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedPlan:
    """What a masked run will ask and do: the method that was chosen, all settings, the bootstrap with its seed."""

    method: str
    settings: Settings
    resampling: Resampling | None = None
    program: str = version("fedrcd")

    @property
    def text(self) -> str:
        """The plan as all sites sign it."""
        resampling = self.resampling and asdict(self.resampling)
        said = {"method": self.method, "settings": self.settings.as_dict(), "resampling": resampling}
        return canonical({**said, "program": self.program})

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
    def parts(self) -> Parts[Any]:
        """The method with its options set."""
        card, options = find(self.method), self.settings.method_options
        if card.one_table:
            raise ConfigError(f"{card.name} works on one table, where there is nothing to mask")
        if self.resampling:
            return one_round(card, options)
        if not card.rounds.once:
            raise ConfigError(f"{card.name} asks several times, and masks are offered for methods that ask once")
        return build(self.method, **options)

    def setting(self, federation: Federation, layout: Layout | None) -> Setting:
        """What the method knows before its question, which is all in the federation file and the plan."""
        frame = federation.declared_frame()
        if frame is None:
            raise ConfigError(
                "masks need a frame that the federation file declares for every variable; see `fedrcd frame propose`"
            )
        known = self.settings.knowledge
        return Setting(
            federation.variables,
            frame,
            layout,
            grid=ARITHMETIC[self.settings.summation],
            constraints=known.constraints(federation.variables) if known else None,
        )

    def over(self, federation: Federation, cohort: tuple[str, ...]) -> Planned:
        """What is asked of a cohort; `ConfigError`, with the reason, where masks cannot be, or would not hide it."""
        layout = cohort_layout(federation, cohort)
        question = self._question(federation, layout)
        require_hidden(question, layout, cohort, federation.colluding)
        shape = Shape.of(question, layout)
        named = digest(b"question", to_bytes(question), *(site.encode() for site in cohort)).hex()
        everybody = frozenset((site.name, block) for site in federation.sites for block in site.blocks)
        totals = [frozenset(one for one in everybody if one[0] in cohort)]
        if layout is not None:
            totals = totals_of(question, layout)
        return Planned(question, MaskedQuestion(named, shape.length, shape.ring), shape, layout, totals)

    def _question(self, federation: Federation, layout: Layout | None) -> Question[Any]:
        question = next(self.parts.rounds(self.setting(federation, layout)))
        asked: Any = GroupedQuestion(question, self.groups) if self.groups else question  # type: ignore[arg-type]
        if asked.needs_trust or not asked.maskable:
            raise ConfigError("masks are offered for methods that ask once, for sums on a grid")
        return asked  # type: ignore[no-any-return]
