"""Who is at the console now: sessions in memory, which end with the process, in time, or with their token."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from fedrcd.console.tokens import Tokens, Visitor

LASTS = 12 * 3600.0
"""Seconds for which a session is good."""

MOST = 1000
"""Sessions at a time: beyond, the oldest ends."""

MOST_KEPT = 20
"""Things that are kept for one session."""


@dataclass(slots=True)
class Session:
    """One visitor in one browser. `form_token` is in each of its forms; `kept` is what need not be in a page."""

    visitor: Visitor
    form_token: str
    until: float
    kept: dict[str, Any] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def keep(self, name: str, value: Any) -> None:
        """Keep something for a later request, in place of the oldest of many."""
        self.kept[name] = value
        while len(self.kept) > MOST_KEPT:
            del self.kept[next(iter(self.kept))]


@dataclass(slots=True)
class Sessions:
    """All sessions of a console, and the link by which the one who started it comes in."""

    tokens: Tokens
    random: Callable[[], str]
    clock: Callable[[], float]
    start_link: str = ""
    starter: Visitor | None = None
    _open: dict[str, Session] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def offer_start(self, visitor: Visitor) -> str:
        """A word that lets somebody in once."""
        self.start_link, self.starter = self.random(), visitor
        return self.start_link

    def enter_once(self, word: str) -> str | None:
        """The name of a new session for who has the word of the start link, which is good once."""
        with self._lock:
            if not self.start_link or not hmac.compare_digest(word.encode(), self.start_link.encode()):
                return None
            visitor, self.start_link = self.starter, ""
        return None if visitor is None else self.begin(visitor)

    def enter(self, token: str) -> str | None:
        """The name of a new session for who has a token."""
        visitor = self.tokens.visitor(token)
        return None if visitor is None else self.begin(visitor)

    def begin(self, visitor: Visitor) -> str:
        """A new session."""
        name = self.random()
        with self._lock:
            self._open[name] = Session(visitor, self.random(), self.clock() + LASTS)
            while len(self._open) > MOST:
                del self._open[next(iter(self._open))]
        return name

    def find(self, name: str) -> Session | None:
        """The session of a name, if it is still good: a token that was withdrawn ends it."""
        session = self._open.get(name)
        if session is None:
            return None
        gone = session.visitor.digest and self.tokens.visitor_of_digest(session.visitor.digest) is None
        if gone or self.clock() > session.until:
            self.end(name)
            return None
        return session

    def end(self, name: str) -> None:
        """A session is over."""
        with self._lock:
            self._open.pop(name, None)
