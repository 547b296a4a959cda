"""Prior knowledge, bootstrap and checks over a Grid: what one process with the sites' secrets gives, to the bit."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.api.bootstrap import bootstrap_of
from fedrcd.api.checks import checks_of
from fedrcd.api.deployment import background_of
from fedrcd.api.describe import discovery_of
from fedrcd.confidence.replicates import one_round, resample_groups
from fedrcd.errors import ConfigError, FileError, StatisticError
from fedrcd.federation.coordinator.gather import SiteLost
from fedrcd.federation.coordinator.resampling import plan_groups
from fedrcd.federation.coordinator.saved_finding import FINDING, REPLICATES, RESIDUALS, read_finding
from fedrcd.federation.flower.coordinator import planned
from fedrcd.federation.flower.local_grid import LocalGrid
from fedrcd.federation.flower.server import conduct
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.secret import write_secret
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.methods.examination import ask_residuals
from fedrcd.methods.registry import find
from fedrcd.protocol.driver import run
from fedrcd.protocol.wire import to_bytes
from fedrcd.runs.finding import Resampling
from tests.federation.sites import horizontal, in_triples, scattered

REPLICATES_DRAWN = 12


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return horizontal(tmp_path_factory.mktemp("federation"), p=4, rows=(1500, 1600, 1700))


@pytest.fixture
def disk(tables, tmp_path):
    return tables.apart(tmp_path)


def resampling(seed=7):
    return Resampling(replicates=REPLICATES_DRAWN, groups=10, seed=seed)


def conducted(disk, method="fedrcd-s", **changes):
    return conduct(disk.plan(method, **changes), LocalGrid(disk.settings_files()))


def reference(disk, method, arithmetic="exact", seed=7):
    transport = disk.in_process(arithmetic=arithmetic, secrets=disk.secrets())
    parts = one_round(find(method), {})
    return resample_groups(
        parts, transport.setting, transport, 10, REPLICATES_DRAWN, np.random.SeedSequence(seed)
    ), transport


def told_by(form, finding, disk):
    """A finding as users see it."""
    return form(finding, background_of(finding, disk.federation))


def own_secret(disk):
    return disk.secrets()["hospital-a"]


def same(one, other):
    arrays = [(getattr(one.replicates, name), getattr(other.replicates, name)) for name in ("orders", "B", "cov")]
    arrays += [(one.estimate.B, other.estimate.B)]
    arrays += [pair for site in one.without for pair in zip(one.without[site], other.without[site], strict=True)]
    facts = [
        (each.units, each.blocks, each.smallest, each.replicates.failed, set(each.without)) for each in (one, other)
    ]
    return facts[0] == facts[1] and all(np.array_equal(a, b) for a, b in arrays)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-ni", "fedrcd-x"])
def test_replicates_are_those_of_one_process(disk, method, arithmetic):
    outcome = conducted(disk, method, arithmetic=arithmetic, resampling=resampling())
    expected, transport = reference(disk, method, arithmetic)
    assert same(outcome.resampled, expected)
    assert same(read_finding(disk.plan().folder).resampled, expected)  # the file keeps every bit too
    assert (outcome.rounds, outcome.bytes_sent) == (1, transport.traffic.bytes_sent)
    assert not same(reference(disk, method, arithmetic, seed=8)[0], expected)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_what_was_announced_is_what_was_sent(disk, arithmetic):
    payload = plan_groups(disk.federation, disk.plan("fedrcd-s", arithmetic=arithmetic))
    assert payload.groups == 10  # hospital-a has room for no more of 140 rows
    outcome = conducted(disk, arithmetic=arithmetic, resampling=resampling())
    assert sum(payload.bytes_by_site.values()) == outcome.bytes_sent


def test_a_bootstrap_result_answers_as_it_does_in_one_process(disk):
    outcome = conducted(disk, resampling=resampling())
    found = told_by(bootstrap_of, outcome, disk)
    assert len(found) == REPLICATES_DRAWN
    assert np.array_equal(found.discovery.confidence, outcome.resampled.replicates.edge_shares())
    assert set(found.leave_one_site_out()["without"]) == set(outcome.sites)
    assert found.units == 30
    assert found.smallest_group >= 100


@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-x", "fedrcd-ni"])
@pytest.mark.parametrize("drawn", [None, resampling()], ids=["plain", "resampled"])
def test_checks_are_made_of_the_sums_of_one_process(disk, method, drawn):
    outcome = conducted(disk, method, check=True, resampling=drawn)
    transport = disk.in_process()
    asked = ask_residuals(transport.setting, outcome.estimate.marginals, outcome.estimate.order)
    assert to_bytes(outcome.checked.residuals) == to_bytes(run(asked, transport))
    assert outcome.checked.rounds == 1
    kept = read_finding(disk.plan().folder)
    assert told_by(checks_of, kept, disk).to_dict() == told_by(checks_of, outcome, disk).to_dict()
    names = [check.name for check in told_by(checks_of, outcome, disk).checks]
    assert names == ["non-gaussian", "independence", "linearity", "sites alike", "scale"]
    assert told_by(checks_of, outcome, disk)["non-gaussian"].verdict == "fine"


def test_knowledge_is_kept_in_orders_effects_and_replicates(disk):
    free = told_by(discovery_of, conducted(disk), disk)
    known = Knowledge(tiers=[[name] for name in reversed(free.order)])
    outcome = conducted(disk, knowledge=known, resampling=resampling())
    found = told_by(discovery_of, outcome, disk)
    assert list(found.order) == list(reversed(free.order))
    assert known.violations(found.B, found.order, found.names) == []
    names = np.array(found.names)
    for order, B in zip(outcome.resampled.replicates.orders, outcome.resampled.replicates.B, strict=True):
        assert known.violations(B, names[order], found.names) == []
    assert told_by(bootstrap_of, read_finding(disk.plan().folder), disk).constraints is not None


def test_sites_that_share_rows_need_a_secret_in_common(tmp_path):
    disk = scattered(tmp_path, rows=1500)
    plan = disk.plan("fedrcd-sp", resampling=resampling(), check=True)
    with pytest.raises(SiteLost, match="no secret in common"):
        conduct(plan, LocalGrid(disk.settings_files()))
    write_secret(tmp_path / "shared")
    outcome = conduct(
        replace(plan, folder=str(tmp_path / "again")),
        LocalGrid(disk.settings_files(group_secret=str(tmp_path / "shared"))),
    )
    secrets = {**dict.fromkeys(outcome.sites, (tmp_path / "shared").read_bytes()), "hospital-a": own_secret(disk)}
    transport = disk.in_process(secrets=secrets)
    parts = one_round(find("fedrcd-sp"), {})
    seed = np.random.SeedSequence(7)
    expected = resample_groups(parts, transport.setting, transport, 10, REPLICATES_DRAWN, seed)
    assert same(outcome.resampled, expected)
    assert told_by(checks_of, outcome, disk)["independence"].verdict == "fine"


def test_sites_that_share_rows_and_split_them_differently_are_named(tmp_path):
    disk = scattered(tmp_path, rows=1500)
    files = []
    for site in disk.federation.sites:
        write_secret(tmp_path / f"{site.name}.secret")
        settings = disk.settings(site.name, group_secret=str(tmp_path / f"{site.name}.secret"))
        files.append(str(disk.state(site.name) / "site.json"))
        settings.write(disk.state(site.name) / "site.json")
    with pytest.raises(StatisticError, match="and 'hospital-c' split the rows of block '2023' differently"):
        conduct(disk.plan("fedrcd-sp", resampling=resampling()), LocalGrid(files))


def test_a_site_that_refuses_to_be_checked_has_taken_part_all_the_same(disk):
    strict = disk.settings("hospital-b", rules=Rules(checks=0))
    files = disk.settings_files()
    strict.write(disk.state("hospital-b") / "site.json")
    outcome = conduct(disk.plan(check=True, allow_missing=True), LocalGrid(files))
    assert outcome.missing == ()
    assert "no checks: site 'hospital-b' refused" in outcome.warnings[0]
    assert "as many different checks" in told_by(checks_of, outcome, disk)["independence"].finding


def test_a_run_that_goes_on_with_fewer_sites_is_another_conversation(disk):
    files = disk.settings_files()
    plan = disk.plan("fedrcd-x", check=True, allow_missing=True)
    for there in (files, files[:2]):  # the first round of the second has other moments than the last of the first
        outcome = conduct(plan, LocalGrid(there))
        assert len(outcome.sites) == len(there)
        (disk.folder / "result" / FINDING).unlink()


def test_methods_ask_for_as_many_groups_as_each_other(tmp_path):
    disk = horizontal(tmp_path, p=10, rows=(4000, 4000, 4000))
    asked = {method: plan_groups(disk.federation, disk.plan(method)).groups for method in ("fedrcd-s", "fedrcd-ni")}
    assert len(set(asked.values())) == 1
    few = horizontal(tmp_path / "few", p=10, rows=(1700, 4000, 4000))
    assert plan_groups(few.federation, few.plan("fedrcd-ni")).groups >= 10
    with pytest.raises(ConfigError, match="take a method of pair sums"):
        plan_groups(few.federation, few.plan("fedrcd-s"))


def test_without_complete_rows_checks_say_so(tmp_path):
    disk = in_triples(tmp_path)
    outcome = conducted(disk, "fedrcd-sp", check=True)
    verdicts = told_by(checks_of, outcome, disk)
    assert verdicts["independence"].verdict == "cannot tell"
    assert "none holds all columns" in verdicts["independence"].finding
    assert outcome.rounds == 2


def test_a_bootstrap_is_planned_only_where_there_are_rows_for_it(tmp_path):
    disk = horizontal(tmp_path, p=5, rows=(400, 4000, 4000))
    with pytest.raises(ConfigError, match=r"site 'hospital-a' has 400 rows .* too few for 10 groups of at least 100"):
        plan_groups(disk.federation, disk.plan("fedrcd-s"))
    with pytest.raises(ConfigError, match="at least 10, got 9"):
        plan_groups(disk.federation, disk.plan("fedrcd-s"), 9)
    with pytest.raises(ConfigError, match="p rounds of questions"):
        plan_groups(disk.federation, disk.plan("fed-direct"))
    with pytest.raises(ConfigError, match="replicates must be at least 1"):
        Resampling(replicates=0, groups=10, seed=0)


def test_a_site_refuses_another_split_than_the_first(disk):
    conducted(disk, resampling=resampling())
    second = replace(resampling(), groups=11)
    with pytest.raises(SiteLost, match="split once and for all"):
        conduct(
            disk.plan(resampling=second, run="r2", folder=str(disk.folder / "second")),
            LocalGrid(disk.settings_files()),
        )


def test_a_run_is_resumed_only_with_the_same_bootstrap(disk):
    plan = disk.plan(resampling=resampling(), knowledge=Knowledge(sinks=["x1"]))
    plan.write()
    again, resumes = planned(replace(plan, run="another"))
    assert (again.run, resumes) == (plan.run, True)
    unknown = replace(plan, settings=replace(plan.settings, knowledge=None))
    for other in (replace(plan, resampling=resampling(8)), replace(plan, check=True), unknown):
        with pytest.raises(ConfigError, match="an unfinished run of another method or federation"):
            planned(other)


@pytest.mark.parametrize("file", [REPLICATES, RESIDUALS])
def test_a_damaged_file_is_named(disk, file):
    conducted(disk, check=True, resampling=resampling())
    folder = disk.folder / "result"
    (folder / file).write_bytes((folder / file).read_bytes()[:50])
    assert (folder / FINDING).exists()
    with pytest.raises(FileError, match=file):
        read_finding(folder)
