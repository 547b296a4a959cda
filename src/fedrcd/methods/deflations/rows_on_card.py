"""Rows of one table that stay on a card from the first step to the last.

A conversation of questions and answers would spend more on lists of pairs than the card on the sums. So sources are
regressed out of the rows themselves: a step costs one pass over them, and their correlations follow by elimination.
The evidence is the rows; each kind of them scores itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from fedrcd.methods.deflations.pairs import ask_pairs
from fedrcd.methods.gaussianity import entropy_distance_from_gaussian
from fedrcd.methods.scores.negentropy import Contrast, standardised_gap
from fedrcd.methods.skeleton import Evidence, Marginals, local
from fedrcd.protocol.questions import Rounds
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.accelerated_sums import as_entropies_want, entropy_sums_of_pairs
from fedrcd.statistics.accelerator import Accelerator, host
from fedrcd.statistics.entropy_sums import GAMMA, K1, K2, EntropySums
from fedrcd.typing import Matrix, Vector

COPIES = 6.0
"""Times the rows that are on the card at once: as they came, as they are, their powers, and what they become."""

R = TypeVar("R", bound="CardRows")


@dataclass(frozen=True, slots=True, eq=False)
class CardRows:
    """Rows of unit variance on the card, shape (n, m), and their correlations."""

    acc: Accelerator
    u: Any
    rho: Any

    @classmethod
    def of(cls, acc: Accelerator, X: Matrix) -> tuple[Any, Any]:
        """The rows of a table and their correlations, before any source is taken out."""
        n, xp, z = len(X), acc.xp, acc.put(X)
        z = z - xp.sum(z, axis=0) / n
        z = z / xp.sqrt(xp.sum(z * z, axis=0) / n)
        return z, z.T @ z / n

    @staticmethod
    def bytes_for(rows: int, p: int) -> float:
        """What so many rows take, with their powers and what they become."""
        return COPIES * 8 * rows * p

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.u.shape[0])

    def remove(self: R, at: int) -> R:
        """The residuals of all others given the variable at a place."""
        xp = self.acc.xp
        b = _without(xp, self.rho[:, at], at, 0)
        left = xp.sqrt(1 - b * b)
        u = (_without(xp, self.u, at, 1) - self.u[:, at][:, None] * b[None, :]) / left[None, :]
        rho = _without(xp, _without(xp, self.rho, at, 0), at, 1) - b[:, None] * b[None, :]
        return replace(self, u=u, rho=rho / (left[:, None] * left[None, :]))


def _without(xp: Any, values: Any, at: int, axis: int) -> Any:
    """An array without one place of an axis."""
    before = (slice(None),) * axis
    rest = (slice(None),) * (values.ndim - axis - 1)
    return xp.concat(
        [values[(*before, slice(None, at), *rest)], values[(*before, slice(at + 1, None), *rest)]], axis=axis
    )


@dataclass(frozen=True, slots=True, eq=False)
class EntropyRows(CardRows):
    """Rows that are scored as DirectLiNGAM scores them."""

    order: ClassVar[int] = 2

    def sums(self) -> tuple[Any, Any]:
        """Both entropy sums, of the residual of i given j at [i, j] and of i itself at [i, i]."""
        return entropy_sums_of_pairs(self.acc, as_entropies_want(self.acc, self.u), self.rho)

    def scores(self) -> Vector:
        """Minus what speaks against each variable as a source."""
        xp, n = self.acc.xp, self.count
        log_cosh, gauss = self.sums()
        H = -K1 * (log_cosh / n - GAMMA) ** 2 - K2 * (gauss / n) ** 2  # what all entropies share does not matter
        alone = self.acc.eye(H.shape[0])
        own = xp.linalg.diagonal(H)
        H = xp.where(alone, 0.0, H)
        difference = xp.where(alone, 0.0, own[None, :] + H - own[:, None] - H.T)
        found: Vector = -host(xp.sum(xp.clip(difference, None, 0.0) ** 2, axis=1))
        return found

    def marginals(self, found: Marginals) -> Marginals:
        """What the first round told, with how far from Gaussian the entropies of the variables are."""
        alone = (np.diagonal(host(one)) for one in self.sums())
        return replace(found, distance=entropy_distance_from_gaussian(EntropySums(self.count, *alone)))


@dataclass(frozen=True, slots=True, eq=False)
class GapRows(CardRows):
    """Rows that are scored by negentropy gaps."""

    order: ClassVar[int] = 4

    negentropy: Contrast = "boundary"

    def scores(self) -> Vector:
        """Minus what speaks against each variable as a source."""
        square = self.u * self.u
        powers, squares = self.u.T @ self.acc.xp.concat([square, square * self.u], axis=1), square.T @ square
        found: Vector = -host(self._charges(powers, squares))
        return found

    def _charges(self, powers: Any, squares: Any) -> Any:
        """The charges, from sums of u_i u_j^2 beside u_i u_j^3, and of u_i^2 u_j^2."""
        if self.acc.has_kernels and self.negentropy != "as measured":
            from fedrcd.methods.scores.gap_kernel import launched

            boundary = self.negentropy == "boundary"
            return launched(self.acc.torch, self.rho, powers, squares, self.count, boundary=boundary)
        xp, n, m = self.acc.xp, self.count, self.u.shape[1]
        k12 = powers[:, :m] / n
        k13 = powers[:, m:] / n - 3 * self.rho
        k22 = squares / n - 1 - 2 * self.rho**2
        k3, k4 = (xp.linalg.diagonal(one)[:, None] for one in (k12, k13))
        gap = standardised_gap(self.rho, k3, k12, k4, k13, k22, n, self.negentropy)
        return xp.sum(xp.clip(gap, None, 0.0) ** 2, axis=1)

    def marginals(self, found: Marginals) -> Marginals:
        """What the first round told."""
        return found


@dataclass(frozen=True, slots=True)
class RowsOnCard:
    """Evidence is the rows of one site; what they were asked once are their pair sums."""

    least_squares: ClassVar[bool] = True

    acc: Accelerator
    site: LocalSite
    kind: type[EntropyRows | GapRows]
    options: dict[str, Any]

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[EntropyRows | GapRows], Marginals]]:
        """Ask for the covariance, and put the rows on the card."""
        everything, marginals = yield from ask_pairs(setting, self.kind.order, "plug-in", complete=True)
        X = np.concatenate(list(self.site.expressed(setting.variables, setting.frame)))
        rows = self.kind(self.acc, *self.kind.of(self.acc, X), **self.options)
        return Evidence(everything.variables, rows), rows.marginals(marginals)

    def remove(
        self,
        setting: Setting,  # noqa: ARG002
        marginals: Marginals,  # noqa: ARG002
        evidence: Evidence[EntropyRows | GapRows],
        sources: tuple[int, ...],
    ) -> Rounds[Evidence[EntropyRows | GapRows]]:
        """Regress the sources that are still there out of the others."""
        for source in set(evidence.variables).intersection(sources):
            at = evidence.variables.index(source)
            rest = evidence.variables[:at] + evidence.variables[at + 1 :]
            evidence = Evidence(rest, evidence.statistic.remove(at))
        return local(evidence)


def of_rows(rows: EntropyRows | GapRows) -> Vector:
    """The score of evidence that scores itself."""
    return rows.scores()
