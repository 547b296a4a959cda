"""What a page tells beside a result: how sure its effects are, which assumptions were checked, what was verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import norm

from fedrcd.report.result import Result, effects_of

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What speaks for a result, as far as it is known.

    Parameters
    ----------
    bounds : mapping
        The interval of each direct effect, by (cause, effect).
    intervals : str
        How the intervals were made, in words.
    checks : sequence of mapping
        The checks of assumptions, as `Checks.to_dict` lists them.
    verified : sequence of str
        What was verified, a sentence each.
    """

    bounds: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    intervals: str = ""
    checks: Sequence[Mapping[str, Any]] = ()
    verified: Sequence[str] = ()


def support_in(result: Result) -> Support:
    """The intervals that the standard errors of a result give, and who says to have verified it."""
    verified = []
    if result.verified_by:
        verified.append(f"{', '.join(result.verified_by)} made the result again from the same sums: it is the same.")
    if result.signatures:
        verified.append(f"The file holds {len(result.signatures)} signatures; the page does not check them.")
    if result.errors is None:
        return Support(verified=verified)
    reach, B = float(norm.ppf((1 + LEVEL) / 2)) * result.errors, effects_of(result)
    bounds = {
        (result.names[j], result.names[i]): (float(B[i, j] - reach[i, j]), float(B[i, j] + reach[i, j]))
        for i, j in np.argwhere((B != 0) & np.isfinite(reach)).tolist()
    }
    return Support(
        bounds=bounds, intervals=f"{LEVEL:.0%} by the delta method, given that the edge is there", verified=verified
    )
