"""Where methods are found by name: the command line, the tests and the documentation all look here.

Importing this module registers every method; a new one of ours is a module beside it, named in the list below. A
method of somebody else's is found once it is registered, wherever its module is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from fedrcd.errors import ConfigError
from fedrcd.methods.card import REGISTERED, Card, register
from fedrcd.methods.settings import AUTO, COMMON_OPTIONS
from fedrcd.methods.skeleton import Parts
from fedrcd.suggest import did_you_mean

__all__ = [
    "AUTO",
    "COMMON_OPTIONS",
    "METHODS",
    "PRIVATE",
    "Card",
    "build",
    "card_of",
    "find",
    "first",
    "register",
    "require_options",
]

MODULES = (
    "fedrcd_s",
    "fedrcd_se",
    "fedrcd_sp",
    "fedrcd_r",
    "fedrcd_t",
    "fedrcd_x",
    "fedrcd_ni",
    "fedrcd_def",
    "fedhc",
    "fedishc",
    "direct_lingam",
    "fedrcd_dp",
)
"""As tables show them."""


def _load() -> dict[str, Card]:
    """All cards, ours in the order of their modules whichever was imported first, then those of others.

    It is the dictionary that `register` enters cards into: a method is found as soon as its module is imported.
    """
    modules = [import_module(f"fedrcd.methods.{name}").__name__ for name in MODULES]
    places = {module: place for place, module in enumerate(modules)}
    cards = sorted(REGISTERED.items(), key=lambda item: places.get(item[1].recipe.__module__, len(places)))
    REGISTERED.clear()
    REGISTERED.update(cards)
    return REGISTERED


METHODS: dict[str, Card] = _load()
PRIVATE: dict[str, Card] = {name: METHODS.pop(name) for name, card in list(METHODS.items()) if card.private}
"""Methods under noise, which find something else every time: they are reached by an epsilon."""


def find(name: str) -> Card:
    """The card of a method; an unknown name is answered with the nearest ones."""
    if not isinstance(name, str):
        raise ConfigError(f"method must be a name, got {name!r}")
    listed = ", ".join(METHODS)
    if name == AUTO:
        raise ConfigError(f"nothing chooses a method here; instead of {AUTO} name one of {listed}")
    if name in PRIVATE:
        raise ConfigError(f"{name} adds noise, and is offered by fedrcd.discover(tables, epsilon=..., frame=...) alone")
    if name not in METHODS:
        hint = did_you_mean(name.lower(), (AUTO, *METHODS)) or f"; take {AUTO}, or one of {listed}"
        raise ConfigError(f"there is no method {name!r}{hint}")
    return METHODS[name]


def card_of(name: str) -> Card:
    """The card of a method, under noise or not."""
    return PRIVATE.get(name) or find(name)


def first(suits: Callable[[Card], bool], *, cards: Mapping[str, Card] = METHODS) -> Card:
    """The first method that suits: of those that `auto` takes by their rank, then of the others as tables show them."""
    last = 1 + max(card.auto.rank for card in cards.values() if card.auto)
    ranked = sorted(cards.values(), key=lambda card: card.auto.rank if card.auto else last)
    return next(card for card in ranked if suits(card))


def build(name: str, **options: Any) -> Parts[Any]:
    """A method with its options set; unknown options are errors."""
    card = card_of(name)
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
    build(next(iter(METHODS)) if method == AUTO else method, **options)
