"""Masked sums where all sites are in one process: the same keys, statements, masks and checks as between machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from fedrcd.errors import ConfigError
from fedrcd.federation.masking.adding import total
from fedrcd.federation.masking.answers import Masked, MaskedQuestion
from fedrcd.federation.masking.cohorts import COLLUDING
from fedrcd.federation.masking.coverage import require_hidden
from fedrcd.federation.masking.site_run import Own, SiteRun, answer, call
from fedrcd.federation.masking.statements import RUN_BYTES, RunTerms, Signed
from fedrcd.federation.masking.vectors import Shape
from fedrcd.federation.messages.digests import canonical
from fedrcd.federation.messages.signatures import SiteKey, require_cryptography
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.gather import Answer
from fedrcd.protocol.questions import Question
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.sums import FloatSums

LIFETIME = 3600
"""Seconds until a run in one process would expire."""


@dataclass(frozen=True, slots=True)
class SentMasked(FloatSums):
    """What a masked answer costs: its bytes, with the roll call, and what it tells by itself, which is nothing."""

    bytes: int

    @property
    def numbers(self) -> int:
        """Numbers of eight bytes."""
        return -(-self.bytes // 8)

    @property
    def entries(self) -> int:
        """None: a masked answer alone is noise."""
        return 0


@dataclass(frozen=True, slots=True)
class MaskedTotal:
    """Adds answers under masks, in place of adding them in the clear; every question is a run of its own."""

    colluding: int = COLLUDING
    surroundings: Surroundings = REAL
    keys: dict[str, SiteKey] = field(default_factory=dict)
    """The registered keys of the sites, made when they first answer."""

    def __call__(
        self, question: Question[Any], layout: Layout | None, answers: Iterable[Answer], count: Callable[[Any], None]
    ) -> Any:
        """The sum of all answers, of which none was seen."""
        require_cryptography("masks are made with")
        if not question.maskable:
            raise ConfigError("only sums of whole numbers can be masked; take arithmetic='exact'")
        by_site: dict[str, list[Any]] = {}
        for one in answers:
            by_site.setdefault(one.site, []).append(one.sums)
        cohort = tuple(by_site)
        require_hidden(question, layout, cohort, self.colluding)
        shape = Shape.of(question, layout)
        asked = MaskedQuestion(digest_of(question), shape.length, shape.ring)
        now = int(self.surroundings.now().timestamp())
        request = RunTerms(
            federation="",
            run=self.surroundings.token_bytes(RUN_BYTES).hex(),
            plan=canonical({"question": asked.digest}),
            cohort=cohort,
            expires=now + LIFETIME,
        )
        states, roll_calls = self._called(request, by_site, now)
        roster = {site: self.keys[site].public for site in cohort}
        masked: dict[str, Masked] = {}
        for site, sums in by_site.items():
            vector = shape.vector(sums)
            _, signed, data = answer(states[site], roll_calls, roster, asked, vector, self.keys[site], now)
            masked[site] = Masked(signed, data)
            count(
                SentMasked(
                    len(data) + sum(len(part) for one in (signed, states[site].roll_call) for part in _parts(one))
                )
            )
        return total(roll_calls, masked, roster, asked, shape)

    def _called(
        self, request: RunTerms, by_site: dict[str, list[Any]], now: int
    ) -> tuple[dict[str, SiteRun], list[Signed]]:
        """The states of all sites after the roll call, and what they signed."""
        states, roll_calls = {}, []
        for site, sums in by_site.items():
            if site not in self.keys:
                self.keys[site] = SiteKey.fresh()
            rows = sum(one.total().most_rows for one in sums if one is not None)
            own = Own(site, self.keys[site], self.surroundings.token_bytes(RUN_BYTES).hex(), bound_on(rows))
            states[site], signed = call(None, request, own, now, self.surroundings.token_bytes)
            roll_calls.append(signed)
        return states, roll_calls


def bound_on(rows: int) -> int:
    """What may be told of a number of rows: the power of two that it does not exceed."""
    return 1 << max(rows - 1, 0).bit_length()


def _parts(signed: Signed | None) -> tuple[str, str]:
    assert signed is not None
    return signed.text, signed.signature
