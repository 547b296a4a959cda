"""Composes Gaussian losses by `dp-accounting`, in whose environment it runs, away from our package.

Reads a list of releases as JSON, each with its losses, a delta and an epsilon; prints the epsilon at that delta and the
delta at that epsilon of each.
"""

from __future__ import annotations

import json
import sys

from dp_accounting import GaussianDpEvent  # type: ignore[import-not-found]
from dp_accounting.pld import PLDAccountant  # type: ignore[import-not-found]


def main() -> None:
    """A line of JSON for all releases."""
    curves = []
    for losses, delta, epsilon in json.load(sys.stdin):
        accountant = PLDAccountant()
        for loss in losses:
            accountant.compose(GaussianDpEvent(1 / loss))
        curves.append([accountant.get_epsilon(delta), accountant.get_delta(epsilon)])
    print(json.dumps(curves))


if __name__ == "__main__":
    main()
