"""How a result changes without each site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedrcd.api.discovery import Discovery
from fedrcd.graphs.dag import ancestry
from fedrcd.typing import Matrix

if TYPE_CHECKING:
    import pandas as pd


Without = tuple[Sequence[str], Matrix] | str
"""The order and the effects that the other sites give, or why they give none."""


def changes_without(found: Discovery, without: Mapping[str, Without]) -> pd.DataFrame:
    """Per site that can be spared: how many pairs with a path are turned round, and how edges change, without it."""
    import pandas as pd

    own = np.nan_to_num(found.B)
    related, edges = ancestry(own), own != 0
    rows = []
    for site, other in without.items():
        if isinstance(other, str):
            continue
        order, B = other
        place = np.array([list(order).index(name) for name in found.names])
        turned = int((related & (place[:, None] < place[None, :])).sum())
        others = np.nan_to_num(B) != 0
        rows.append((site, turned, int((edges & ~others).sum()), int((~edges & others).sum())))
    return pd.DataFrame(rows, columns=["without", "pairs turned round", "edges lost", "edges gained"])


def cannot_be_spared(without: Mapping[str, Without]) -> dict[str, str]:
    """Sites without which there is no answer, and why."""
    return {site: other for site, other in without.items() if isinstance(other, str)}
