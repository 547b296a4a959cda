"""Messages of masked runs: statements of sites as text with their signatures, and numbers under masks.

What the statements say and how they are signed is in `masking.statements`; here they are only carried.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fedrcd.federation.messages.roll_call import DeclaredBlock
from fedrcd.protocol.wire import KINDS

SignedText = tuple[str, str]
"""A statement as text, and the signature under it."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedCallRequest:
    """Asks a site to take part in a masked run; `terms` are those that all sites are to sign.

    `log_head` is what the site said last of how far its log goes, as in every roll call.
    """

    site: str
    terms: str
    program: str
    log_head: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedCallReply:
    """What a site says before a masked run: as in any roll call, and its signed statement."""

    site: str
    run: str = ""
    digest: str = ""
    program: str = ""
    blocks: tuple[DeclaredBlock, ...] = ()
    statement: str = ""
    signature: str = ""
    refusal: str | None = None
    log_head: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedAsk:
    """Asks for the masked answer; `roll_calls` are those of all sites, `question` the digest of what is asked.

    The question itself does not travel: it follows from the plan, and every site works it out.
    """

    site: str
    run: str
    question: str
    roll_calls: tuple[SignedText, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MaskedReply:
    """The masked answer of a site: what it signed, and the numbers, as words of 64 bits."""

    site: str
    run: str = ""
    statement: str = ""
    signature: str = ""
    vector: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    refusal: str | None = None
    log_head: str = ""

    @property
    def data(self) -> bytes:
        """The numbers as bytes, the lowest first."""
        return self.bytes_of(self.vector)

    @staticmethod
    def bytes_of(words: npt.NDArray[np.int64]) -> bytes:
        """The bytes of words, the lowest first."""
        return np.ascontiguousarray(words).astype("<i8").tobytes()

    @staticmethod
    def words(data: bytes) -> npt.NDArray[np.int64]:
        """Bytes as the words that travel."""
        return np.frombuffer(data, dtype="<i8").astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ReplayAsk:
    """Asks for the masked answer of a later round, with all masked answers of the round before.

    They are `answers`, in the order of the cohort, and their numbers one after the other. `sources` are those that
    the coordinator's method took so far; the question follows from them and from the total, and does not travel.
    """

    site: str
    run: str
    round: int
    question: str
    sources: tuple[int, ...]
    answers: tuple[SignedText, ...]
    vectors: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ReplayEnd:
    """Tells a site what a run of several rounds found, with all masked answers of the last round."""

    site: str
    run: str
    answers: tuple[SignedText, ...]
    vectors: npt.NDArray[np.int64]
    order: tuple[int, ...]
    effects: npt.NDArray[np.float64]
    result: str


@dataclass(frozen=True, slots=True, eq=False)
class MaskedEnd:
    """Tells a site that the run is over, with what all sites signed under their answers and the result's digest."""

    site: str
    run: str
    answers: tuple[SignedText, ...]
    result: str


@dataclass(frozen=True, slots=True, eq=False)
class MaskedEndReply:
    """A site's signature under the end of a run; its keys and its answer are erased.

    `apart` is its own verdict on how far its rows are from those of all others: 0 within chance, then one more for each
    doubling of the distance. It tells no figure.
    """

    site: str
    run: str = ""
    statement: str = ""
    signature: str = ""
    apart: int = 0
    refusal: str | None = None
    log_head: str = ""


KINDS["masked-call-request/2"] = MaskedCallRequest
KINDS["masked-call-reply/2"] = MaskedCallReply
KINDS["masked-ask/1"] = MaskedAsk
KINDS["masked-reply/2"] = MaskedReply
KINDS["replay-ask/1"] = ReplayAsk
KINDS["replay-end/1"] = ReplayEnd
KINDS["masked-end/1"] = MaskedEnd
KINDS["masked-end-reply/3"] = MaskedEndReply
