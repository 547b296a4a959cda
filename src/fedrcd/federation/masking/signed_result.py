"""A result with what its sites signed: whoever has the federation file can verify it, without asking anybody."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedrcd.data.federation import Federation
from fedrcd.errors import FileError, ProtocolError
from fedrcd.federation.masking.plan import MaskedPlan
from fedrcd.federation.masking.ring import ring_of
from fedrcd.federation.masking.site_run import agreed_on, transcript_of
from fedrcd.federation.masking.statements import RunEnd, RunTerms, Signed, result_digest
from fedrcd.federation.messages.requests import federation_digest
from fedrcd.methods.skeleton import Estimate
from fedrcd.statistics.grid import ARITHMETIC

SIGNATURES = "signatures.json"
"""What the sites of a masked run signed, in its folder."""


@dataclass(frozen=True, slots=True)
class SignedResult:
    """The terms of a masked run, the roll calls of its sites, and their signatures under its end."""

    terms: str
    roll_calls: tuple[Signed, ...]
    ends: tuple[Signed, ...]

    def as_dict(self) -> dict[str, Any]:
        """As it is kept."""
        pairs: dict[str, Any] = {
            name: [[one.text, one.signature] for one in signed]
            for name, signed in (("roll_calls", self.roll_calls), ("ends", self.ends))
        }
        return {"terms": self.terms, **pairs}

    @classmethod
    def read(cls, folder: Path) -> SignedResult:
        """What lies in the folder of a run."""
        path = folder / SIGNATURES
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            calls, ends = (tuple(Signed(*pair) for pair in content[name]) for name in ("roll_calls", "ends"))
            return cls(str(content["terms"]), calls, ends)
        except OSError as problem:
            raise FileError(f"cannot read {path}: {problem.strerror}; only masked runs have signatures") from None
        except (ValueError, TypeError, KeyError):
            raise FileError(f"cannot read {path}: it is not what fedrcd wrote") from None

    def verified(self, estimate: Estimate, federation: Federation) -> MaskedPlan:
        """The plan of the run; `ProtocolError` unless all sites signed this result of it, by a federation file.

        Where the plan goes on after one round, each site has computed the result itself; otherwise they signed that
        they answered, and which result they were told.
        """
        terms = RunTerms.read(self.terms)
        if terms.federation != federation_digest(federation):
            raise ProtocolError("the run was held under another federation file")
        roster = {site.name: site.key for site in federation.sites}
        plan = MaskedPlan.read(terms.plan)
        said = agreed_on(terms, self.roll_calls, roster, ring_of(ARITHMETIC[plan.settings.summation]))
        self._require_ends(transcript_of(said).hex(), terms.cohort, roster, result_digest(estimate.order, estimate.B))
        return plan

    def _require_ends(self, transcript: str, cohort: Sequence[str], roster: Mapping[str, str], result: str) -> None:
        """Raise unless every site has signed the end of the run, with the same answers and this result."""
        if len(self.ends) != len(cohort):
            raise ProtocolError(f"{len(self.ends)} of {len(cohort)} sites have signed the result")
        ends = [one.read(RunEnd, roster[site]) for one, site in zip(self.ends, cohort, strict=True)]
        for end, site in zip(ends, cohort, strict=True):
            if (end.site, end.transcript, end.answers) != (site, transcript, ends[0].answers):
                raise ProtocolError(f"site {site!r} signed the end of another run")
            if end.result != result:
                raise ProtocolError(f"site {site!r} signed another result")
