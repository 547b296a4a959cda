"""Where methods are found by name: the command line, the tests and the documentation all look here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from fedrcd.errors import ConfigError
from fedrcd.methods.auto import AUTO
from fedrcd.methods.skeleton import Parts
from fedrcd.suggest import did_you_mean

Recipe: TypeAlias = Callable[..., Parts[Any]]
"""A function of a method's options (all keyword-only) that returns its parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a user wants to know of a method before choosing it."""

    name: str
    score: str
    deflation: str
    rounds: str
    payload: str
    coverage: str
    scale_free: bool
    erasable: bool
    counterpart: str = ""
    """For a method that works on one table: the one that gives the same order from sums over sites."""
    recipe: Recipe

    @property
    def one_table(self) -> bool:
        """Whether the method needs all rows in one table."""
        return bool(self.counterpart)

    def expected_rounds(self, p: int) -> int:
        """How many rounds it takes with p variables, besides those that ask for moments; a table counts as a site."""
        rounds = METHODS[self.counterpart].rounds if self.one_table else self.rounds
        return {"1": 1, "p - 1": p - 1, "p": p}[rounds]

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
            if kind is int and (not isinstance(value, Integral) or isinstance(value, bool) or value < 0):
                raise ConfigError(f"{option} must be a whole number of at least 0, got {value!r}")
        return {**allowed, **options}


METHODS: dict[str, Card] = {}

COMMON_OPTIONS: dict[str, Any] = {"weights": "adaptive-lasso", "penalty": 0.01}
"""Options that every method takes."""


def register(name: str, **card: Any) -> Callable[[Recipe], Recipe]:
    """Make a recipe known under a name; the other arguments are fields of its `Card`."""

    def enter(recipe: Recipe) -> Recipe:
        METHODS[name] = Card(name=name, recipe=recipe, **card)
        return recipe

    return enter


def find(name: str) -> Card:
    """The card of a method; an unknown name is answered with the nearest ones."""
    if not isinstance(name, str):
        raise ConfigError(f"method must be a name, got {name!r}")
    listed = ", ".join(METHODS)
    if name == AUTO:
        raise ConfigError(f"nothing chooses a method here; instead of {AUTO} name one of {listed}")
    if name not in METHODS:
        hint = did_you_mean(name.lower(), (AUTO, *METHODS)) or f"; take {AUTO}, or one of {listed}"
        raise ConfigError(f"there is no method {name!r}{hint}")
    return METHODS[name]


def build(name: str, **options: Any) -> Parts[Any]:
    """A method with its options set; unknown options are errors."""
    card = find(name)
    settings = card.resolve(options)
    parts = card.recipe(**{option: settings[option] for option in card.options})
    weights = replace(
        parts.weights, selection=settings["weights"], penalty=settings["penalty"], correlation=card.scale_free
    )
    return replace(parts, weights=weights)


def require_options(method: str, options: Mapping[str, Any]) -> None:
    """Raise for an option that the method does not have; "auto" has those that all methods have."""
    for option in options if method == AUTO else ():
        if option not in COMMON_OPTIONS:
            common = ", ".join(COMMON_OPTIONS)
            raise ConfigError(f"auto has no option {option!r}; its options: {common}; name a method to set others")
    build("fedrcd-s" if method == AUTO else method, **options)
