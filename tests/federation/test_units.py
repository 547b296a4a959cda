"""A site with other units: the run stops, the coordinator is told which column, and the factor stays at the site."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import fedrcd
from fedrcd.data.examples import hospital_federation, hospital_model, hospitals
from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.errors import SitesWarning
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import SiteLost
from fedrcd.federation.coordinator.unlike_sites import SitesDiffer
from fedrcd.federation.messages.envelope import is_message, pack_message, unpack_message
from fedrcd.federation.messages.roll_call import RollCallReply
from fedrcd.federation.site.log import ANSWERED, UNLIKE
from tests.federation.couriers import Direct
from tests.federation.sites import OnDisk, logged

FACTORS = {"glucose": 1 / 18.0, "cholesterol": 1 / 38.67, "creatinine": 1 / 88.4}
"""The laboratory of the third hospital measures in units of its own."""


@pytest.fixture
def disk(tmp_path):
    federation = hospital_federation()
    own = np.array([FACTORS.get(name, 1.0) for name in federation.variables])
    tables = {
        site.name: (table.values, federation.variables)
        for site, table in zip(federation.sites, hospitals(), strict=True)
    }
    last = federation.sites[-1].name
    tables[last] = (tables[last][0] * own, federation.variables)
    return OnDisk(tmp_path, federation, tables)


def conducted(disk, courier=None, **changes):
    names = [site.name for site in disk.federation.sites]
    conductor = Conductor(disk.plan("fedrcd-s", **changes), disk.federation, say=lambda _: None)
    return conductor.run(courier or Direct(disk), names)


def last(disk):
    return disk.federation.sites[-1].name


def wrong_edges(found):
    """Edges that are not in the graph behind the tables, and edges of it that are lacking."""
    return int(((found.estimate.B != 0) != (hospital_model().B != 0)).sum())


def test_other_units_stop_the_run_before_anything_leaves(disk):
    with pytest.raises(SitesDiffer) as stopped:
        conducted(disk)
    said = str(stopped.value)
    assert f"site {last(disk)!r}: " in said
    assert all(f"column {name!r} looks as if it were in another unit" in said for name in FACTORS)
    assert all(f"{site.name!r}" not in said for site in disk.federation.sites[:-1])
    assert f"--accept-differing {last(disk)}" in said
    for site in disk.federation.sites:
        assert not [entry for entry in logged(disk.service(site.name)) if entry.outcome == ANSWERED]


def test_the_factor_is_told_to_the_site_alone(disk):
    sent = []

    class Listening(Direct):
        def deliver(self, packets, seconds):
            for site, packet in super().deliver(packets, seconds):
                sent.append(packet)
                yield site, packet

    with pytest.raises(SitesDiffer):
        conducted(disk, Listening(disk))
    replies = [unpack_message(packet, RollCallReply) for packet in sent if is_message(packet)]
    told = {reply.site: [one for block in reply.blocks for one in block.unlike] for reply in replies}
    assert told.pop(last(disk)) == [(name, "unit") for name in disk.federation.variables if name in FACTORS]
    assert not any(told.values())
    logs = {site.name: logged(disk.service(site.name)) for site in disk.federation.sites}
    texts = {name: [one.detail for one in log if one.outcome == UNLIKE] for name, log in logs.items()}
    for text, factor in zip(texts.pop(last(disk)), FACTORS.values(), strict=True):
        assert "values look like" in text
        times = float(text.split("(times ")[1].split(")")[0])
        assert abs(np.log(times / factor)) < 0.02
    assert not any(texts.values())


def test_where_it_is_accepted_the_graph_is_wrong_and_the_result_says_why(disk, tmp_path):
    found = conducted(disk, accept_differing=(last(disk),))
    assert any("looks as if it were in another unit than declared; it was accepted" in one for one in found.warnings)
    right = OnDisk(
        tmp_path / "right",
        disk.federation,
        {
            site.name: (table.values, disk.federation.variables)
            for site, table in zip(disk.federation.sites, hospitals(), strict=True)
        },
    )
    assert wrong_edges(found) > 2 * wrong_edges(conducted(right))


def test_the_word_of_a_site_stays_while_its_edition_does(disk):
    for run in ("r1", "r2"):
        with pytest.raises(SitesDiffer):
            conducted(disk, run=run)
    told = [one for one in logged(disk.service(last(disk))) if one.outcome == UNLIKE]
    assert {one.run.split(".")[0] for one in told} == {"r1", "r2"}
    first, second = ([one.detail for one in told if one.run.startswith(run)] for run in ("r1", "r2"))
    assert first == second


@pytest.mark.parametrize("lie", [(("x99", "unit"),), (("glucose", "weather"),), (("glucose", "unit"),) * 2])
def test_a_story_about_columns_is_no_reply(disk, lie):
    class Liar(Direct):
        def deliver(self, packets, seconds):
            for site, packet in super().deliver(packets, seconds):
                reply = unpack_message(packet, RollCallReply)
                blocks = tuple(replace(block, unlike=lie) for block in reply.blocks)
                yield site, pack_message(replace(reply, blocks=blocks))

    with pytest.raises(SiteLost, match="not a reply"):
        conducted(disk, Liar(disk))


# where no frame is declared


def undeclared(disk):
    return OnDisk(disk.folder, replace(disk.federation, frame={}), {})


def test_without_a_frame_the_first_moments_stop_the_run(disk):
    bare = undeclared(disk)
    with pytest.raises(SitesDiffer, match="than at the other sites") as stopped:
        conducted(bare)
    assert all(f"column {name!r} looks as if it were in another unit" in str(stopped.value) for name in FACTORS)
    assert [site.name for site in disk.federation.sites if f"site {site.name!r}" in str(stopped.value)] == [last(disk)]
    found = conducted(bare, accept_differing=(last(disk),))
    assert any("it was accepted" in one for one in found.warnings)


def test_a_site_that_mended_its_table_is_asked_again(disk):
    with pytest.raises(SitesDiffer):
        conducted(disk)
    right = hospitals()[-1]
    write_table(disk.data(last(disk)), Table(right.values, columns=disk.federation.variables, source="mended"))
    assert wrong_edges(conducted(disk)) == 0


# in one process


def test_in_one_process_discover_notes_it(disk):
    tables = [disk.in_process_rows(site.name) for site in disk.federation.sites]
    named = [fedrcd.Table(one, columns=disk.federation.variables, site=f"site {k}") for k, one in enumerate(tables)]
    with pytest.warns(SitesWarning, match="site 2: other values than at the other sites in 'glucose'") as noted:
        fedrcd.discover(named, "fedrcd-sp")
    assert sum(one.category is SitesWarning for one in noted) == 1
    frame = {name: (one.centre, one.scale) for name, one in disk.federation.frame.items()}
    with pytest.warns(SitesWarning, match="site 2: other values than declared"):
        fedrcd.discover(named, "fedrcd-sp", frame=frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SitesWarning)
        fedrcd.discover(named, "fedrcd-sp", within="standardise")
        fedrcd.discover(list(hospitals()), "fedrcd-sp")
