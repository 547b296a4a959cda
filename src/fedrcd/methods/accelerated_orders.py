r"""Orders of one table with PyTorch, on a card or the processor: rows stay there from the first step to the last.

The steps are those of `direct-lingam`, `fedrcd-sx` and `fedrcd-s`. Each source is regressed out of the rows themselves,
so a step costs one pass over them, and the covariance follows by elimination.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.methods.refinements.insertion import climb, insertion_residuals
from fedrcd.methods.scores.negentropy import negentropy_of, standardised_gap
from fedrcd.statistics.accelerated_sums import entropy_sums_of_pairs, host, tensor_sums_on
from fedrcd.statistics.accelerator import Accelerator
from fedrcd.statistics.entropy_sums import GAMMA, K1, K2
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.packed_tensor import pair_offsets
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.tensor_cumulants import TensorCumulants, tensor_cumulants
from fedrcd.typing import Matrix, Vector

LEAST_GAIN = 1e-4
"""As in refinement by the contrast on the processor."""


@dataclass(slots=True)
class AcceleratedOrder:
    """An order, and by how much the first candidate of each step beat the second."""

    order: list[int] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)

    def take(self, variables: list[int], charges: Any) -> int:
        """Note the candidate of least charge; its place among the variables."""
        found = host(charges)
        if not np.isfinite(found).all():
            raise StatisticError("scores overflow; express the variables in units that give values nearer to one")
        best = int(np.argmin(found))
        others = np.delete(found, best)
        self.margins.append(float(others.min() - found[best]) if len(others) else 0.0)
        self.order.append(variables.pop(best))
        return best


class _DeviceRows:
    """Centred rows on the device, from which sources are regressed out one by one, with their covariance."""

    def __init__(self, acc: Accelerator, X: Matrix) -> None:
        acc.require(5.0 * 8 * X.size, f"{len(X):,} rows of {X.shape[1]} variables, and their powers,")
        self.torch, self.z = acc.torch, acc.put(X)
        self.z -= self.z.mean(0)
        self.cov = self.z.T @ self.z / len(self.z)
        self.variables = list(range(X.shape[1]))

    def remove(self, at: int) -> None:
        """Replace all others by their residuals given the variable at a place; its name is taken away already."""
        kept = self.torch.arange(self.z.shape[1] - 1, device=self.z.device)
        kept += kept >= at
        b = self.cov[kept, at] / self.cov[at, at]
        source = self.z[:, at].clone()
        self.z = self.z[:, kept].addcmul_(source[:, None], b[None], value=-1.0)
        self.cov = self.cov[kept][:, kept] - (b[:, None] * b) * self.cov[at, at]


def _order_by(charges: Callable[[Accelerator, _DeviceRows], Any], acc: Accelerator, X: Matrix) -> AcceleratedOrder:
    """The order in which the variable with the least charge leaves, and the others become their residuals given it."""
    rows, found = _DeviceRows(acc, X), AcceleratedOrder()
    while len(rows.variables) > 1:
        rows.remove(found.take(rows.variables, charges(acc, rows)))
    found.order += rows.variables
    return found


def direct_order(acc: Accelerator, X: Matrix) -> AcceleratedOrder:
    """The order of DirectLiNGAM, shape of X (n, p)."""
    return _order_by(_entropy_charges, acc, X)


def _entropy_charges(acc: Accelerator, rows: _DeviceRows) -> Any:
    """What speaks against each variable as a source, by entropies."""
    torch = acc.torch
    sd = torch.sqrt(torch.diagonal(rows.cov))
    u = rows.z / sd
    log_cosh, gauss = entropy_sums_of_pairs(acc, u.float() if acc.has_card else u, rows.cov / (sd[:, None] * sd))
    n = len(u)
    H = -K1 * (log_cosh / n - GAMMA) ** 2 - K2 * (gauss / n) ** 2  # what all entropies share does not matter
    own = torch.diagonal(H).clone()
    H.fill_diagonal_(0.0)
    difference = own[None] + H - own[:, None] - H.T
    difference.fill_diagonal_(0.0)
    return (torch.clip(difference, None, 0.0) ** 2).sum(1)


def sx_order(acc: Accelerator, X: Matrix) -> AcceleratedOrder:
    """The order of `fedrcd-sx`, shape of X (n, p)."""
    return _order_by(_gap_charges, acc, X)


def _gap_charges(acc: Accelerator, rows: _DeviceRows) -> Any:
    """What speaks against each variable as a source, by negentropy gaps."""
    torch, n, z = acc.torch, len(rows.z), rows.z
    sd = torch.sqrt(torch.diagonal(rows.cov))
    rho = rows.cov / (sd[:, None] * sd)
    square = z * z
    k12 = z.T @ square / (n * sd[:, None] * sd**2)
    k22 = square.T @ square / (n * sd[:, None] ** 2 * sd**2) - 1 - 2 * rho**2
    k13 = z.T @ square.mul_(z) / (n * sd[:, None] * sd**3) - 3 * rho
    return _charges(torch, rho, k12, k13, k22, n)


def _charges(torch: Any, rho: Any, k12: Any, k13: Any, k22: Any, rows: int) -> Any:
    k3, k4 = torch.diagonal(k12)[:, None], torch.diagonal(k13)[:, None]
    gap = standardised_gap(rho, k3, k12, k4, k13, k22, rows, "boundary")
    return (torch.clip(gap, None, 0.0) ** 2).sum(1)


def s_order(acc: Accelerator, X: Matrix) -> AcceleratedOrder:
    """The order of `fedrcd-s`, shape of X (n, p)."""
    p = X.shape[1]
    pairs = p * (p + 1) // 2
    acc.require(8.0 * (5 * pairs**2 + X.size), f"the tensor of {p} variables")
    sd = X.std(axis=0)
    frame = Frame(X.mean(axis=0), sd)
    step = max(1, 2**25 // p)
    blocks = (frame.express(X[start : start + step]) for start in range(0, len(X), step))
    cumulants = tensor_cumulants(tensor_sums_on(acc, blocks, p), frame)
    return order_of_tensors(acc, cumulants.scaled(1 / np.sqrt(np.diagonal(cumulants.cov))))


def order_of_tensors(acc: Accelerator, cumulants: TensorCumulants) -> AcceleratedOrder:
    """The same from the cumulants of variables of unit variance."""
    whole = DeviceTensors.of(acc, cumulants)
    left, variables, found = whole, list(range(cumulants.p)), AcceleratedOrder()
    while len(variables) > 1:
        left = left.remove(found.take(variables, left.charges()))
    gain = min(LEAST_GAIN, 1 / cumulants.count)
    found.order = climb([*found.order, *variables], DeviceContrast(whole, cumulants.cov).places, None, gain)
    return found


@dataclass(frozen=True, slots=True)
class DeviceTensors:
    """Cumulant tensors on the device, that of order 4 as a whole matrix over pairs: a card multiplies fast."""

    acc: Accelerator
    rows: int
    cov: Any
    third: Any
    fourth: Any

    @classmethod
    def of(cls, acc: Accelerator, cumulants: TensorCumulants) -> DeviceTensors:
        """Those of a packed tensor."""
        torch, index = acc.torch, pair_index(cumulants.p)
        first, second = acc.whole(index.first), acc.whole(index.second)
        number, offsets = acc.whole(index.number), acc.whole(pair_offsets(cumulants.p))
        one, two = torch.maximum(first[:, None], first), torch.minimum(second[:, None], second)
        least, most = torch.minimum(first[:, None], first), torch.maximum(second[:, None], second)
        places = offsets[number[least, torch.minimum(one, two)]] + number[torch.maximum(one, two), most]
        fourth = acc.put(cumulants.fourth)[places]
        return cls(acc, cumulants.count, acc.put(cumulants.cov), acc.put(cumulants.third), fourth)

    def charges(self) -> Any:
        """What speaks against each variable as a source."""
        torch, p = self.acc.torch, len(self.cov)
        number = self.acc.whole(pair_index(p).number)
        sd = torch.sqrt(torch.diagonal(self.cov))
        twice = torch.diagonal(number)
        k12 = torch.diagonal(self.third, dim1=1, dim2=2) / (sd[:, None] * sd**2)
        k13 = self.fourth[number, twice[None]] / (sd[:, None] * sd**3)
        k22 = self.fourth[twice][:, twice] / (sd[:, None] * sd) ** 2
        return _charges(torch, self.cov / (sd[:, None] * sd), k12, k13, k22, self.rows)

    def remove(self, s: int) -> DeviceTensors:
        """Tensors of the residuals of all others given variable s."""
        acc, torch, p = self.acc, self.acc.torch, len(self.cov)
        index, rest = pair_index(p), [k for k in range(p) if k != s]
        kept = acc.whole(index.number[np.ix_(rest, rest)][np.triu_indices(len(rest))])
        with_s, first, second = acc.whole(index.number[s]), acc.whole(index.first), acc.whole(index.second)
        b = self.cov[:, s] / self.cov[s, s]
        A = torch.zeros((index.size, p), dtype=torch.float64, device=acc.device)
        A.scatter_add_(1, first[:, None], -b[second][:, None])
        A.scatter_add_(1, second[:, None], -b[first][:, None])
        A[:, s] += b[first] * b[second]
        A = A[kept]
        fourth = self.fourth[kept] + A @ self.fourth[with_s]
        fourth = fourth[:, kept] + fourth[:, with_s] @ A.T
        third = self.third
        for axis in range(3):
            third = third.movedim(axis, 0)
            third = (third[rest] - b[rest][:, None, None] * third[s]).movedim(0, axis)
        cov = self.cov[rest][:, rest] - (b[rest][:, None] * b[rest]) * self.cov[s, s]
        return DeviceTensors(acc, self.rows, cov, third, fourth)

    def of_combinations(self, W: Matrix) -> tuple[Vector, Vector]:
        """Third and fourth cumulant of w'x for each row w of W."""
        torch, p = self.acc.torch, len(self.cov)
        index = pair_index(p)
        V = self.acc.put(index.products(W))
        weights = self.acc.put(W)
        outer = self.acc.put(W)[:, :, None] * weights[:, None]
        third = ((outer.reshape(len(W), -1) @ self.third.reshape(p * p, p)) * weights).sum(1)
        fourth = ((V @ self.fourth) * V).sum(1)
        cumulants = host(torch.stack([third, fourth]))
        return cumulants[0], cumulants[1]


@dataclass(frozen=True, slots=True)
class DeviceContrast:
    """The contrast with a variable at each place, by contractions of the whole tensor."""

    tensors: DeviceTensors
    cov: Matrix

    def places(self, order: list[int], v: int) -> tuple[list[int], Vector]:
        """The others in their order, and the contrast with v at each of the p places."""
        residuals = insertion_residuals(self.cov, order, v)
        third, fourth = self.tensors.of_combinations(residuals.W)
        terms = np.sqrt(negentropy_of("boundary", third, fourth, self.tensors.rows))
        others = len(residuals.rest)
        before, after, own = np.split(terms, [others, 2 * others])
        up_to = np.concatenate([[0.0], np.cumsum(before)])
        from_on = np.concatenate([np.cumsum(after[::-1])[::-1], [0.0]])
        return residuals.rest, own + up_to + from_on
