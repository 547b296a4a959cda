"""Nothing acknowledged is lost, whatever happens to the process, the file or the disk."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fedrcd.errors import FileError, ProtocolError
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.verify import verify_ledger
from tests.federation import faults
from tests.federation.crashes import ROOT, crashed, found_in_files, problems_after, secrets_of
from tests.federation.living import TRIAL, configured, contribution, federation_of, put, sample

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # of fork


@pytest.fixture(scope="module")
def crashes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crashes")
    return folder, list(crashed(folder))


def test_a_process_killed_at_a_write_loses_nothing_it_acknowledged_and_can_go_on(crashes):
    folder, (whole, *reports) = crashes
    old = secrets_of(folder / "start")
    with Ledger.open(Path(whole["folder"]) / "ledger.db") as ledger:
        final = ledger.state_id
    assert whole["code"] == 0
    assert whole["writes"] > 50
    killed = [report for report in reports if report["mode"] != "full"]
    assert all(report["killed"] for report in killed)
    tried = set(range(1, whole["writes"] + 1, faults.MODES["kill"]))  # every one in `make verify`
    assert {report["point"] for report in killed if report["mode"] == "kill"} == tried
    assert [problem for report in killed for problem in problems_after(report, final, old)] == []


def test_a_full_disk_is_a_clear_error_and_loses_nothing(crashes):
    folder, (whole, *reports) = crashes
    old = secrets_of(folder / "start")
    with Ledger.open(Path(whole["folder"]) / "ledger.db") as ledger:
        final = ledger.state_id
    full = [report for report in reports if report["mode"] == "full"]
    assert all(report["error"].startswith("error FileError") for report in full if report["code"] != 0)
    assert sum(report["code"] == 4 for report in full) > 5
    assert [problem for report in full for problem in problems_after(report, final, old)] == []


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_torn_last_record_of_the_log_is_as_if_it_was_never_written(share, tmp_path):
    """The log is torn only while it is being written; once it is on the disk, losing it is damage that is named."""
    start = tmp_path / "start"
    start.mkdir()
    faults.prepare(start)
    torn = {"written": 0, "on disk": 0}
    for point in range(52, 92, 3):  # while the first entry is written
        copy = shutil.copytree(start, tmp_path / str(point))
        report = faults.attempt(copy, "kill", point)
        wal = copy / "ledger.db-wal"
        if not wal.exists() or not wal.stat().st_size:
            continue
        os.truncate(wal, int(share * wal.stat().st_size))
        being_written = (copy / "ledger.db").read_bytes() == (start / "ledger.db").read_bytes()
        findings = verify_ledger(copy / "ledger.db")
        assert report["acknowledged"] == []
        torn["written" if being_written else "on disk"] += 1
        if being_written:
            assert findings == []
            with Ledger.open(copy / "ledger.db") as ledger:
                assert [entry.kind for entry in ledger.entries] == ["opened", "joined", "joined"]
    assert torn["written"] > 1


def limited(path, size):
    """Add a contribution in a process that may not write files beyond a size; what it says."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        code = 1
        try:
            with Ledger.open(path) as ledger:
                put(ledger, contribution(ledger.configuration, faults.FEDERATION, "b", sample(2, 50, 3), version=2))
                code = 0
        except FileError:
            code = 4
        finally:
            os._exit(code)
    return os.WEXITSTATUS(os.waitpid(child, 0)[1])


def test_a_file_that_cannot_grow_leaves_the_state_untouched(tmp_path):
    faults.prepare(tmp_path)
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        before, entries = ledger.state_id, len(ledger.entries)
    assert limited(path, 4096) == 4
    with Ledger.open(path) as ledger:
        assert (ledger.state_id, len(ledger.entries)) == (before, entries)
    assert verify_ledger(path) == []
    assert limited(path, 10**9) == 0
    with Ledger.open(path) as ledger:
        assert len(ledger.entries) == entries + 1


def test_a_second_coordinator_is_refused_while_the_first_lives(tmp_path):
    faults.prepare(tmp_path)
    path = tmp_path / "ledger.db"
    code = (
        "import sys; from fedrcd.federation.ledger.ledger import Ledger\n"
        "with Ledger.open(sys.argv[1]):\n print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as first:
        assert first.stdout.readline() == "open\n"
        with pytest.raises(ProtocolError, match="in use by another process"):
            Ledger.open(path)
        first.kill()
    with Ledger.open(path) as ledger:
        ledger.leave("b")


def test_two_ledgers_on_one_file_in_one_process_are_refused_too(tmp_path):
    faults.prepare(tmp_path)
    with Ledger.open(tmp_path / "ledger.db"), pytest.raises(ProtocolError, match="only one at a time"):
        Ledger.open(tmp_path / "ledger.db")


def test_what_was_replaced_is_in_no_file_any_more(tmp_path):
    faults.prepare(tmp_path)
    old = {site: secrets_of(tmp_path, site) for site in "ab"}
    assert found_in_files(tmp_path, old["a"]) == ["ledger.db"]
    faults.scenario(tmp_path, lambda _: None)
    assert found_in_files(tmp_path, old["a"] + old["b"]) == []


def test_what_was_replaced_is_gone_even_while_the_ledger_stays_open(tmp_path):
    federation = federation_of(3)
    configuration = configured(federation)
    with Ledger.create(tmp_path / "ledger.db", configuration, TRIAL) as ledger:
        first = contribution(configuration, federation, "a", sample(3, 60))
        put(ledger, first)
        payload = first.to_bytes()
        assert found_in_files(tmp_path, [payload[-100:-50]]) == ["ledger.db"]
        put(ledger, contribution(configuration, federation, "a", sample(3, 59), version=2, purpose="erase"))
        assert found_in_files(tmp_path, [first.salt.encode(), payload[-100:-50], payload[-600:-550]]) == []
