"""How to wrap every answer of the sites: masks, noise, a counter, a log.

A site has a name and answers questions; a wrapper of a site has a site and is one. `fedrcd.in_process` gives the
transport over tables: put wrapped sites in the place of its own, and give it to `fedrcd.discover`.

The wrapper here hides exact sums, which are whole numbers in two halves, by masks modulo 2^64. Every two neighbours on
a ring draw one from a seed in common; one adds it, the other subtracts it. A single answer is noise; over all sites the
masks cancel, and the sum is the true one to the bit.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fedrcd
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.limbs import carried
from fedrcd.statistics.sums import FloatSums

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here
TABLES = np.split(np.random.default_rng(2).gamma(2.0, size=(1500, 4)).cumsum(axis=1), 5)


@dataclass(frozen=True)
class Hidden(FloatSums):
    """Exact sums under masks: they can be added, and read once all sites are in."""

    sums: ExactSums
    kind = "hidden"

    @property
    def numbers(self):
        return 2 * self.sums.entries

    def check(self, names=()):
        """What is hidden cannot be judged."""

    def __add__(self, other):
        low, high = (mine + others for mine, others in zip(self.sums.planes, other.sums.planes, strict=True))
        return Hidden(replace(self.sums, low=low, high=high))

    def floats(self):
        """The sums as methods read them."""
        low, high = self.sums.planes
        halves = [carried(*pair) for pair in zip(low.arrays().values(), high.arrays().values(), strict=True)]
        lows, highs = zip(*halves, strict=True)
        return replace(self.sums, low=low.with_arrays(lows), high=high.with_arrays(highs)).floats()


class Masked:
    """A site whose answers are hidden; `own` and `other` are the seeds that it shares with its neighbours."""

    def __init__(self, behind, own, other):
        self.behind, self.name, self.seeds, self.round = behind, behind.name, (own, other), 0

    def answer(self, question, layout=None):
        sums = self.behind.answer(question, layout)
        self.round += 1  # a mask is never used twice
        plus, minus = (np.random.default_rng([seed, self.round]) for seed in self.seeds)

        def masked(plane):
            return plane.with_arrays([one + word(plus, one) - word(minus, one) for one in plane.arrays().values()])

        return Hidden(replace(sums, low=masked(sums.low), high=masked(sums.high)))


def word(rng, like):
    return rng.integers(-(2**63), 2**63, like.shape, dtype=np.int64)


def masked(arithmetic):
    transport = fedrcd.in_process(TABLES, arithmetic=arithmetic)
    ring = [Masked(site, k, (k + 1) % len(TABLES)) for k, site in enumerate(transport.sites)]
    return replace(transport, sites=ring)


@pytest.mark.parametrize("arithmetic", ["exact", "compact"])
@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-sp", "fedrcd-x", "fedrcd-ni"])  # one round and several
def test_masks_cancel_to_the_bit(method, arithmetic):
    plain, found = fedrcd.discover(TABLES, method, arithmetic=arithmetic), fedrcd.discover(masked(arithmetic), method)
    assert (found.order, found.rounds, found.sites) == (plain.order, plain.rounds, 5)
    assert found.B.tobytes() == plain.B.tobytes()


def test_a_single_answer_is_noise():
    transport = masked("exact")
    question = transport.setting.pairs(4)
    true, hidden = (site.answer(question) for site in (transport.sites[0].behind, transport.sites[0]))
    numbers = [np.concatenate([one.ravel() for one in sums.low.arrays().values()]) for sums in (true, hidden.sums)]
    assert not np.isin(*numbers).any()
