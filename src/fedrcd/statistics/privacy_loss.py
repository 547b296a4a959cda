r"""What Gaussian noise costs in privacy: losses that add, and the curve of epsilon against delta that they stand for.

A release with sensitivity :math:`\Delta` and noise :math:`N(0, \sigma^2)` loses :math:`\mu = \Delta / \sigma`. Squares
of losses add, also where later releases depend on earlier ones (Dong, Roth and Su 2022, Cor. 3.3), and

.. math:: \delta(\varepsilon) = \Phi(-\varepsilon / \mu + \mu / 2) - e^\varepsilon\, \Phi(-\varepsilon / \mu - \mu / 2)

is the smallest delta for which a loss of mu is (epsilon, delta) differentially private (Balle and Wang 2018).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, floor, hypot, inf, isfinite

from fedrcd.errors import ConfigError

FINENESS = 2.0**40
"""Losses are multiples of one in so many, so that the searches of two machines end on the same."""


def composed(losses: Iterable[float]) -> float:
    """The loss of several releases about the same rows, one after the other."""
    return hypot(*losses)


def delta_of(loss: float, epsilon: float) -> float:
    """The delta at an epsilon."""
    from scipy.special import log_ndtr

    if loss == 0:
        return 0.0
    above, below = (float(log_ndtr(-epsilon / loss + half)) for half in (loss / 2, -loss / 2))
    return max(0.0, exp(above) - exp(epsilon + below))


def epsilon_of(loss: float, delta: float) -> float:
    """The epsilon at a delta; 0 for a loss so small that delta alone covers it."""
    from scipy.optimize import brentq

    require_delta(delta)
    if delta_of(loss, 0.0) <= delta:
        return 0.0
    highest = 1.0
    while delta_of(loss, highest) > delta:
        highest *= 2
    return float(brentq(lambda epsilon: delta_of(loss, epsilon) - delta, 0.0, highest, xtol=1e-12))


def loss_within(epsilon: float, delta: float) -> float:
    """The largest loss that is (epsilon, delta) differentially private."""
    from scipy.optimize import brentq

    require_epsilon(epsilon)
    require_delta(delta)
    highest = 1.0
    while delta_of(highest, epsilon) <= delta:
        highest *= 2
    found = float(brentq(lambda loss: delta_of(loss, epsilon) - delta, 0.0, highest, xtol=1e-15))
    return floor(found * (1 - 1e-9) * FINENESS) / FINENESS  # below, whichever side the search ends on


def require_epsilon(epsilon: object, name: str = "epsilon") -> None:
    """Raise unless it is a number above 0."""
    if not _is_number(epsilon) or not 0 < float(epsilon) < inf:  # type: ignore[arg-type]
        raise ConfigError(f"{name} must be a number above 0, got {epsilon!r}")


def require_delta(delta: object) -> None:
    """Raise unless it is a probability that can be called small."""
    if not _is_number(delta) or not 0 < float(delta) <= 0.01:  # type: ignore[arg-type]
        raise ConfigError(f"delta must lie above 0 and be at most 0.01, got {delta!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
