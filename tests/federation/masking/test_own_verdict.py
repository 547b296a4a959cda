"""Under masks nobody sees a site's sums: each says itself, as a code, how far its rows are from those of all others."""

import pandas as pd
import pytest

from fedrcd.federation.messages.masked import MaskedEndReply
from tests.federation.masking.machines import Relay, conducted, keyed
from tests.federation.sites import NAMES

A, B, C = NAMES


@pytest.fixture
def disk(tmp_path):
    return keyed(tmp_path, p=3, rows=(800, 810, 420))


def turn(disk, site):
    """Turn the sign of what one column says about the others."""
    table = pd.read_parquet(disk.data(site))
    table.iloc[:, 0] = 2 * table.iloc[:, 0].median() - table.iloc[:, 0]
    table.to_parquet(disk.data(site), index=False)


def codes(relay):
    return {site: reply.apart for site, _, reply in relay.sent if isinstance(reply, MaskedEndReply)}


def test_a_site_whose_rows_relate_otherwise_says_so_at_the_end(disk):
    turn(disk, C)
    relay = Relay(disk)
    found = conducted(disk, relay, "fedrcd-r")
    told = codes(relay)
    assert told[C] == max(told.values()) > 0
    [warning] = [one for one in found.warnings if "relate otherwise" in one]
    assert repr(C) in warning
    assert repr(A) not in warning


def test_sites_that_are_alike_say_nothing(disk):
    relay = Relay(disk)
    found = conducted(disk, relay, "fedrcd-r")
    assert codes(relay) == {A: 0, B: 0, C: 0}
    assert not any("relate otherwise" in one for one in found.warnings)


def test_sums_in_which_a_row_may_dominate_tell_no_distance(disk):
    turn(disk, C)
    relay = Relay(disk)
    conducted(disk, relay, "fedrcd-x")
    assert codes(relay) == {A: 0, B: 0, C: 0}
