"""`discover(..., masked=True)`: the bits of exact sums, or a refusal beforehand with the reason."""

import builtins
import sys
from dataclasses import replace
from functools import reduce

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd.api.masks import masked_over
from fedrcd.errors import ConfigError, StatisticError
from fedrcd.federation.masking.adding import require_possible
from fedrcd.federation.masking.vectors import POOLED
from fedrcd.methods.registry import METHODS
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.statistics.grouped_sums import GroupedSums

pytest.importorskip("cryptography")
pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here

NAMES = list("abcd")
ROWS = np.random.default_rng(2).gamma(2.0, size=(1800, 4)).cumsum(axis=1)
TABLES = [pd.DataFrame(rows, columns=NAMES) for rows in np.split(ROWS, 6)]
ONCE = [name for name, card in METHODS.items() if card.rounds.once and not card.one_table]


def table(site, columns, rows, block=None):
    chosen = pd.DataFrame(ROWS, columns=NAMES)[list(columns)].iloc[rows].reset_index(drop=True)
    return fedrcd.Table(chosen, site=site, block=block or site)


HYBRID = [
    *(table(f"s{k}", columns, slice(200 * k, 200 * k + 200)) for k, columns in enumerate(["abcd"] * 3 + ["abc"] * 3)),
    *(table(f"s{k}", "bcd" if k % 2 else "ab", slice(1200, 1500), "shared") for k in (6, 7)),
]


def same(found, other):
    assert (found.order, found.rows, found.rounds, found.sites) == (other.order, other.rows, other.rounds, other.sites)
    assert found.B.tobytes() == other.B.tobytes()


@pytest.mark.parametrize("arithmetic", ["exact", "compact"])
@pytest.mark.parametrize("method", ONCE)
def test_every_method_that_asks_once_has_the_bits_of_the_clear(method, arithmetic):
    given = {"arithmetic": arithmetic}
    same(fedrcd.discover(TABLES, method, masked=True, **given), fedrcd.discover(TABLES, method, **given))


@pytest.mark.parametrize("method", [name for name, card in METHODS.items() if card.replayed])
def test_methods_of_several_rounds_have_the_bits_of_the_clear(method):
    clear = fedrcd.discover(TABLES, method, arithmetic="exact")
    same(fedrcd.discover(TABLES, method, masked=True), clear)
    assert clear.rounds > 1


@pytest.mark.parametrize("within", ["centre", "standardise"])
@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-sp"])
def test_rows_that_sites_express_by_their_own_moments(method, within):
    clear = fedrcd.discover(TABLES, method, within=within, arithmetic="exact")
    same(fedrcd.discover(TABLES, method, within=within, masked=True), clear)


@pytest.mark.parametrize("method", ["fedrcd-sp", "fedrcd-ni", "fedhc"])
def test_sites_that_hold_other_columns(method):
    tables = HYBRID[:6]
    same(fedrcd.discover(tables, method, masked=True), fedrcd.discover(tables, method, arithmetic="exact"))


def test_a_site_that_would_be_told_is_named_before_anything_is_asked():
    with pytest.raises(ConfigError, match="masks cannot hide 's6', 's7'"):
        fedrcd.discover(HYBRID, "fedrcd-sp", masked=True)


def test_a_bootstrap_adds_group_by_group_over_the_sites():
    clear = fedrcd.in_process(TABLES, arithmetic="exact", random_state=3)
    hidden = masked_over(clear)
    given = {"n_sampling": 5, "random_state": 1, "groups": 10, "n_jobs": 1}
    found, plain = (fedrcd.bootstrap(one, "fedrcd-s", **given) for one in (hidden, clear))
    same(found.discovery, replace(plain.discovery, bytes_sent=0))
    question = GroupedQuestion(clear.setting.tensor(), 10)
    by_site = clear.pool(question).groups.values()
    added = [reduce(lambda one, other: one + other, parts) for parts in zip(*by_site, strict=True)]
    assert list(hidden.pool(question).groups[POOLED]) == added

    class Added:
        """The groups of all sites in the clear, group g added over the sites."""

        setting, traffic = clear.setting, clear.traffic

        def pool(self, asked):
            parts = clear.pool(asked).groups.values()
            return GroupedSums(
                {POOLED: tuple(reduce(lambda one, other: one + other, few) for few in zip(*parts, strict=True))}
            )

    drawn = fedrcd.bootstrap(Added(), "fedrcd-s", **given)
    assert found.orders.tobytes() == drawn.orders.tobytes()
    assert found.adjacency_matrices_.tobytes() == drawn.adjacency_matrices_.tobytes()
    assert (found.units, found.without) == (10, {})


