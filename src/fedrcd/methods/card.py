"""What a method says of itself, as data: how often it asks, for what, and what it is good for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from fedrcd.errors import ConfigError
from fedrcd.methods.costs import CostEstimate, of_pairs
from fedrcd.methods.settings import AUTO, COMMON_OPTIONS
from fedrcd.methods.skeleton import Parts

Recipe: TypeAlias = Callable[..., Parts[Any]]
"""A function of a method's options (all keyword-only) that returns its parts."""


@dataclass(frozen=True, slots=True)
class RoundCount:
    """How many rounds of questions a method takes with p variables: `each` times p, and `more`."""

    each: int
    more: int
    at_most: bool = False
    """Whether it may take fewer."""

    def __call__(self, p: int) -> int:
        """The number of rounds with p variables."""
        return self.each * p + self.more

    @property
    def once(self) -> bool:
        """Whether it is one round, however many variables there are."""
        return self == ONE_ROUND

    def __str__(self) -> str:
        times = "" if not self.each else "p" if self.each == 1 else f"{self.each} p"
        count = f"{times} {'-' if self.more < 0 else '+'} {abs(self.more)}" if times and self.more else times
        return f"{'at most ' if self.at_most else ''}{count or self.more}"


ONE_ROUND = RoundCount(0, 1)


class Coverage(StrEnum):
    """Which combinations of columns must be together at some site."""

    PAIRS = "pairs"
    QUADRUPLES = "quadruples"
    ALL_COLUMNS = "all columns"

    def together(self, p: int) -> int:
        """How many of p columns must be together."""
        return {Coverage.PAIRS: 2, Coverage.QUADRUPLES: min(4, p), Coverage.ALL_COLUMNS: p}[self]


@dataclass(frozen=True, slots=True)
class Payload:
    """Order of magnitude of the numbers that a site sends in a round with p variables: `times` p^`power` / `over`."""

    power: int
    times: int = 1
    over: int = 1

    @property
    def is_tensor(self) -> bool:
        """Whether it is about combinations of four variables."""
        return self.power == 4

    def __call__(self, p: int) -> float:
        """About how many numbers with p variables."""
        return float(self.times * p**self.power) / self.over

    def __str__(self) -> str:
        times = "" if self.times == 1 else f"{self.times} "
        return f"{times}p^{self.power}" + (f" / {self.over}" if self.over != 1 else "")


