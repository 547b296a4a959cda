r"""Variances of the deflation coefficients as the skewness of the source vanishes [P, Propositions 1 and 2].

Two variables: :math:`x_s = e_s`, :math:`x_j = \beta x_s + e_j`. The source is :math:`a E_1 - b E_2` with independent
unit exponentials and a² + b² = 1, whose skewness 2 (a³ - b³) goes from 2 to 0 while it stays far from Gaussian.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from experiments.harness.cells import Row
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import pair_cumulants
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.typing import Vector

EFFECT = 0.8


def ratios(*, skewness: float, rows: int, repetitions: int, seed: int) -> list[Row]:
    """Spread over repetitions of the printed and the corrected coefficient, and of least squares.

    The variance of a ratio whose denominator may be near zero need not exist; `robust` is the squared interquartile
    range in units of a Gaussian's, which does.
    """
    rng = np.random.default_rng([seed, rows, round(1e6 * skewness)])
    angle = brentq(lambda t: 2 * (np.cos(t) ** 3 - np.sin(t) ** 3) - skewness, 0, np.pi / 4) if skewness else np.pi / 4
    found = np.array([_coefficients(angle, rows, rng) for _ in range(repetitions)])
    low, high = np.quantile(found, [0.25, 0.75], axis=0)
    robust: Vector = ((high - low) / 1.349) ** 2
    rows_out: list[Row] = []
    for k, (name, target) in enumerate((("published", EFFECT**2), ("corrected", EFFECT), ("least squares", EFFECT))):
        values = found[:, k]
        rows_out.append(
            {
                "coefficient": name,
                "target": target,
                "median": float(np.median(values)),
                "variance": float(values.var(ddof=1)),
                "robust": float(robust[k]),
            }
        )
    return rows_out


def _coefficients(angle: float, rows: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """The three coefficients of x_j on x_s in one sample, from unbiased cumulants."""
    source = np.cos(angle) * rng.standard_exponential(rows) - np.sin(angle) * rng.standard_exponential(rows)
    effect = EFFECT * source + rng.laplace(scale=np.sqrt(0.5), size=rows)
    k = pair_cumulants(pair_sums([np.column_stack([source, effect])], 2, 3), Frame.identity(2), "unbiased")
    skew = float(k.k3[0, 0])
    return float(k.k12[0, 1]) / skew, float(k.k12[1, 0]) / skew, float(k.cov[1, 0] / k.cov[0, 0])
