"""Groups of rows in one process: the seed, the secrets that split rows, and how many groups there should be."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from fedrcd.confidence.replicates import BootstrapPlan, bytes_of_groups, groups_for
from fedrcd.data.rows import count_rows
from fedrcd.errors import ConfigError
from fedrcd.methods.skeleton import Parts
from fedrcd.protocol.groups import LEAST_GROUPS, Grouping
from fedrcd.protocol.transport import InProcess, Setting


def require_seed(random_state: object) -> np.random.SeedSequence:
    """The seed that a user gave, or a fresh one."""
    if random_state is None:
        return np.random.SeedSequence(int.from_bytes(os.urandom(16), "big"))
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise ConfigError(f"random_state must be a whole number of at least 0 or None, got {random_state!r}")
    return np.random.SeedSequence(int(random_state))


def with_secrets(transport: InProcess, seed: np.random.SeedSequence, least: int = 1) -> InProcess:
    """The same sites with a secret per block to split rows by; in one process there is nobody to hide it from."""
    entropy = str(seed.entropy).encode()
    sites: Any = transport.sites
    keys = [hashlib.blake2b(entropy + site.block.encode()).digest() for site in sites]
    split = [replace(site, grouping=Grouping(key, least)) for site, key in zip(sites, keys, strict=True)]
    return replace(transport, sites=split)


def default_groups(transport: InProcess) -> int:
    """Groups per site: enough over all sites, none with fewer rows than a site answers for."""
    sites: Any = transport.sites
    sizes = [count_rows(site.rows) for site in sites]
    rows = max(100, 10 * len(transport.setting.variables))
    return max(LEAST_GROUPS, groups_for(sizes, [rows] * len(sizes)))


def plan(method: str, parts: Parts[Any], setting: Setting, transport: InProcess, groups: int) -> BootstrapPlan:
    """What the bootstrap of a federation in this process will cost."""
    sites: Any = transport.sites
    layout = setting.layout
    holdings = [(site.name, site.block, 0 if layout is None else site.place_in(layout)) for site in sites]
    gaps = any(site.gaps for site in sites)
    return BootstrapPlan(method, groups, bytes_of_groups(parts, setting, holdings, groups, gaps=gaps))
