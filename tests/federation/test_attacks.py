"""What a coordinator can rebuild from sums before and after: the limits the documentation speaks of."""

import numpy as np
import pytest

from fedrcd.api.membership import erase, send
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.pair_sums import PairSums
from tests.federation.living import TODAY, configured, federation_of, frame_of, join, living, move_to, rows_of, sample

P = 20
FEDERATION = federation_of(P, ("a", "b"))
CONFIGURATION = configured(FEDERATION, families=("pairs/4",))
X = sample(P, 2000, noise="gamma")


def floats(sums) -> PairSums:
    assert isinstance(sums, ExactSums)
    read = sums.floats()
    assert isinstance(read, PairSums)
    return read


def rebuilt(before, after):
    """The values behind a difference of one row: its first moments, if its other moments agree with them."""
    difference = floats(before - after)
    z = difference.sums[1, 0][:, 0]
    consistent = np.allclose(difference.sums[1, 1], np.outer(z, z), rtol=1e-9, atol=1e-9)
    return CONFIGURATION.frame.centre + CONFIGURATION.frame.scale * z if consistent else None


@pytest.fixture
def federation(tmp_path):
    with living(tmp_path, FEDERATION, CONFIGURATION, ("a", "b")) as (ledger, members):
        join(ledger, members["a"], frame_of(X[:1000]))
        join(ledger, members["b"], frame_of(X[1000:]))
        yield ledger, members["a"]


def table():
    return rows_of(frame_of(X[:1000]), FEDERATION, "a")


def test_on_the_unprotected_path_the_difference_is_the_erased_row(federation):
    """Also of sums pooled over all sites: secure aggregation alone would not hide it."""
    ledger, member = federation
    before = ledger.pooled()["pairs/4"]
    erase(member, table(), ledger, ids=["r123"], now=True)
    found = rebuilt(before, ledger.pooled()["pairs/4"])
    grid = CONFIGURATION.grid.step * CONFIGURATION.frame.scale
    assert found is not None
    assert (np.abs(found - X[123]) <= grid).all()


def test_under_the_default_rules_there_is_no_difference_of_one_row(federation):
    ledger, member = federation
    states = [ledger.pooled()["pairs/4"]]
    erase(member, table(), ledger, ids=["r123"])
    assert ledger.pooled()["pairs/4"] == states[0]
    move_to(member, TODAY.replace(month=4))
    send(member, table(), ledger)  # the latest date is over
    states.append(ledger.pooled()["pairs/4"])
    for later in (5, 6):
        move_to(member, TODAY.replace(month=later))
        send(member, table(), ledger)
        states.append(ledger.pooled()["pairs/4"])
    assert states[1] != states[0]
    for k, after in enumerate(states):
        for before in states[:k]:
            rows = floats(before).count - floats(after).count
            assert rows.max() == 0 or rows.min() >= 10 * P
            if rows.max():
                assert rebuilt(before, after) is None
