"""What a site does in a masked run: calls out its name, then answers, round after round. Bytes in, bytes out.

A run goes through three states, each a value that the site's store keeps: `called` has the secret run key, `answered`
the bytes that left, `ended` nothing but the reason. A transition gives the next state and the bytes to send. The store
must have the state on the disk before the bytes leave; then no mask is ever used for two vectors: in the state that has
the secret nothing masked has left, and in the one after it the secret is gone. A run of several rounds keeps chains in
its place, from which the keys of later rounds follow, and nothing of earlier ones; and the totals so far.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking.answers import Masked, MaskedQuestion, Position, added, after, statement_of
from fedrcd.federation.masking.derivation import (
    KEY_BYTES,
    MaskUse,
    RunKey,
    digest,
    masked,
    next_chain,
    pair_chain,
    public_key,
)
from fedrcd.federation.masking.ring import Ring, Words
from fedrcd.federation.masking.statements import (
    OWN_SUMS,
    MaskedAnswer,
    RollCall,
    RunEnd,
    RunTerms,
    Signed,
    Signer,
    SiteKeys,
)
from fedrcd.federation.messages.digests import canonical


class Stage(StrEnum):
    """How far a run is at a site."""

    CALLED = "called"
    ANSWERED = "answered"
    ENDED = "ended"


class RunAborted(ProtocolError):
    """A check failed: the run is over at this site. `state` is the tombstone, which must be kept."""

    def __init__(self, why: str, state: SiteRun) -> None:
        super().__init__(why)
        self.state = state


class RunRefused(ProtocolError):
    """A message is not answered; nothing changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRun:
    """The state of one run at one site."""

    run: str
    stage: Stage
    request: str
    """Digest of the request of the roll call."""
    expires: int
    roll_call: Signed | None = None
    secret: str = ""
    """The secret run key, in hexadecimal, until the answer is made."""
    question: str = ""
    """What was answered."""
    round: int = 0
    """When."""
    before: str = ""
    """Digest of the rounds before that."""
    rows: int = 0
    """How many rows all sites have at most."""
    editions: str = ""
    """Digest of which editions of all sites the run is about."""
    chains: Mapping[str, str] = field(default_factory=dict)
    """What the masks of the next round follow from, in hexadecimal, by the other site; none in the last round."""
    answer: Signed | None = None
    vector: bytes = b""
    totals: bytes = b""
    """Those of all rounds before, one after the other."""
    reason: str = ""
    """Why it ended."""

    def ended(self, reason: str) -> SiteRun:
        """The tombstone: no key, no answer."""
        return SiteRun(run=self.run, stage=Stage.ENDED, request=self.request, expires=self.expires, reason=reason)

    @property
    def text(self) -> str:
        """Everything but the numbers, as text for the store."""
        content = {name: value for name, value in asdict(self).items() if name != "totals"}
        return canonical({**content, "vector": len(self.vector)})

    @property
    def numbers(self) -> bytes:
        """The masked numbers that left last, and the totals before."""
        return self.vector + self.totals

    @classmethod
    def of(cls, text: str, numbers: bytes) -> SiteRun:
        """The state that a store kept."""
        content = json.loads(text)
        size = content.pop("vector")
        for name in ("roll_call", "answer"):
            content[name] = content[name] and Signed(**content[name])
        return cls(**{**content, "stage": Stage(content["stage"])}, vector=numbers[:size], totals=numbers[size:])

    @property
    def cohort(self) -> tuple[str, ...]:
        """The sites of the run."""
        return self._said.cohort

    @property
    def site(self) -> str:
        """Whose state it is."""
        return self._said.site

    @property
    def position(self) -> Position:
        """Where the last answer stands."""
        assert self.answer is not None
        return Position(MaskedAnswer.read(self.answer.text).transcript, self.before, self.round)

    @property
    def _said(self) -> RollCall:
        assert self.roll_call is not None
        return RollCall.read(self.roll_call.text)


