"""Splits of simulated tables for tests of federations."""

import numpy as np
import pandas as pd

import fedrcd
from fedrcd.data.simulate.models import random_model
from fedrcd.data.simulate.partition import column_parts, hybrid_split, row_parts, split_rows, vertical_split
from fedrcd.data.table import Table
from fedrcd.methods.registry import METHODS

FEDERATED = [name for name, card in METHODS.items() if not card.one_table]
PAIR_METHODS = [name for name in FEDERATED if METHODS[name].coverage == "pairs"]


def simulated(p, n, seed=0):
    rng = np.random.default_rng(seed)
    model = random_model(p, noise="gamma", density=0.4, rng=rng)
    return model, model.sample(n, rng)


def blocks_of(X, names, parts):
    """The tables of a split, as blocks of a federation."""
    return [
        Table(X[np.ix_(part.rows, [names.index(c) for c in part.columns])], part.site, part.block, columns=part.columns)
        for part in parts
    ]


def labelled(X, names, parts):
    return [
        fedrcd.Table(pd.DataFrame(block.values, columns=list(block.columns)), site=block.site, block=block.block)
        for block in blocks_of(X, names, parts)
    ]


def some_split(rng, n, names):
    """A random horizontal, vertical, hybrid or overlapping split that covers all pairs."""
    kind = rng.integers(4)
    if kind == 0:
        return row_parts(split_rows(n, int(rng.integers(1, 6)), rng=rng), names)
    if kind == 1:
        return column_parts(n, vertical_split(names, int(rng.integers(3, 7)), overlap=float(rng.random()), rng=rng))
    if kind == 2:
        return column_parts(n, [names, *vertical_split(names, 3, rng=rng)])  # one site has everything, others parts
    return hybrid_split(n, names, int(rng.integers(3, 7)), int(rng.integers(1, 4)), rng=rng)


def rows_together(n, names, parts, wanted):
    """Rows of which one site holds all wanted variables, by brute force."""
    together = np.zeros(n, dtype=bool)
    for part in parts:
        if {names[j] for j in wanted} <= set(part.columns):
            together[part.rows] = True
    return together


def with_gaps(X, share, seed=0):
    holes = X.copy()
    holes[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return holes
