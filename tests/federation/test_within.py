"""Sites on machines that express their rows by moments of their own: the bits of one process, by the same rules."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import RetryPolicy, SiteLost
from fedrcd.federation.coordinator.unlike_sites import SitesDiffer
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from fedrcd.runs.finding import Resampling
from tests.federation.couriers import Direct
from tests.federation.masking.machines import Relay, apart, keyed, masked_plan
from tests.federation.sites import NAMES, horizontal, scattered

A, B, C = NAMES
FEDERATED = [name for name, card in METHODS.items() if not card.one_table and not card.private]
REPLAYED = [name for name, card in METHODS.items() if card.replayed and not card.one_table]


def with_other_unit(disk, factor=1.5, level=3.0):
    """The second site has its first column in other units, and another level."""
    rows = disk.in_process_rows(B)
    rows[:, 0] = factor * rows[:, 0] + level
    write_table(disk.data(B), Table(rows, columns=disk.federation.variables, source=B))
    return disk


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return with_other_unit(horizontal(tmp_path_factory.mktemp("federation"), p=3, rows=(600, 610, 620)))


@pytest.fixture
def disk(tables, tmp_path):
    return tables.apart(tmp_path)


def conducted(disk, courier=None, plan=None, number=1, **changes):
    policy = RetryPolicy(deadline=1.0, give_up_after=0.0, pause=0.01)
    plan = plan or disk.plan(**{"retry_policy": policy, **changes})
    plan = replace(plan, run=f"r{number}", folder=str(disk.folder / f"result {number}"))
    return Conductor(plan, disk.federation, say=lambda _: None).run(courier or Direct(disk), NAMES)


def in_process(disk, method, within):
    transport = disk.in_process(within=within)
    return run(build(method).rounds(transport.setting), transport)


def same(one, other):
    return one.order.tolist() == other.order.tolist() and one.B.tobytes() == other.B.tobytes()


@pytest.mark.parametrize("within", ["centre", "standardise"])
@pytest.mark.parametrize("method", FEDERATED)
def test_every_method_has_the_bits_of_one_process(disk, method, within):
    found = conducted(disk, method=method, within=within, accept_differing=(B,))
    assert same(found.estimate, in_process(disk, method, within))


def test_sites_that_differ_stop_the_run_unless_each_is_standardised(tmp_path):
    disk = with_other_unit(horizontal(tmp_path, p=3, rows=(600, 610, 620)), factor=1000.0)
    with pytest.raises(SitesDiffer, match="--within standardise"):
        conducted(disk)
    assert same(conducted(disk, within="standardise", number=2).estimate, in_process(disk, "fedrcd-s", "standardise"))


def test_auto_asks_for_moments_and_says_why(disk):
    found = conducted(disk, within="auto")
    assert same(found.estimate, in_process(disk, "fedrcd-s", "standardise"))
    assert "within='standardise' because the spread of 'x1' differs between sites by more than chance" in found.chosen
    assert found.rounds == 2


def test_auto_changes_nothing_where_sites_do_not_differ(tmp_path):
    disk = horizontal(tmp_path, p=3, rows=(600, 610, 620))
    found = conducted(disk, within="auto")
    assert same(found.estimate, in_process(disk, "fedrcd-s", "none"))
    assert "sites differ by no more than chance" in found.chosen


def test_groups_of_rows_are_expressed_by_the_moments_of_all(tmp_path):
    disk = with_other_unit(horizontal(tmp_path, p=3, rows=(1500, 1510, 1520)))
    found = conducted(
        disk, method="fedrcd-ni", within="standardise", resampling=Resampling(replicates=2, groups=10, seed=0)
    )
    assert pytest.approx(in_process(disk, "fedrcd-ni", "standardise").B) == found.estimate.B


def test_sites_with_some_columns_express_what_they_have(tmp_path):
    disk = scattered(tmp_path)
    found = conducted(disk, method="fedrcd-ni", within="standardise")
    assert same(found.estimate, in_process(disk, "fedrcd-ni", "standardise"))


@pytest.mark.parametrize(("first", "then"), [("none", "standardise"), ("standardise", "centre"), ("centre", "none")])
def test_rows_are_expressed_in_one_way_for_ever(disk, first, then):
    """Values far out are cut in one frame and not in another: the difference would be theirs."""
    conducted(disk, within=first, accept_differing=(B,))
    with pytest.raises(SiteLost) as caught:
        conducted(disk, within=then, accept_differing=(B,), number=2)
    assert caught.value.refusal is Refusal.FRAME


# under masks


@pytest.fixture(scope="module")
def hidden(tmp_path_factory):
    return with_other_unit(keyed(tmp_path_factory.mktemp("keyed"), p=3, rows=(600, 610, 620)))


@pytest.mark.parametrize("within", ["centre", "standardise"])
def test_masked_runs_have_the_bits_of_one_process(hidden, tmp_path, within):
    disk = apart(hidden, tmp_path)
    plan = masked_plan(disk, within=within, accept_differing=(B,))
    assert same(conducted(disk, Relay(disk), plan).estimate, in_process(disk, "fedrcd-s", within))


@pytest.mark.parametrize("method", REPLAYED)
def test_replayed_runs_need_a_person_at_each_site(hidden, tmp_path, method):
    disk = apart(hidden, tmp_path)
    with pytest.raises(SiteLost) as caught:
        conducted(disk, Relay(disk), masked_plan(disk, method, within="standardise"))
    assert caught.value.refusal is Refusal.KNOWLEDGE


def test_what_masks_hide_cannot_be_chosen_by(hidden, tmp_path):
    disk = apart(hidden, tmp_path)
    with pytest.raises(ConfigError, match="within='auto'"):
        conducted(disk, Relay(disk), masked_plan(disk, within="auto"))


def test_the_way_is_one_of_those_known(disk):
    with pytest.raises(ConfigError, match="within must be one of"):
        disk.plan(within="sideways")


def test_scaling_one_site_changes_nothing_where_each_is_standardised(tmp_path):
    plain = horizontal(tmp_path / "plain", p=3, rows=(600, 610, 620))
    scaled = horizontal(tmp_path / "scaled", p=3, rows=(600, 610, 620))
    rows = scaled.in_process_rows(B) * 1024.0
    write_table(scaled.data(B), Table(rows, columns=scaled.federation.variables, source=B))
    one, other = (conducted(disk, within="standardise").estimate for disk in (plain, scaled))
    assert np.array_equal(one.order, other.order)
    assert pytest.approx(other.B, abs=1e-9) == one.B