class Own(NamedTuple):
    """What a site brings into a run."""

    site: str
    signer: Signer
    edition: str
    rows: int
    """A bound on its rows."""
    agrees: tuple[str, ...] = ()
    """What its people accept."""
    totals: tuple[str, ...] = ()
    """Those that its sums went into before."""


def call(
    state: SiteRun | None, request: RunTerms, own: Own, now: int, random: Callable[[int], bytes]
) -> tuple[SiteRun, Signed]:
    """The next state, and the signed roll call.

    Parameters
    ----------
    state : SiteRun, optional
        What the store has of this run, if anything.
    request : RunTerms
        Whose plan, cohort and roster the site has found good.
    own : Own
        Whose, with which key, about which edition.
    now : int
        Seconds since 1970.
    random : callable
        So many bytes that nobody can guess.
    """
    asked = request.digest.hex()
    if state is not None:
        if state.stage is Stage.ENDED:
            raise RunRefused(f"the run is over here: {state.reason}")
        if state.request != asked:
            raise RunAborted("a second roll call of the run", state.ended("a second roll call"))
        require_time(state, now)
        assert state.roll_call is not None
        return state, state.roll_call
    if now >= request.expires:
        raise RunRefused("the run has expired")
    if own.site not in request.cohort:
        raise RunRefused("this site is not of the cohort")
    secret = random(KEY_BYTES)
    said = RollCall(
        federation=request.federation,
        run=request.run,
        plan=request.plan_digest,
        cohort=request.cohort,
        site=own.site,
        key=public_key(secret).hex(),
        edition=own.edition,
        rows=own.rows,
        judges=OWN_SUMS,
        expires=request.expires,
        agrees=own.agrees,
        totals=own.totals,
    )
    signed = Signed.by(own.signer, said)
    fresh = SiteRun(
        run=request.run,
        stage=Stage.CALLED,
        request=asked,
        expires=request.expires,
        roll_call=signed,
        secret=secret.hex(),
    )
    return fresh, signed


def require_time(state: SiteRun, now: int) -> None:
    """Raise if a run has expired."""
    if now >= state.expires:
        raise RunAborted("the run has expired", state.ended("expired"))


def stored_answer(state: SiteRun | None, question: str, now: int, asked_round: int = 1) -> tuple[Signed, bytes] | None:
    """The answer that left before, if the question is that one; None if none has left in this round yet."""
    if state is None:
        raise RunRefused("there was no roll call of this run")
    if state.stage is Stage.ENDED:
        raise RunRefused(f"the run is over here: {state.reason}")
    require_time(state, now)
    if asked_round == state.round + 1 and (state.chains or state.stage is Stage.CALLED):
        return None
    if asked_round < state.round:
        raise RunRefused("the run has gone on since that round")  # a message that came late is no lie
    if (state.round, state.question) != (asked_round, question):
        raise RunAborted("another question after the answer", state.ended("a second question"))
    assert state.answer is not None
    return state.answer, state.vector


def verified(
    state: SiteRun, roll_calls: Sequence[Signed], roster: SiteKeys, question: MaskedQuestion
) -> list[RollCall]:
    """What all sites of the cohort signed, in its order; aborts unless all signed the same."""
    assert state.roll_call is not None
    mine = RollCall.read(state.roll_call.text)
    try:
        said = agreed(roll_calls, roster, question.ring)
    except ProtocolError as problem:
        raise RunAborted(str(problem), state.ended("roll calls that do not agree")) from None
    if said[0].terms != mine.terms or mine not in said:
        raise RunAborted("the roll calls are not of this run", state.ended("roll calls of another run"))
    return said


