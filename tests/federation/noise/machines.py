"""Federations whose sites add noise, from random bytes that tests foresee."""

import secrets
from dataclasses import replace

import numpy as np

from fedrcd.federation.surroundings import REAL
from tests.federation.couriers import Direct
from tests.federation.masking.machines import Relay, conducted, keyed

BUDGET = {"epsilon_budget": 8.0, "delta": 1e-6}


SECRET = 63
"""Bytes of keys and names at most; noise takes at least eight numbers at a time."""


def foreseen(seed):
    """Random bytes, of which those for noise follow from a seed."""
    rng = np.random.default_rng(seed)
    return lambda size: rng.bytes(size) if size > SECRET else secrets.token_bytes(size)


def private(folder, **more):
    """A federation whose sites have keys, and a budget."""
    return with_budget(keyed(folder, **more))


def with_budget(disk):
    plain = disk.settings
    disk.settings = lambda name, **changes: plain(name, **{**BUDGET, **changes})
    return disk


def relay(disk, seed=None, courier=Relay, **settings):
    """A courier to the sites; their random bytes follow from a seed, if there is one."""
    carries = courier(disk, **settings)
    if seed is not None:
        for number, (name, service) in enumerate(carries.services.items()):
            own = replace(REAL, token_bytes=foreseen([seed, number]))
            carries.services[name] = replace(service, surroundings=own)
    return carries


def in_the_clear(disk, seed=None):
    return relay(disk, seed, Direct, clear=True)


def discovered(disk, carries, epsilon=3.0, *, masked=True, said=None, folder="result", **changes):
    """What a run under noise finds."""
    options = {"epsilon": epsilon, "masked": masked, **changes.pop("options", {})}
    changes["folder"] = str(disk.folder / folder)
    return conducted(disk, carries, "fedrcd-dp", options=options, said=said, **changes)
