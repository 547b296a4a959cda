"""Why a site does not answer: fixed codes, of which only the code travels.

The text of an exception may quote a row; a code cannot. What happened in detail is written to the site's own log.
"""

from __future__ import annotations

from enum import StrEnum

from fedrcd.errors import ProtocolError


class Refusal(StrEnum):
    """A code, and in `WORDS` what it means."""

    MESSAGE = "message"
    FEDERATION = "federation"
    NAME = "name"
    PLAN = "plan"
    QUESTION = "question"
    FRAME = "frame"
    GAPS = "gaps"
    ROWS = "rows"
    TENSOR_ROWS = "tensor-rows"
    CELLS = "cells"
    BUDGET = "budget"
    MAP = "map"
    PREFIX = "prefix"
    UNLIKE = "unlike"
    ROSTER = "roster"
    CHAIN = "chain"
    KNOWLEDGE = "knowledge"
    CHECKS = "checks"
    OVERFLOW = "overflow"
    GROUPS = "groups"
    SPLIT = "split"
    SECRET = "secret"
    TRIM = "trim"
    TRUST = "trust"
    NOISE = "noise"
    LOSS = "loss"
    EDITION = "edition"
    WITHDRAWN = "withdrawn"
    MASKS = "masks"
    CLEAR = "clear"
    COHORT = "cohort"
    KEY = "key"
    RUN = "run"
    EXPIRED = "expired"
    HISTORY = "history"
    LEDGER = "ledger"
    APPROVAL = "approval"
    WAITING = "waiting"
    DATA = "data"
    DEADLINE = "deadline"
    FAILED = "failed"


WORDS = {
    Refusal.MESSAGE: "the message is not one that it understands; both sides need the same version of fedrcd",
    Refusal.FEDERATION: "its federation file is not the coordinator's; give both the same copy",
    Refusal.NAME: "the question is for another site",
    Refusal.PLAN: "it does not know the method of this run, or an option of it; both sides need the same version of "
    "fedrcd",
    Refusal.QUESTION: "it does not answer questions of this kind",
    Refusal.FRAME: "the frame is not the one of this federation",
    Refusal.GAPS: "filling of missing values is not offered by sites that guard their rows",
    Refusal.ROWS: "it has too few rows for the number of variables",
    Refusal.TENSOR_ROWS: "it has too few rows to release the full tensor; take fedrcd-sx",
    Refusal.CELLS: "a column with few levels has a level, or a combination of levels, that too few rows share; started "
    "with --suppress it leaves such rows out",
    Refusal.BUDGET: "its budget is used up: it has released as many numbers about these rows as it may",
    Refusal.MAP: "the residuals asked for are not least-squares residuals of the covariance that came with them",
    Refusal.PREFIX: "the residuals asked for do not follow from those of the round before",
    Refusal.UNLIKE: "its rows vary far more or less than the covariance over all sites says; are its units others?",
    Refusal.ROSTER: "its federation file has changed since a person there accepted it; see `fedrcd site accept` there",
    Refusal.CHAIN: "it has answered about residuals of these rows along another order, or under other moments; it does "
    "so again for a new edition of its rows",
    Refusal.KNOWLEDGE: "in several rounds it takes prior knowledge, options and ways to express rows as the federation "
    "file has them in [agreed], and others only where a person there approves every answer; see "
    "`fedrcd site serve --approve`",
    Refusal.CHECKS: "it has answered as many different checks about these rows as it does",
    Refusal.OVERFLOW: "its sums overflow; look for extreme values there",
    Refusal.GROUPS: "groups must be at least 10, and large enough that each keeps the rules for blocks of rows; take a "
    "method of pair sums such as fedrcd-ni if 10 are too many",
    Refusal.SPLIT: "its rows are split once and for all: ask for as many groups as the first time, which `site log` "
    "there tells; a site that has lost its secret, or has new rows without identifiers, cannot split as it did",
    Refusal.SECRET: "it shares rows with other sites and has no secret in common with them to split these rows by; "
    "see `fedrcd site serve --group-secret`",
    Refusal.TRIM: "it has summed these rows with another --trim, or in another frame, and the rows between would show: "
    "serve with the one of before, which `site log` there tells; only rows of a new block may have another",
    Refusal.TRUST: "it answers several rounds, and questions about moments that the coordinator chose, only where it "
    "was started with --trust-coordinator; take a method of one round, in a declared frame",
    Refusal.NOISE: "sums leave it with noise or without it, never both: it adds noise only if it was started with "
    "--epsilon-budget, nothing has left without, and no rows are left out by --trim, --suppress or --dominance",
    Refusal.LOSS: "its budget of privacy loss does not suffice; `fedrcd site budget` there says what was spent",
    Refusal.EDITION: "rows of it are gone or changed, too few to hide each other: it answers again when enough have "
    "changed, or from the date that `fedrcd site editions` there tells",
    Refusal.WITHDRAWN: "it has taken this block of rows out; see `fedrcd contribute --rejoin`",
    Refusal.MASKS: "masks cannot be had for this run, or would not hide every site: its own log says why",
    Refusal.CLEAR: "its sums can be masked, and it does not answer in the clear; run without --clear, or have it "
    "started with --clear",
    Refusal.COHORT: "with what left before, a total over these sites would tell the sums of one of them, which has "
    "not agreed to it; run over the same sites as before, or have that one started with --agree-to-differences",
    Refusal.KEY: "it has no key to sign with, or not the registered one; start it with --key",
    Refusal.RUN: "it takes no further part in this run: a message did not belong to it, or it is over, as its own log "
    "says; give the same command again to start anew",
    Refusal.EXPIRED: "the run has expired, or would last longer than a week; are both clocks right? Give "
    "the same command again to start anew",
    Refusal.HISTORY: "its log does not hold what it said to this coordinator before: it was cut, exchanged or deleted. "
    "Bring its store back; if that is lost for good it needs a new key, or, if its rows are others than before, have "
    "its line taken out of heads.json in the folder of the coordinator",
    Refusal.LEDGER: "the ledger is not the one it has seen before, or others were shown another: it was rolled back, "
    "rewritten or forked; or the store of the site is an older copy, see `fedrcd site log` there",
    Refusal.APPROVAL: "a person there refused to release the answer",
    Refusal.WAITING: "a person there has to approve the answer first",
    Refusal.DATA: "its table cannot be used; `fedrcd site check` there says why",
    Refusal.DEADLINE: "it did not finish within its own deadline",
    Refusal.FAILED: "it failed; its own log says why",
}

TEMPORARY = frozenset({Refusal.DATA, Refusal.DEADLINE, Refusal.FAILED})
"""What another try may mend."""


class Refused(ProtocolError):
    """A site refuses; the message stays where it is raised, the code travels."""

    def __init__(self, code: Refusal, detail: str = "") -> None:
        super().__init__(detail or WORDS[code])
        self.code = code