def agreed(roll_calls: Sequence[Signed], roster: SiteKeys, ring: Ring) -> list[RollCall]:
    """The roll calls of a whole cohort, in its order; `ProtocolError` unless all signed the same terms.

    Every signature is by the site's registered key, no run key and no registered key is there twice, and the rows that
    all sites have at most fit into the ring.
    """
    if not roll_calls:
        raise ProtocolError("there are no roll calls")
    cohort = RollCall.read(roll_calls[0].text).cohort
    if len(roll_calls) != len(cohort):
        raise ProtocolError(f"there are {len(roll_calls)} roll calls of {len(cohort)} sites")
    for site in cohort:
        if not roster.get(site):
            raise ProtocolError(f"site {site!r} of the cohort has no registered key")
    if len({roster[site] for site in cohort}) < len(cohort):
        raise ProtocolError("two sites of the cohort have the same registered key")
    said = [one.read(RollCall, roster[site]) for one, site in zip(roll_calls, cohort, strict=True)]
    for one, site in zip(said, cohort, strict=True):
        if one.site != site or one.terms != said[0].terms:
            raise ProtocolError(f"site {site!r} signed another run, plan or cohort than the others")
        if one.judges != OWN_SUMS:
            raise ProtocolError(f"site {site!r} does not judge its own sums as the others do")
    if len({one.key for one in said}) < len(said):
        raise ProtocolError("two sites of the cohort have the same run key")
    rows = sum(one.rows for one in said)
    if rows > ring.most_rows:
        raise ProtocolError(
            f"{rows} rows at most do not fit into masks of {ring.bits} bits, which hold {ring.most_rows}"
        )
    return said


def agreed_on(terms: RunTerms, roll_calls: Sequence[Signed], roster: SiteKeys, ring: Ring) -> list[RollCall]:
    """As `agreed`; `ProtocolError` unless these are the terms."""
    said = agreed(roll_calls, roster, ring)
    if said[0].terms != (terms.federation, terms.run, terms.plan_digest, terms.cohort, terms.expires):
        raise ProtocolError("the sites signed other terms")
    return said


def transcript_of(said: Sequence[RollCall]) -> bytes:
    """The digest of all roll calls, in the order of the cohort."""
    return digest(b"transcript", *(one.content for one in said))


def editions_of(said: Sequence[RollCall]) -> str:
    """The digest of all sites with the editions that they answer about."""
    return digest(b"editions", *(part.encode() for one in said for part in (one.site, one.edition))).hex()


def answer(
    state: SiteRun,
    roll_calls: Sequence[Signed],
    roster: SiteKeys,
    question: MaskedQuestion,
    vector: Words,
    signer: Signer,
    now: int,
    *,
    goes_on: bool = False,
) -> tuple[SiteRun, Signed, bytes]:
    """The next state, the signed statement of the answer, and the masked numbers.

    `vector` are the exact sums of the site's own rows, which it has judged; `goes_on` says whether there are more
    rounds.
    """
    require_time(state, now)
    if state.stage is not Stage.CALLED:
        raise RunRefused("the run was answered")
    said = verified(state, roll_calls, roster, question)
    transcript, secret = transcript_of(said), bytes.fromhex(state.secret)
    keys = [RunKey(one.site, one.run_key) for one in said]
    site = state.site
    own = next(one for one in keys if one.site == site)
    chains = {}
    for other in keys:
        if other != own:
            first, second = sorted((own, other), key=keys.index)
            chains[other.site] = pair_chain(secret, other.key, transcript, (first, second))
    rows = sum(one.rows for one in said)
    begun = replace(state, rows=rows, editions=editions_of(said))
    return _masked(begun, Position.first(transcript), chains, question, vector, signer, goes_on=goes_on)


def answer_next(
    state: SiteRun,
    total: Words,
    here: Position,
    question: MaskedQuestion,
    vector: Words,
    signer: Signer,
    now: int,
    *,
    goes_on: bool,
) -> tuple[SiteRun, Signed, bytes]:
    """As `answer`, in a later round; `total` is that of the round before, `here` what follows from it."""
    require_time(state, now)
    if state.stage is not Stage.ANSWERED or not state.chains:
        raise RunRefused("the run does not go on")
    chains = {site: bytes.fromhex(chain) for site, chain in state.chains.items()}
    further = replace(state, totals=state.totals + question.ring.to_bytes(total))
    return _masked(further, here, chains, question, vector, signer, goes_on=goes_on)


