"""Attack 10: one of ten sites sends a table that was made up, of the number of rows that it declared."""

import json

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.federation.coordinator import deciding_sites
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.deciding_sites import WITHOUT
from fedrcd.graphs.dag import ancestry
from tests.federation.couriers import Direct
from tests.federation.sites import horizontal

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # they are notes, which are looked at

TEN = tuple(f"site-{k}" for k in range(10))
LIAR = "site-7"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return horizontal(tmp_path_factory.mktemp("ten"), p=4, rows=(300,) * 10, names=TEN)


@pytest.fixture
def disk(tables, tmp_path):
    return tables.apart(tmp_path)


def made_up(disk, folder, wider=1.0):
    """A table of as many rows, with mean and covariance as elsewhere, in which every effect goes the other way.

    Or of other covariances, so many times as wide: that turns methods that weigh tails less.
    """
    honest = np.concatenate([disk.in_process_rows(name) for name in TEN])
    noise = np.random.default_rng(1).standard_exponential((300, 4)) ** 5
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0)
    order = conducted(disk).estimate.order[::-1]
    rows = np.empty_like(noise)
    rows[:, order] = noise @ np.linalg.cholesky(np.cov(honest.T)[np.ix_(order, order)]).T * wider
    path = folder / "made-up.parquet"
    write_table(path, Table(rows + honest.mean(axis=0), columns=disk.federation.variables, source=LIAR))
    return path


def conducted(disk, data=None, method="fedrcd-s", **changes):
    trusting = {"trust_coordinator": True} if method != "fedrcd-s" else {}
    plan = disk.plan(method, **changes, **trusting)
    courier = Direct(disk, **trusting)
    if data is not None:
        courier.services[LIAR] = disk.service(LIAR, data=str(data), **trusting)
    return Conductor(plan, disk.federation, say=lambda _: None).run(courier, TEN)


def turned(one, other):
    """The share of causal pairs of one result that are the other way round in another."""
    place = np.argsort(other.estimate.order)
    related = ancestry(one.estimate.B)
    return (related & (place[:, None] < place[None, :])).sum() / related.sum()


def test_one_site_of_ten_that_decides_is_named(disk, tmp_path):
    honest = conducted(disk)
    assert honest.warnings == ()
    told = json.loads((disk.folder / "result" / WITHOUT).read_text())
    assert list(told) == list(TEN)
    attacked = conducted(disk.apart(tmp_path / "again"), made_up(disk, tmp_path))
    assert turned(honest, attacked) == 1
    [warning] = [one for one in attacked.warnings if "decides this result" in one]
    assert f"site {LIAR!r} decides" in warning


def test_without_the_rule_nobody_is_told(disk, tmp_path, monkeypatch):
    monkeypatch.setattr(deciding_sites, "MOST", 0)
    honest = conducted(disk)
    attacked = conducted(disk.apart(tmp_path / "again"), made_up(disk, tmp_path))
    assert turned(honest, attacked) == 1
    assert attacked.warnings == ()


@pytest.mark.parametrize("method", ["fedrcd-x", "fed-direct", "fedrcd-sx", "fedrcd-se", "fedrcd-r"])
def test_several_rounds_name_the_site_that_decides_and_ask_nobody_again(disk, tmp_path, method):
    honest = conducted(disk, method=method)
    assert honest.warnings == ()
    told = json.loads((disk.folder / "result" / WITHOUT).read_text())
    assert list(told) == list(TEN)
    attacked = conducted(disk.apart(tmp_path / "again"), made_up(disk, tmp_path, wider=4.0), method=method)
    if method != "fedrcd-se":  # which asks until nothing gets better
        assert attacked.rounds == honest.rounds
    decides = [one for one in attacked.warnings if "decides this result" in one]
    if method == "fedrcd-r":  # which no site of ten turns
        assert (turned(honest, attacked), decides) == (0, [])
        return
    assert turned(honest, attacked) == 1
    [warning] = decides
    assert f"site {LIAR!r} decides" in warning


@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-x", "fed-direct"])
def test_in_one_process_a_discovery_says_it_where_asked_whatever_the_rounds(disk, tmp_path, method):
    tables = [disk.in_process_rows(name) for name in TEN]
    tables[7] = pd.read_parquet(made_up(disk, tmp_path)).to_numpy()
    found = fedrcd.discover(tables, method, check_sites=True)
    each = [note for note in found.notes if note.startswith("without site ")]
    assert len(each) == 10
    unasked = fedrcd.discover(tables, method)
    assert unasked.order == found.order
    assert not [note for note in unasked.notes if note.startswith("without site ")]
    if method == "fedrcd-s":
        [said] = [note for note in found.notes if "decides this result" in note]
        assert said.startswith("site 'table 8' decides")


def test_what_cannot_be_left_out_is_said(disk):
    with pytest.raises(ConfigError, match="there is only one"):
        fedrcd.discover(disk.in_process_rows(TEN[0]), check_sites=True)
