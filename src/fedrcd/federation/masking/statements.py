"""What sites say and sign when sums are masked: the terms of a run, the roll call, the masked answer.

A statement is signed as canonical JSON under a prefix of the protocol and its kind. Digests cover statements, never
signatures: a signature can be made anew, a statement cannot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from typing import Any, ClassVar, Protocol, Self, TypeVar, get_type_hints

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking.derivation import KEY_BYTES, digest
from fedrcd.federation.messages.digests import canonical
from fedrcd.federation.messages.signatures import is_signed_by
from fedrcd.statistics.exact_sums import MOST_ROWS

RUN_BYTES = 16
"""Of the random number of a run."""

LONGEST = 2**20
"""Characters of a statement at most."""

OWN_SUMS = "own-sums/1"
"""A site judges its own sums before it masks them: nobody else can."""


DIFFERENCES = "differences"
"""That others may be told this site's sums by differences of totals: where it is missing once, for instance."""

AGREEABLE = frozenset({DIFFERENCES})
"""What people at a site may accept."""


class Signer(Protocol):
    """Signs with the registered key of a site."""

    def sign(self, kind: str, content: bytes) -> str:
        """The signature of something of a kind, in hexadecimal."""
        ...


class Declaration:
    """What is said, as canonical bytes; made only if it makes sense."""

    __slots__ = ()

    kind: ClassVar[str]

    @property
    def content(self) -> bytes:
        """The canonical bytes."""
        names = (one.name for one in fields(self))  # type: ignore[arg-type]  # subclasses are dataclasses
        return canonical({name: getattr(self, name) for name in names}).encode()

    @property
    def digest(self) -> bytes:
        """SHA-256 of the canonical bytes, with the kind."""
        return digest(self.kind.encode(), self.content)

    @classmethod
    def read(cls, text: str) -> Self:
        """The statement in canonical text; `ProtocolError` unless it has exactly this form."""
        return cls._of(text)

    @classmethod
    @lru_cache(maxsize=1024)
    def _of(cls, text: str) -> Self:
        """As `read`: every statement is looked at several times."""
        wrong = ProtocolError(f"this is no {cls.kind}")
        if len(text) > LONGEST:
            raise wrong
        try:
            content = json.loads(text)
            hints = _hints(cls)  # type: ignore[arg-type]  # a class can be hashed
            values = {one.name: _value(content.pop(one.name), hints[one.name]) for one in fields(cls)}  # type: ignore[arg-type]
            made = cls(**values)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise wrong from None
        if content or made.content != text.encode():
            raise wrong
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms(Declaration):
    """On what terms a run is held: what a coordinator asks the sites of a cohort to sign.

    `federation` is the digest of the federation file, `run` a random number that is used once, `plan` all that the run
    will ask, as canonical JSON, and `expires` when it is over, in seconds since 1970.
    """

    federation: str
    run: str
    plan: str
    cohort: tuple[str, ...]
    expires: int

    kind: ClassVar[str] = "terms of a run"

    def __post_init__(self) -> None:
        _require_hex(self.run, RUN_BYTES)
        _require(canonical(json.loads(self.plan)) == self.plan and len(set(self.cohort)) == len(self.cohort) > 0)

    @property
    def plan_digest(self) -> str:
        """What identifies the plan."""
        return digest(b"plan", self.plan.encode()).hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class RollCall(Declaration):
    """That a site takes part in a run: on what terms, with which run key, about which edition.

    `edition` is the random label of its edition, `rows` a bound on its rows, `judges` what it checks of its own sums.
    `agrees` says what its people accept, of `AGREEABLE`; `totals` are those that its sums went into before.
    """

    federation: str
    run: str
    plan: str
    cohort: tuple[str, ...]
    site: str
    key: str
    edition: str
    rows: int
    judges: str
    expires: int
    agrees: tuple[str, ...] = ()
    totals: tuple[str, ...] = ()

    kind: ClassVar[str] = "roll call"

    def __post_init__(self) -> None:
        _require_hex(self.run, RUN_BYTES)
        _require_hex(self.key, KEY_BYTES)
        _require(0 <= self.rows <= MOST_ROWS and self.site in self.cohort)
        _require(set(self.agrees) <= AGREEABLE and list(self.totals) == sorted(set(self.totals)))

    @property
    def terms(self) -> tuple[Any, ...]:
        """What all sites of a run say alike."""
        return self.federation, self.run, self.plan, self.cohort, self.expires

    @property
    def run_key(self) -> bytes:
        """The public run key."""
        return bytes.fromhex(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedAnswer(Declaration):
    """That a vector is a site's answer to a question of a run, under its masks.

    `transcript` is the digest of all roll calls, `before` that of the round before (of the first, the transcript
    again), `vector` the digest of the masked numbers.
    """

    transcript: str
    before: str
    site: str
    round: int
    question: str
    length: int
    vector: str

    kind: ClassVar[str] = "masked answer"

    def __post_init__(self) -> None:
        _require(self.round >= 1 and self.length >= 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd(Declaration):
    """That a run is over at a site: `answers` is the digest of what all sites signed, `result` that of the result."""

    transcript: str
    site: str
    answers: str
    result: str

    kind: ClassVar[str] = "end of a run"


S = TypeVar("S", bound=Declaration)


@dataclass(frozen=True, slots=True)
class Signed:
    """A statement as text, and the signature under it."""

    text: str
    signature: str

    @classmethod
    def by(cls, signer: Signer, statement: Declaration) -> Signed:
        """A statement, signed."""
        return cls(statement.content.decode(), signer.sign(_kind(statement), statement.content))

    def read(self, kind: type[S], public: str) -> S:
        """What was signed; `ProtocolError` unless it is a statement of a kind, by the owner of a public key."""
        statement = kind.read(self.text)
        if not _is_signed(public, _kind(statement), self.text, self.signature):
            raise ProtocolError(f"the signature under a {kind.kind} is not that of the site's registered key")
        return statement


@lru_cache(maxsize=4096)
def _is_signed(public: str, kind: str, text: str, signature: str) -> bool:
    """In one process each signature is looked at by every site: once is enough."""
    return is_signed_by(public, kind, text.encode(), signature)


def forget_verified() -> None:
    """Forget what was looked at in this process: a benchmark of many sites in one would be flattered."""
    _is_signed.cache_clear()
    for kind in (RunTerms, RollCall, MaskedAnswer, RunEnd):
        kind._of.cache_clear()


def result_digest(order: Any, effects: Any) -> str:
    """What identifies a result: the order, and the effects to the bit."""
    content = {"order": order.tolist(), "B": [[value.hex() for value in row] for row in effects.tolist()]}
    return digest(b"result", canonical(content).encode()).hex()


def vector_digest(data: bytes) -> str:
    """What identifies masked numbers."""
    return digest(b"vector", data).hex()


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """Types of the fields of a statement."""
    return get_type_hints(kind)


def _kind(statement: Declaration) -> str:
    return f"masking/1 {statement.kind}"


def _value(value: Any, hint: Any) -> Any:
    """A value of JSON as the field has it."""
    if hint in (str, int):
        if type(value) is not hint:
            raise TypeError
        return value
    if type(value) is not list or any(type(one) is not str for one in value):
        raise TypeError
    return tuple(value)


def _require_hex(text: str, size: int) -> None:
    """Raise unless a text is so many bytes in hexadecimal, in its one form."""
    _require(len(text) == 2 * size and bytes.fromhex(text).hex() == text)


def _require(holds: bool) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise ValueError


SiteKeys = Mapping[str, str]
"""The registered public key of every site, by name."""