def total_of_round(
    state: SiteRun, answers: Mapping[str, Masked], roster: SiteKeys, question: MaskedQuestion
) -> tuple[Words, Position]:
    """The total of the round that was answered last, by all sites' answers to it, and the position of the next.

    `RunAborted` unless all signed answers to the same question in the same round after the same rounds, and the own
    one is among them as it left.
    """
    if state.stage is not Stage.ANSWERED:
        raise RunRefused("the run was not answered here, or is over")
    try:
        _require_own(state, answers)
        vector = added(answers, state.cohort, state.position, roster, question)
    except ProtocolError as problem:
        raise RunAborted(str(problem), state.ended("answers that do not agree")) from None
    return vector, after(state.position, answers, state.cohort)


def _require_own(state: SiteRun, answers: Mapping[str, Masked]) -> None:
    """Raise unless there is an answer of every site, and the own one as it left."""
    mine = answers.get(state.site)
    if len(answers) != len(state.cohort) or mine is None or mine.vector != state.vector:
        raise ProtocolError("the answers are not those of all sites, or not this site's own")


def _masked(
    state: SiteRun,
    here: Position,
    chains: Mapping[str, bytes],
    question: MaskedQuestion,
    vector: Words,
    signer: Signer,
    *,
    goes_on: bool,
) -> tuple[SiteRun, Signed, bytes]:
    """The state after an answer, in which the keys of its masks are gone, and the answer."""
    if vector.shape != (question.length, question.ring.words):
        raise ProtocolError("the sums are not of the shape that was asked for")
    transcript = bytes.fromhex(here.transcript)
    use = MaskUse(here.round, question.digest, question.length, question.ring)
    data = question.ring.to_bytes(masked(vector, state.site, state.cohort, chains, transcript, use))
    signed = Signed.by(signer, statement_of(state.site, here, question, data))
    later = {site: next_chain(chain, transcript, here.round).hex() for site, chain in chains.items()}
    done = replace(
        state,
        stage=Stage.ANSWERED,
        secret="",
        question=question.digest,
        round=here.round,
        before=here.before,
        chains=later if goes_on else {},
        answer=signed,
        vector=data,
    )
    return done, signed, data


def answers_digest(statements: Sequence[MaskedAnswer]) -> str:
    """The digest of what all sites signed under their answers, in the order of the cohort."""
    return digest(b"answers", *(one.content for one in statements)).hex()


def end(
    state: SiteRun, answers: Sequence[Signed], roster: SiteKeys, result: str, signer: Signer
) -> tuple[SiteRun, Signed]:
    """The tombstone, and the signed end of the run, once all sites have signed answers to the same.

    Who ends a run otherwise is not believed: without all answers nothing was found.
    """
    if state.stage is not Stage.ANSWERED:
        raise RunRefused("the run was not answered here, or is over")
    assert state.answer is not None
    assert state.roll_call is not None
    cohort, mine = RollCall.read(state.roll_call.text).cohort, MaskedAnswer.read(state.answer.text)
    try:
        said = _answered_alike(answers, cohort, roster, mine)
    except ProtocolError as problem:
        raise RunAborted(str(problem), state.ended("answers that do not agree")) from None
    over = RunEnd(transcript=mine.transcript, site=mine.site, answers=answers_digest(said), result=result)
    return state.ended("finished"), Signed.by(signer, over)


def _answered_alike(
    answers: Sequence[Signed], cohort: Sequence[str], roster: SiteKeys, mine: MaskedAnswer
) -> list[MaskedAnswer]:
    """What all sites of a cohort signed under their answers, which must be answers to what this one answered."""
    if len(answers) != len(cohort):
        raise ProtocolError("the answers are not those of all sites")
    said = [one.read(MaskedAnswer, roster[site]) for one, site in zip(answers, cohort, strict=True)]
    wanted = [replace(mine, site=site, vector=one.vector) for one, site in zip(said, cohort, strict=True)]
    if mine not in said or said != wanted:
        raise ProtocolError("the sites did not answer the same question of the same run")
    return said
