"""Contributions: made at a site, the same bits whatever the threads and the order of rows, and back from bytes."""

import numpy as np
import pytest

from fedrcd.errors import ConfigError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import Parcel, SignedContribution, SignedWithdrawal, plan, read_contribution
from fedrcd.protocol.wire import from_bytes, to_bytes
from tests.federation.living import configured, contribution, federation_of, names, sample

FEDERATION = federation_of(4, ("a", "b"))
CONFIGURATION = configured(FEDERATION)
X = sample(4, 20_000)


def test_threads_and_the_order_of_rows_change_no_bit():
    one = contribution(CONFIGURATION, FEDERATION, "a", X, threads=1)
    two = contribution(CONFIGURATION, FEDERATION, "a", X[np.random.default_rng(0).permutation(len(X))], threads=2)
    for family in CONFIGURATION.families:
        assert to_bytes(one.sums[family]) == to_bytes(two.sums[family])


def test_they_come_back_from_their_bytes():
    made = contribution(CONFIGURATION, FEDERATION, "a", X[:50])
    again = read_contribution(made.to_bytes())
    assert again.commitment == made.commitment
    assert again.to_bytes() == made.to_bytes()
    signed = SignedContribution.by(None, made, 0)
    parcel = from_bytes(to_bytes(Parcel((signed, SignedWithdrawal.by(None, "a", "x", 1)))), Parcel)
    assert [type(item) for item in parcel.items] == [SignedContribution, SignedWithdrawal]
    assert from_bytes(to_bytes(CONFIGURATION), Configuration).digest == CONFIGURATION.digest


def test_columns_are_matched_by_name():
    swapped = federation_of(4, ("a", "b"), columns={"a": names(4)[::-1]})
    one = contribution(CONFIGURATION, FEDERATION, "a", X[:50])
    two = contribution(CONFIGURATION, swapped, "a", X[:50, ::-1])
    assert one.sums["tensor"] == two.sums["tensor"]
    assert one.columns == two.columns


def test_a_site_knows_who_comes_before_it():
    shared = federation_of(4, ("a", "b"), columns={"a": ("v0", "v1")}, blocks={"a": ("x",), "b": ("x", "y")})
    assert plan(shared, "b", "x") == (names(4), (("a", ("v0", "v1")),))
    assert plan(shared, "b", "y") == (names(4), ())
    with pytest.raises(ConfigError, match="no block 'y'"):
        plan(shared, "a", "y")
    with pytest.raises(ConfigError, match="no site 'c'"):
        plan(shared, "c", "x")


def test_a_site_that_answers_for_nothing_is_told():
    shared = federation_of(4, ("a", "b"), columns={"b": ("v0", "v1")}, blocks={"a": ("x",), "b": ("x",)})
    with pytest.raises(ConfigError, match="answers for nothing"):
        contribution(configured(shared), shared, "b", X[:50, :2], block="x")
