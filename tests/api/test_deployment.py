"""The result of a run over machines is a discovery like any other."""

import numpy as np
import pytest

from fedrcd.api.deployment import background_of, require_coverage
from fedrcd.api.describe import discovery_of
from fedrcd.api.discovery import Discovery
from fedrcd.errors import DataError
from fedrcd.federation.coordinator.conduct import Conductor
from tests.federation.couriers import Direct
from tests.federation.sites import NAMES, horizontal, scattered


def discovered(disk, method="fedrcd-s", present=NAMES, **changes):
    conductor = Conductor(disk.plan(method, **changes), disk.federation, say=lambda _: None)
    finding = conductor.run(Direct(disk), present)
    return discovery_of(finding, background_of(finding, disk.federation))


def test_it_holds_what_the_run_found_and_cost(tmp_path):
    disk = horizontal(tmp_path)
    found = discovered(disk)
    assert (found.rows, found.sites, found.rounds, found.method) == (1500, 3, 1, "fedrcd-s")
    assert found.bytes_sent > 0
    again = Discovery.from_json(found.to_json())
    assert again.order == found.order
    assert np.array_equal(again.B, found.B)


def test_who_was_missing_is_among_its_notes(tmp_path):
    found = discovered(horizontal(tmp_path), present=NAMES[:2], allow_missing=True)
    assert found.sites == 2
    assert "without 'hospital-c'" in found.notes[0]


def test_notes_of_one_process_are_kept(tmp_path):
    disk = scattered(tmp_path)
    found = discovered(disk, "fedrcd-s")
    assert any("combinations of columns come from different rows" in note for note in found.notes)


def test_sites_must_hold_together_what_a_method_needs(tmp_path):
    from dataclasses import replace

    disk = scattered(tmp_path)
    require_coverage(disk.federation, "fedrcd-x")
    without = replace(disk.federation, sites=disk.federation.sites[1:], blocks=disk.federation.blocks[2:])
    with pytest.raises(DataError, match="together"):
        require_coverage(without, "fedrcd-x")
