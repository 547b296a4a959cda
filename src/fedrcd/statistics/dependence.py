r"""Whether two errors depend on each other, from their joint cumulants up to order 4 alone.

For independent errors u, v of unit variance, u fitted before v, three cumulants are zero but for sampling error:

.. math:: a = \kappa_{21} - \mu_{3u}\kappa_{11}, \qquad b = \kappa_{12}, \qquad
          d = \kappa_{22} - \mu_{3v}\, a - \mu_{3u}\, b.

They behave as means over rows of :math:`(u^2 - 1 - \mu_{3u} u) v`, :math:`u (v^2 - 1)` and
:math:`(u^2 - 1)(v^2 - 1)` less its part along the other two, so their variances need fourth moments only:
:math:`\mu_{4u} - 1 - \mu_{3u}^2`, :math:`\mu_{4v} - 1` and
:math:`(\mu_{4u} - 1)(\mu_{4v} - 1) - \mu_{3v}^2 v_a - \mu_{3u}^2 v_b`, over the number of rows. That is what makes one
round enough: :math:`\kappa_{31}` has a variance that needs :math:`\mu_6`, which the sums do not hold, and is left out.

Few rows decide the far tail of each square where tails are heavy, so it is taken as that of a Student variable, as
:math:`(\nu + 1) \log(1 + q / \nu)`, with :math:`\nu = 2 + 0.75\, r` for the first two and :math:`2 + 0.1\, r` for the
third, :math:`r = n / (\mu_{4u} \mu_{4v})`: chosen so that independent errors of eleven families, at 500 and 2,000 rows,
exceed the quantile of chi-squared of 3 degrees at 1 in 1,000 about as often as that, and the heaviest tails ten times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedrcd.typing import BoolMatrix, Matrix, Vector

LEAST_SHARE = 0.05
"""Of its first term, below which the variance of d is not taken to fall: it is a difference of sampled moments."""

NO_SKEWNESS = 3.0
"""Standard errors within which both errors pass for symmetric, so that only the fourth cumulant tells."""


class ErrorMoments(NamedTuple):
    """Third and fourth moments of errors of unit variance."""

    third: Vector
    fourth: Vector


class Dependence(NamedTuple):
    r"""Evidence of each kind against independence, each of shape (later, earlier) and of the size of chi-squared.

    `bent` is that of a, squares of the earlier going along with the later error, as after effects that are bent;
    `uneven` that of b, squares of the later going along with the earlier, as of errors whose size follows a cause;
    `even` that of d. `symmetric` is that of :math:`\kappa_{22}` alone, and `skewed` says where the others count.
    """

    bent: Matrix
    uneven: Matrix
    even: Matrix
    symmetric: Matrix
    skewed: BoolMatrix

    @property
    def evidence(self) -> Matrix:
        """All of it, of the size of chi-squared of 3 degrees."""
        evidence: Matrix = np.where(self.skewed, self.bent + self.uneven + self.even, self.symmetric + 2)
        return evidence


Joint = tuple[Matrix, Matrix, Matrix, Matrix]


def dependence(earlier: ErrorMoments, later: ErrorMoments, joint: Joint, rows: float) -> Matrix:
    """Evidence against independence, of the size of chi-squared of 3 degrees; parameters are those of its kinds."""
    return kinds_of_dependence(earlier, later, joint, rows).evidence


def kinds_of_dependence(earlier: ErrorMoments, later: ErrorMoments, joint: Joint, rows: float) -> Dependence:
    r"""Evidence against independence of earlier errors and some later ones.

    `joint` are :math:`\kappa_{11}, \kappa_{21}, \kappa_{12}, \kappa_{22}`, each of shape (later, earlier).
    """
    k11, k21, k12, k22 = joint
    m3u, m4u = earlier
    m3v, m4v = later.third[:, None], later.fourth[:, None]
    a = k21 - m3u * k11
    va = np.maximum(m4u - 1 - m3u**2, 1e-3)
    b, vb = k12, np.maximum(m4v - 1, 1e-3)
    d = k22 - m3v * a - m3u * b
    first = np.maximum((m4u - 1) * (m4v - 1), 1e-6)
    vd = np.maximum(first - m3v**2 * va - m3u**2 * vb, LEAST_SHARE * first)
    r = rows / (m4u * m4v)
    of_third, of_fourth = 2 + 0.75 * r, 2 + 0.1 * r
    symmetric = (np.abs(m3u) < NO_SKEWNESS * np.sqrt(6 / rows)) & (np.abs(m3v) < NO_SKEWNESS * np.sqrt(6 / rows))
    return Dependence(
        _damped(rows * a**2 / va, of_third),
        _damped(rows * b**2 / vb, of_third),
        _damped(rows * d**2 / vd, of_fourth),
        _damped(rows * k22**2 / first, of_fourth),
        ~symmetric,
    )


def _damped(q: Matrix, nu: Matrix) -> Matrix:
    value: Matrix = (nu + 1) * np.log1p(q / nu)
    return value