@dataclass(frozen=True, slots=True)
class OneRound:
    """A method of one round, with options that it is given."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join([self.method, *(f"{name}={value}" for name, value in self.options.items())])


@dataclass(frozen=True, slots=True)
class Auto:
    """When `auto` takes a method: of those that can run, the one of the lowest rank.

    `free_rounds` marks one that is taken only where rounds cost nothing, `few_rows` one that is taken only where rows
    are few, too, and `far_apart` one that is taken only where values stand far apart, too.
    """

    rank: int
    free_rounds: bool = False
    few_rows: bool = False
    far_apart: bool = False

    @property
    def always(self) -> bool:
        """Whether it is taken wherever it can run."""
        return not (self.free_rounds or self.few_rows or self.far_apart)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a user wants to know of a method before choosing it."""

    name: str
    score: str
    deflation: str
    rounds: RoundCount
    """For a method that works on one table: those of the one that gives the same order from sums over sites."""
    payload: Payload
    """What a site sends in a round; as for rounds, those of the counterpart."""
    coverage: Coverage
    scale_free: bool
    erasable: bool
    counterpart: str = ""
    """For a method that works on one table: the one that gives the same order from sums over sites."""
    one_round: OneRound | None = None
    """For a method of several rounds: the one of one round with the same order, if there is one."""
    more_rounds: str = ""
    """The option whose number there are rounds beside the last one, if there is such an option."""
    rivals: tuple[OneRound, ...] = ()
    """Methods that find an order from the sums of this one's first round, to set beside it in doubt."""
    replayed: bool = False
    """For a method of several rounds: whether every question follows from pooled whole numbers, on any machine."""
    auto: Auto | None = None
    """When `auto` takes it; None if never."""
    cost: CostEstimate | None = None
    """What a run of it costs; None where nobody has said."""
    private: bool = False
    """Whether its sums leave with noise on them, so that it finds something else every time."""
    recipe: Recipe

    @property
    def one_table(self) -> bool:
        """Whether the method needs all rows in one table."""
        return bool(self.counterpart)

    @property
    def maskable(self) -> bool:
        """Whether its sums can be masked: it asks once, or sites can work out by themselves what it asks next."""
        return not self.one_table and (self.rounds.once or self.replayed)

    def rounds_with(self, options: Mapping[str, Any], p: int) -> int:
        """The number of rounds with p variables and some options set."""
        more = options.get(self.more_rounds)
        return self.rounds(p) if more is None else int(more) + 1

    @property
    def in_one_round(self) -> OneRound | None:
        """The method itself if it takes one round, or the one that gives its order in one; None if there is none.

        Only what is asked in one round can be resampled by groups, kept in a ledger, or asked again for nothing.
        """
        return OneRound(self.name) if self.rounds.once else self.one_round

    @property
    def asks_tensor(self) -> bool:
        """Whether it asks for sums over combinations of more than two columns, in one round."""
        return self.coverage is Coverage.QUADRUPLES

    @property
    def rounds_text(self) -> str:
        """How many rounds, in words."""
        return "-" if self.one_table else str(self.rounds)

    @property
    def payload_text(self) -> str:
        """What a site sends, in words."""
        if self.one_table:
            return "-"
        return str(self.payload) if self.rounds.once else f"{self.payload} a round"

    @property
    def needs(self) -> str:
        """What sites must hold together, in words."""
        return "one table" if self.one_table else str(self.coverage)

    @property
    def summary(self) -> str:
        """First line of the recipe's docstring."""
        return inspect.getdoc(self.recipe).split("\n")[0]  # type: ignore[union-attr]

    @property
    def options(self) -> dict[str, Any]:
        """Options of this method alone, with their defaults."""
        return {name: p.default for name, p in inspect.signature(self.recipe).parameters.items()}

    def resolve(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """All options of the method with the given ones set; unknown ones are errors."""
        allowed = {**COMMON_OPTIONS, **self.options}
        for option in options:
            if option not in allowed:
                raise ConfigError(f"{self.name} has no option {option!r}; its options: {', '.join(allowed)}")
        kinds = get_type_hints(self.recipe)
        for option, value in options.items():
            kind = kinds.get(option)
            if get_origin(kind) is Literal and value not in get_args(kind):
                raise ConfigError(f"{option} must be one of {', '.join(get_args(kind))}, got {value!r}")
            if kind is bool and not isinstance(value, bool):
                raise ConfigError(f"{option} must be True or False, got {value!r}")
            if kind is int and (not isinstance(value, Integral) or isinstance(value, bool) or value < 0):
                raise ConfigError(f"{option} must be a whole number of at least 0, got {value!r}")
        resolved = {**allowed, **options}
        if resolved["weights"] == AUTO:
            resolved["weights"] = self.selection
        return resolved

    @property
    def selection(self) -> str:
        """How edges are selected by default: the paper's methods keep the paper's way."""
        return "guarded" if self.scale_free and not self.private else "adaptive-lasso"

    def as_dict(self) -> dict[str, Any]:
        """What programs read of a method."""
        return {
            "name": self.name,
            "score": self.score,
            "deflation": self.deflation,
            "rounds": self.rounds_text,
            "payload": self.payload_text,
            "coverage": str(self.coverage),
            "scale_free": self.scale_free,
            "erasable": self.erasable,
            "counterpart": self.counterpart,
            "summary": self.summary,
            "options": {**COMMON_OPTIONS, **self.options},
        }


REGISTERED: dict[str, Card] = {}
"""Cards by name, as their modules were imported; `registry` puts ours in the order that tables show."""


PAIRS_ONCE: dict[str, Any] = {
    "rounds": ONE_ROUND,
    "payload": Payload(2),
    "coverage": Coverage.PAIRS,
    "scale_free": False,
    "erasable": True,
    "cost": of_pairs(4),
}
"""The card of the paper's methods that ask for pair sums once, but for score and deflation."""


def register(name: str, **card: Any) -> Callable[[Recipe], Recipe]:
    """Make a recipe known under a name; the other arguments are fields of its `Card`."""

    def enter(recipe: Recipe) -> Recipe:
        REGISTERED[name] = Card(name=name, recipe=recipe, **card)
        return recipe

    return enter
