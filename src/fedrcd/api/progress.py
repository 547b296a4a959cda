"""How users are told how far a run is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from fedrcd.errors import ConfigError
from fedrcd.protocol.transport import Traffic
from fedrcd.report.progress_bar import progress_bar

Progress: TypeAlias = Callable[[Traffic], None]


class Reporters(NamedTuple):
    """What is called after each answer of a site, and after each replicate of a bootstrap."""

    of_traffic: Progress | None = None
    of_replicates: Callable[[int], None] | None = None


@contextmanager
def reporters(progress: Any) -> Iterator[Reporters]:
    """From the argument `progress` of a user: a function of the traffic, True for a bar, or nothing."""
    if progress is True:
        with progress_bar("reading tables") as bar:
            yield Reporters(
                lambda traffic: bar.say(traffic.words, traffic.share), lambda done: bar.say(f"{done} replicates")
            )
    elif progress is None or progress is False:
        yield Reporters()
    else:
        require_callable("progress", progress)
        yield Reporters(progress)


def require_callable(name: str, value: object) -> None:
    """Raise unless an argument is a function or nothing."""
    if value is not None and not callable(value):
        raise ConfigError(f"{name} must be a function, got {value!r}")
