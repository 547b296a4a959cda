"""A site that leaves out rows far out: from everything, in one way, and nobody else decides it."""

from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data.federation import BlockEntry, VariableFrame
from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request, pack_request
from fedrcd.federation.site.secret import group_key
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.protocol.groups import GroupedQuestion, Grouping
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.protocol.wire import to_bytes
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.sites import NAMES, OnDisk, horizontal, logged

A = NAMES[0]
WRONG = [5, 60, 61]
"""Rows with a gross error."""


@pytest.fixture
def disk(tmp_path):
    disk = horizontal(tmp_path, rows=(1500, 500, 500))
    rows = disk.in_process_rows(A)
    rows[WRONG, [0, 2, 4]] = 1e3
    write_table(disk.data(A), Table(rows, columns=disk.federation.variables, source=A))
    return disk


def question(disk, kind=PairQuestion, *more):
    return kind(disk.federation.variables, disk.federation.declared_frame(), *more, grid=ARITHMETIC["exact"])


def request(disk, asked=None):
    return Request("r1.0", 1, disk.digest, A, NAMES, asked or question(disk, PairQuestion, 4))


def test_rows_far_out_are_in_no_sum(disk):
    kept = np.delete(disk.in_process_rows(A), WRONG, axis=0)
    for asked in (question(disk, PairQuestion, 4), question(disk, TensorQuestion)):
        [(_, sums)] = disk.service(A, trim=50.0).reply(request(disk, asked)).blocks
        assert to_bytes(sums) == to_bytes(LocalSite.of(A, kept, disk.federation.variables).answer(asked))


def test_a_reply_is_that_of_a_site_which_never_had_the_rows(disk, tmp_path):
    kept = np.delete(disk.in_process_rows(A), WRONG, axis=0)
    blocks = (BlockEntry(A, len(kept)), *disk.federation.blocks[1:])
    other = OnDisk(tmp_path / "kept", replace(disk.federation, blocks=blocks), {A: (kept, disk.federation.variables)})
    packets = [
        one.service(A, trim=trim).respond(pack_request(request(one))) for one, trim in ((disk, 50.0), (other, None))
    ]
    tags = ("version", "log_head")
    headers = [{key: value for key, value in packet.header.items() if key not in tags} for packet in packets]
    assert headers[0] == headers[1]  # but for the tags that are keyed with a secret
    assert [array.tobytes() for array in packets[0].arrays] == [array.tobytes() for array in packets[1].arrays]


@pytest.mark.parametrize(("first", "then"), [(50.0, None), (None, 50.0), (50.0, 51.0)])
def test_another_trim_about_the_same_rows_is_refused(disk, first, then):
    before = disk.service(A, trim=first).reply(request(disk))
    assert before.refusal is None
    for asked in (question(disk, PairQuestion, 3), GroupedQuestion(question(disk, PairQuestion, 4), 10)):
        assert disk.service(A, trim=then).reply(request(disk, asked)).refusal is Refusal.TRIM
    again = disk.service(A, trim=first).reply(request(disk))
    assert to_bytes(again.blocks[0][1]) == to_bytes(before.blocks[0][1])


def test_a_trim_that_nothing_was_released_with_can_be_changed(disk):
    assert disk.service(A, trim=50.0).reply(replace(request(disk), federation="0" * 64)).refusal is Refusal.FEDERATION
    assert disk.service(A, trim=8.0).reply(request(disk)).refusal is None


def test_the_same_limit_in_another_frame_is_another_trim(disk):
    frame = {**disk.federation.frame, "x1": VariableFrame(0.0, 30.0)}
    other = OnDisk(disk.folder / "other", replace(disk.federation, frame=frame), {})
    other.data, other.state = disk.data, disk.state
    assert disk.service(A, trim=50.0).reply(request(disk)).refusal is None
    assert other.service(A, trim=50.0).reply(request(other)).refusal is Refusal.TRIM


def test_the_rules_are_about_the_rows_that_are_left(tmp_path):
    disk = horizontal(tmp_path, rows=(102, 500, 500))
    rows = disk.in_process_rows(A)
    rows[:3, 0] = 1e3
    write_table(disk.data(A), Table(rows, columns=disk.federation.variables, source=A))
    service = disk.service(A, trim=50.0)
    assert service.reply(request(disk)).refusal is Refusal.ROWS
    assert "99 complete rows" in logged(service)[0].detail


def test_a_trim_that_leaves_nothing_is_told_at_the_site(disk):
    service = disk.service(A, trim=1e-9)
    assert service.reply(request(disk)).refusal is Refusal.DATA
    assert "--trim 1e-09 leaves none of 1500 complete rows" in logged(service)[0].detail


def test_rows_stay_in_their_groups(disk):
    """Rows without identifiers too: they are known by their places in the table, whichever others are left out."""
    asked = GroupedQuestion(question(disk, PairQuestion, 4), 10)
    [(_, sums)] = disk.service(A, trim=50.0).reply(request(disk, asked)).blocks
    places = np.delete(np.arange(1500), WRONG)
    names = tuple(map(str, places.tolist()))
    table = Table(disk.in_process_rows(A)[places], A, A, columns=disk.federation.variables, ids=names)
    site = LocalSite(A, table, A, grouping=Grouping(group_key(disk.secrets()[A])))
    assert to_bytes(sums) == to_bytes(site.answer(asked))


def test_rows_keep_their_identifiers(disk):
    with disk.door(A, trim=50.0) as (door, [table]):
        named = replace(table, ids=tuple(f"patient {row}" for row in range(1500)))
        assert door.present(named).ids == tuple(f"patient {row}" for row in range(1500) if row not in WRONG)


def test_the_trim_of_a_site_is_kept_with_its_settings_and_in_its_log(disk, tmp_path):
    settings = disk.settings(A, trim=8.5)
    settings.write(tmp_path / "site.json")
    assert SiteSettings.read(tmp_path / "site.json") == settings
    service = disk.service(A, trim=8.5)
    service.reply(request(disk))
    [entry] = logged(service)
    assert entry.trim.split()[0] == "8.5"
    assert entry.rows < 1500