def test_a_bootstrap_of_tables_may_be_masked():
    found = fedrcd.bootstrap(TABLES, "fedrcd-ni", n_sampling=3, random_state=1, n_jobs=1, groups=10, masked=True)
    same(found.discovery, fedrcd.discover(TABLES, "fedrcd-ni", arithmetic="exact"))


def test_edges_may_be_selected_by_a_masked_bootstrap():
    found = fedrcd.discover(TABLES, "fedrcd-ni", weights="bootstrap", n_sampling=3, groups=10, masked=True)
    assert found.order == fedrcd.discover(TABLES, "fedrcd-ni", arithmetic="exact").order


def test_a_transport_may_be_masked_and_is_judged_as_tables_are():
    transport = fedrcd.in_process(TABLES, masked=True)
    same(fedrcd.discover(transport, "fedrcd-t"), fedrcd.discover(TABLES, "fedrcd-t", arithmetic="exact"))
    assert METHODS[fedrcd.discover(transport).method].rounds.once  # what `auto` takes
    with pytest.raises(ConfigError, match="fedrcd-se asks several times"):
        fedrcd.discover(transport, "fedrcd-se")


def test_what_was_clipped_is_not_known():
    far = [one * 1.0 for one in TABLES]
    far[0] = far[0].assign(a=np.where(far[0].index == 0, 1e6, far[0]["a"]))
    assert any("clipped" in note for note in fedrcd.discover(far, "fedrcd-ni", arithmetic="exact").notes)
    assert not any("clipped" in note for note in fedrcd.discover(far, "fedrcd-ni", masked=True).notes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tables": TABLES[:2]}, "they need at least 3"),
        ({"tables": TABLES[0]}, "masks hide nobody among one site"),
        ({"method": "fedrcd-se"}, "fedrcd-se asks several times, for what sites cannot work out by themselves"),
        ({"method": "fed-direct", "arithmetic": "compact"}, "only sums of whole numbers can be masked"),
        ({"method": "direct-lingam", "stack": True}, "works on one table, where there is nothing to mask"),
        ({"within": "auto"}, "asks every site for means and variances of its own, which masks hide"),
        ({"missing": "available"}, "cannot be masked"),
        ({"missing": "expected"}, "cannot be masked"),
        ({"tables": [table(f"s{k}", c, slice(0, 300), "b") for k, c in enumerate(["ab", "bcd", "acd"])]}, "same rows"),
    ],
)
def test_what_masks_cannot_do_is_said_beforehand(given, message):
    tables = given.pop("tables", TABLES)
    with pytest.raises(ConfigError, match=message):
        fedrcd.discover(tables, **{"method": "fedrcd-ni", "masked": True, **given})


def test_checks_are_refused_before_anything_is_asked():
    with pytest.raises(ConfigError, match="residuals"):
        fedrcd.check(TABLES, "fedrcd-ni", masked=True)


def test_what_to_install_is_said(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.partition(".")[0] == "cryptography":
            raise ImportError(name)
        return real(name, *rest)

    for name in [one for one in sys.modules if one.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"pip install 'fedrcd\[ledger\]'"):
        fedrcd.discover(TABLES, masked=True)


def test_a_site_whose_sums_cannot_be_spoils_the_total_and_nobody_can_tell_which():
    transport = fedrcd.in_process(TABLES, arithmetic="exact")
    total = transport.pool(transport.setting.pairs(4))
    require_possible(total, 2000)
    with pytest.raises(StatisticError, match="under masks nobody can tell which"):
        require_possible(total, 1000)
    sums = dict(total.low.sums)
    sums[2, 0] = sums[2, 0] + 1  # no whole numbers have these: a square is as odd as its root
    with pytest.raises(StatisticError, match="no whole numbers"):
        require_possible(replace(total, low=replace(total.low, sums=sums)), 2000)
