"""Results to make pages of."""

from dataclasses import replace
from functools import cache

import numpy as np

from fedrcd import Discovery, discover
from fedrcd.api.discovery import ConfoundedPair
from fedrcd.data.examples import example_paths
from fedrcd.statistics.coverage import Holding


@cache
def hospitals():
    return discover(example_paths(), "fedrcd-s")


@cache
def hospitals_by_scale():
    """The order that a method which reads scale gives; notes are part of it."""
    return discover(example_paths(), "fedrcd-x", check_scale=True)


def by_hand(B, names=None, **fields):
    """A discovery with the given effects, whose order is that of the names."""
    B = np.asarray(B, dtype=float)
    names = tuple(names or (f"gene_{k:03d}" for k in range(len(B))))
    costs = {"rows": 1000, "sites": 2, "rounds": 1, "bytes_sent": 4096}
    given = {"names": names, "order": names, "B": B, "method": "fedrcd-s", "options": {}, "variance_agreement": 0.5}
    return Discovery(**(given | costs | fields))


@cache
def large(p=100, edges=400, names="gene_{:03d}"):
    """A graph of many variables with random edges along the order."""
    rng = np.random.default_rng(0)
    B = np.zeros((p, p))
    effects, causes = np.tril_indices(p, k=-1)
    kept = rng.choice(len(effects), edges, replace=False)
    B[effects[kept], causes[kept]] = rng.uniform(0.2, 1.5, edges) * rng.choice([-1, 1], edges)
    return by_hand(B, [names.format(k) for k in range(p)], variances=tuple(rng.uniform(0.1, 100, p).tolist()))


@cache
def huge():
    """As many variables and edges as a page must bear."""
    return large(1000, 5000, "gene_{:04d}")


def chain():
    """dose -> pain -> sleep, and dose -> sleep, two sites of which one lacks a column."""
    B = [[0, 0, 0], [2.0, 0, 0], [0.5, -3.0, 0]]
    names = ("dose", "pain", "sleep")
    holdings = (Holding("clinic", "a", names, 600), Holding("home", "b", names[:2], 400))
    return by_hand(B, names, variances=(1.0, 5.0, 50.0), holdings=holdings)


def beside_a_hidden_cause():
    """smoking -> lungs and diet -> weight, with a cause of smoking and diet that was not measured."""
    open_effect = np.nan
    B = [[0, open_effect, 0, 0], [open_effect, 0, 0, 0], [-0.9, 0, 0, 0], [0, -0.8, 0, 0]]
    pair = ConfoundedPair("smoking", "diet", 78.5, sure=True)
    names, ancestors = ("smoking", "diet", "lungs", "weight"), (("smoking", "lungs"), ("diet", "weight"))
    return by_hand(B, names, variances=(2.0, 2.0, 2.6, 2.3), confounded=(pair,), ancestors=ancestors)


def told():
    """The chain with everything that a page can tell of it: units, errors, shares, rows left out, an open pair."""
    one = chain()
    B = one.B.copy()
    B[2, 0] = np.nan
    found = replace(
        one, B=B, errors=np.full((3, 3), 0.5), confidence=(one.B != 0) * 0.97, left_out={"clinic": 12, "home": 0},
        verified_by=("clinic", "home"), lagged_effects={1: np.diag([0.5, 0.0, -0.25])},
    )  # fmt: skip
    return found.with_units({"dose": "mg", "pain": "points", "sleep": ""})


def lonely():
    return by_hand([[0.0]], ["age"], variances=(4.0,))


def empty():
    return by_hand(np.zeros((3, 3)), ["age", "dose", "sleep"], variances=(4.0, 1.0, 2.0))


def hostile():
    """Names that would break a page that trusts them."""
    names = ("</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\nb\u202e$x$ & <b>")
    return by_hand([[0, 0, 0], [1.5, 0, 0], [0, -0.5, 0]], names, notes=("<b>note</b>",), method="<i>m</i>")
