"""A site that is killed between any two writes has recorded every edition that it answered about, once."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from fedrcd.errors import FileError
from fedrcd.federation.messages.requests import Request, federation_digest
from fedrcd.federation.site.erasure import strike_rows
from fedrcd.federation.site.log import ANSWERED
from fedrcd.federation.site.service import SiteService, open_door, read_tables
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import Store
from fedrcd.protocol.wire import to_bytes
from tests.contracts.doors import SITE, Place, table_of
from tests.federation.faults import attempt

FIRST, MORE, ERASED = 150, 40, "r3"


def prepare(folder):
    """A site that has answered nothing yet; its two tables lie beside each other."""
    place = Place.of(folder, table_of(2, FIRST))
    more = table_of(2, MORE, first=FIRST, seed=9)
    pd.concat([place.table(), more], ignore_index=True).to_parquet(folder / "grown.parquet", index=False)


def settings(folder, table):
    return SiteSettings(
        name=SITE, federation=str(folder / "federation.toml"), data=str(folder / table), state=str(folder / "state")
    )


def scenario(folder, acknowledge):
    """Two runs about two editions, an erasure between them; begins where an earlier one was stopped."""
    place = Place(folder)
    for run, table in (("one", "north.parquet"), ("two", "grown.parquet"), ("again", "grown.parquet")):
        if run == "two":
            erase(folder)
        service = SiteService(settings(folder, table))
        for sums in ("pairs", "tensor"):
            digest = federation_digest(place.federation)
            request = Request(f"{run}-{sums}", 1, digest, SITE, (SITE, "south"), place.question(sums))
            reply = service.reply(request)
            if reply.refusal is None:
                sums = to_bytes(reply.blocks[0][1]).hex()
                acknowledge(json.dumps([reply.run, reply.version, sums], separators=(",", ":")))


def erase(folder):
    service = SiteService(settings(folder, "north.parquet"))
    with service.store() as store:
        door = open_door(service.settings, Place(folder).federation, store)
        if store.marker.of_id(ERASED) not in store.struck.persons():
            strike_rows(door, read_tables(door.federation, service.settings), [ERASED], store.today())


def remembered(folder):
    with Store(folder / "state", SITE) as store:
        labels = [edition.label for edition in store.editions.editions()]
        answered = {(entry.run, entry.version) for entry in store.entries() if entry.outcome == ANSWERED}
        sizes = sum(size for _, size in store.editions.atoms().values())
        return labels, answered, sizes


def unfinished(folder):
    """Whether the process was killed while the store was made: it says so, and nothing has left."""
    try:
        Store(folder / "state", SITE).close()
    except FileError as problem:
        return "never finished" in str(problem)
    return False


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crashes")
    start = folder / "start"
    prepare(start)
    whole = shutil.copytree(start, folder / "whole")
    counted = attempt(whole, "none", 0, scenario)
    points = np.unique(np.linspace(1, int(counted["writes"]), 45).astype(int)).tolist()
    reports = [attempt(shutil.copytree(start, folder / str(point)), "kill", point, scenario) for point in points]
    return whole, counted, reports, folder


def test_nothing_is_answered_that_is_not_recorded_and_nothing_is_recorded_twice(crashed):
    _, counted, reports, folder = crashed
    assert len(counted["acknowledged"]) == 6
    truth = {run: sums for run, _, sums in map(json.loads, counted["acknowledged"])}
    assert sum(report["killed"] for report in reports) >= 40
    for report in reports:
        here = folder / str(report["point"])
        if unfinished(here):
            assert report["acknowledged"] == []
            continue
        labels, answered, _ = remembered(here)
        assert len(set(labels)) == len(labels)
        for run, version, sums in map(json.loads, report["acknowledged"]):
            assert version in labels, report["point"]
            assert (run, version) in answered or run.startswith("again")
            assert truth[run] == sums


def test_after_a_crash_the_same_commands_lead_to_the_same_editions(crashed):
    whole, _, reports, folder = crashed
    expected = remembered(whole)
    for report in reports[::4]:
        here = folder / str(report["point"])
        if unfinished(here):
            continue
        scenario(here, lambda _: None)
        labels, _, sizes = remembered(here)
        assert (len(labels), sizes) == (len(expected[0]), expected[2]), report["point"]
