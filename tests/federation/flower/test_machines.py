"""A federation of real processes: results, credentials, faults. One federation for all, in the order of this file."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest

from fedrcd.confidence.replicates import resample_groups
from fedrcd.federation.coordinator.recorded_answers import ANSWERS
from fedrcd.federation.coordinator.saved_finding import FINDING, read_finding
from fedrcd.federation.flower.coordinator import RunFailed, conduct, planned
from fedrcd.federation.flower.processes import APP, FLOWER, Security
from fedrcd.federation.messages.keys import make_development_keys
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from tests.federation.flower.evil_site import taken_over
from tests.federation.flower.machines import Machines, all_started, until
from tests.federation.sites import NAMES, logged

A, B, C = NAMES

IN_ONE_PROCESS_TOO = pytest.mark.slow
"""Faults that `test_local_grid.py` makes in one process; `make test-slow` makes them in real ones, too."""


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    with all_started(Machines(tmp_path_factory.mktemp("machines"))) as federation:
        yield federation


def same_as_one_process(machines, outcome):
    transport = machines.disk.in_process(outcome.sites)
    expected = run(build(outcome.method).rounds(transport.setting), transport)
    return np.array_equal(outcome.estimate.B, expected.B) and np.array_equal(outcome.estimate.order, expected.order)


def test_one_round_by_the_command_line(machines):
    out = machines.folder / "by-command"
    command = [sys.executable, "-m", "fedrcd", "coordinator", "run", "--federation", str(machines.disk.file), "--json"]
    command += ["--method", "fedrcd-s", "--out", str(out), "--state", str(machines.folder / "coordinator")]
    command += ["--trust-coordinator"]
    command += ["--bootstrap", "20", "--check", "--keep", "0.9", "--report", str(out / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    outcome = read_finding(out)
    assert same_as_one_process(machines, outcome)
    kept = np.array(json.loads(done.stdout)["B"]) != 0
    assert np.array_equal(kept, outcome.resampled.replicates.edge_shares() >= 0.9)
    assert not (out / ANSWERS).exists()
    written = [
        path for folder in (out, machines.disk.state(A), machines.folder / "coordinator") for path in folder.rglob("*")
    ]
    assert len(written) > 10
    assert not [path for path in written if path.is_file() and path.stat().st_mode & 0o077]  # for their owner alone
    assert outcome.rounds == 2  # sums of groups, and residuals
    assert "to be sent: 3 sites, 10 groups of rows each" in done.stderr
    checks = json.loads((out / "checks.json").read_text())
    assert [check["name"] for check in checks["checks"]][:2] == ["non-gaussian", "independence"]
    page = (out / "page.html").read_text(encoding="utf-8")
    assert "from 20 replicates of the bootstrap" in page
    assert "Checks of the assumptions" in page
    reference = machines.disk.in_process(secrets=machines.disk.secrets())
    expected = resample_groups(
        build("fedrcd-s"), reference.setting, reference, 10, 20, np.random.SeedSequence(0)
    ).replicates
    assert np.array_equal(outcome.resampled.replicates.B, expected.B)
    shares = json.loads((out / "bootstrap.json").read_text())["edge_probabilities"]
    assert np.array_equal(shares, expected.edge_shares())


def test_many_rounds(machines):
    outcome = machines.run("fedrcd-x")
    assert outcome.rounds == 2
    assert same_as_one_process(machines, outcome)


@pytest.mark.parametrize(("method", "rounds"), [("fedrcd-x", 2), pytest.param("fedrcd-r", 6, marks=pytest.mark.slow)])
def test_many_rounds_that_sites_replay_under_masks(machines, method, rounds):
    outcome = machines.run(method, trust_coordinator=False, options={"masked": True})
    assert outcome.rounds == rounds
    assert same_as_one_process(machines, outcome)
    for name in NAMES:
        with machines.disk.service(name).store() as store:
            results = [json.loads(text) for text in store.masked.results().values()]
        assert [one["effects"] for one in results if one["method"] == method] == [outcome.estimate.B.tolist()]


def test_flower_runs_the_repository(machines):
    root, out = Path(__file__).parents[3], machines.folder / "by-flower"
    config = f'federation="{machines.disk.file}" method="fedrcd-ni" out="{out}"'
    assert machines.coordinator.flwr("run", str(root), "fedrcd", "--run-config", config)["success"]
    until((out / FINDING).exists, "the outcome of a run of Flower's own")
    assert same_as_one_process(machines, read_finding(out))


def test_sites_know_what_left(machines):
    for name in NAMES:
        answered = [entry for entry in logged(machines.disk.service(name)) if entry.outcome == "answered"]
        assert len(answered) >= 3


EVIL_APP = """
import json
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

client = ClientApp()
server = ServerApp()
PROOF = Path({proof!r})
PROOF.with_name("imported-by-" + str(__import__("os").environ.get("FLWR_HOME", "")).replace("/", "_")).touch()


@client.query("ask")
def leak(message, context):
    PROOF.with_name("leaked").touch()
    return Message(RecordDict({{"c": ConfigRecord({{"rows": "all of them"}})}}), reply_to=message)


@server.main()
def main(grid, context):
    empty = RecordDict({{"c": ConfigRecord({{"please": "rows"}})}})
    replies = grid.send_and_receive([Message(empty, node, "query.ask") for node in grid.get_node_ids()], timeout=120)
    PROOF.write_text(json.dumps([sorted(map(str, reply.content)) for reply in replies if not reply.has_error()]))
"""


def test_code_that_the_coordinator_sends_is_not_run_at_a_site(machines):
    app, proof = machines.folder / "evil", machines.folder / "proofs" / "replies.json"
    proof.parent.mkdir()
    app.mkdir()
    (app / "pyproject.toml").write_text(APP.format(flower=FLOWER).replace("fedrcd_run", "evil"))
    (app / "LICENSE").write_text("none")
    (app / "evil.py").write_text(EVIL_APP.format(proof=str(proof)))
    assert machines.coordinator.flwr("run", str(app), "fedrcd")["success"]
    until(proof.exists, "the end of the evil run")
    until(lambda: proof.read_text(), "the end of the evil run")
    assert json.loads(proof.read_text()) == [["arrays", "fedrcd"]] * 3  # our refusals, in our records
    assert not (proof.parent / "leaked").exists()
    imported = [path.name for path in proof.parent.glob("imported-by-*")]
    assert all("coordinator" in name for name in imported)  # only where its owner started it


def test_plain_http_is_refused(machines):
    with pytest.raises(httpx.HTTPError):
        httpx.post(f"http://127.0.0.1:{machines.port}/v1/fleet/pull-messages", content=b"")


def test_strangers_are_not_admitted(machines):
    other = machines.folder / "other-authority"
    make_development_keys(other, ["x"], ["127.0.0.1"])
    machines.start_node("stranger", settings_of=C)  # a key that nobody registered
    machines.start_node(
        "wrong-ca",
        settings_of=C,
        key=machines.keys / C,
        port=machines.local[4],
        security=Security(authority=other / "ca.crt"),
    )
    refused = {"stranger": "Failed to initialize the connection", "wrong-ca": "(?i)certificate"}
    for name, words in refused.items():
        log = machines.folder / f"{name}.log"
        until(lambda log=log, words=words: re.search(words, _after_start(log.read_text())), f"a refusal of {name}")
    assert machines.sites_online() == set(NAMES)
    for name in refused:
        machines.kill(name)


def _after_start(text):
    return text.split("Starting Flower SuperNode")[-1]


def test_a_key_under_another_name_answers_nothing(machines):
    machines.stop(B)
    machines.start_node(B, settings_of=C)
    try:
        with pytest.raises(RunFailed, match="site 'hospital-b' answered under another site's name"):
            machines.run()
    finally:
        machines.stop(B)
        machines.start_site(B)


def test_a_command_refuses_the_key_of_another_site(machines):
    command = [sys.executable, "-m", "fedrcd", "site", "serve", "--name", C, "--federation", str(machines.disk.file)]
    command += ["--data", str(machines.disk.data(C)), "--coordinator", f"127.0.0.1:{machines.port}"]
    command += ["--ca", str(machines.keys / "ca.crt"), "--key", str(machines.keys / B)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=machines.folder)
    assert done.returncode == 2
    assert "is not the key that the federation file has for site 'hospital-c'" in done.stderr


def test_a_site_that_hangs_is_tried_again_and_answers_later(machines):
    data, kept = machines.disk.data(C), machines.folder / "kept.parquet"
    shutil.move(data, kept)
    os.mkfifo(data)  # whoever opens it waits for ever
    settings = machines.disk.state(C) / "site.json"
    patient = settings.read_text()
    settings.write_text(patient.replace('"deadline": 90.0', '"deadline": 5.0'))
    seen = []

    def mend(status):
        if status.warnings and not seen:
            seen.append(status.warnings[0])
            data.unlink()
            shutil.move(kept, data)
            settings.write_text(patient)

    outcome = machines.run(progress=mend, retries=4)
    assert "'hospital-c' refused: it did not finish within its own deadline; asking again" in seen[0]
    assert same_as_one_process(machines, outcome)


@IN_ONE_PROCESS_TOO
def test_a_site_that_raises_is_tried_again_and_its_text_stays(machines):
    plan = machines.plan(retries=1)
    with taken_over(machines, C, "raise once"):
        outcome = conduct(machines.coordinator, plan, lambda _: None)
    assert same_as_one_process(machines, outcome)
    assert "failed before it could answer" in outcome.warnings[0]
    for path in (machines.folder / os.path.basename(plan.folder)).iterdir():
        assert b"4711" not in path.read_bytes()


@IN_ONE_PROCESS_TOO
def test_a_reply_of_the_wrong_shape_is_not_added(machines):
    wrong = "site 'hospital-c' sent sums that are not of the kind or the size"
    with taken_over(machines, C, "shape"), pytest.raises(RunFailed, match=wrong):
        machines.run()


@IN_ONE_PROCESS_TOO
def test_a_reply_from_an_earlier_run_is_not_added(machines):
    with taken_over(machines, C, "earlier"):
        machines.run()  # honest the first time
        with pytest.raises(RunFailed, match="site 'hospital-c' answered another question"):
            machines.run()


@IN_ONE_PROCESS_TOO
def test_a_reply_that_is_sent_twice_counts_once(machines):
    with taken_over(machines, C, "twice"):
        outcome = machines.run("fedrcd-x", retries=2)
    machines.stop(C)  # what it sent twice waits in its own node, in front of its next answer
    machines.start_site(C)
    assert same_as_one_process(machines, outcome)


def test_a_coordinator_that_is_killed_resumes(machines):
    plan = machines.plan("fedrcd-x", retries=2, pause=5.0)
    before = {name: len(logged(machines.disk.service(name))) for name in NAMES}
    failures = []

    def first():
        try:
            conduct(machines.coordinator, plan, lambda _: None)
        except Exception as problem:
            failures.append(problem)

    watcher = threading.Thread(target=first)
    watcher.start()
    until(lambda: _round(plan) >= 2, "the second round")
    superlink = machines.coordinator.process
    os.kill(superlink, signal.SIGKILL)
    watcher.join(300)
    assert "the coordinator stopped; start it and give the same command again" in str(failures[0])
    machines.stop("coordinator")
    machines.start_coordinator()  # sites connect again by themselves
    resumed, is_resumed = planned(replace(plan, run="new"))
    assert is_resumed
    outcome = conduct(machines.coordinator, resumed, lambda _: None)
    assert same_as_one_process(machines, outcome)
    for name in NAMES:
        asked = [entry for entry in logged(machines.disk.service(name))[before[name] :] if entry.round]
        assert len({entry.digest for entry in asked}) == 2
        assert sum(entry.round == 1 for entry in asked) == 1  # nobody was asked the first question twice


def _round(plan):
    from fedrcd.federation.coordinator.run_folder import Status

    status = Status.read(plan.folder)
    return status.round if status else 0


@pytest.mark.slow
def test_a_killed_process_and_a_killed_node_are_tried_again(machines):
    harmed = []

    def harm(status):
        answering = machines.answering(C)
        if harmed or not answering or status is None or status.round < 2:
            return
        harmed.extend([*answering, *machines.nodes(B)])  # both at once: Flower takes about a minute to notice
        for number in harmed:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)

    outcome = machines.run("fedrcd-x", progress=harm, retries=3, pause=5.0)
    assert len(harmed) > 1
    assert same_as_one_process(machines, outcome)
    assert any(f"{B!r} " in warning and "asking again" in warning for warning in outcome.warnings)


def by_command(machines, *words):
    """A command of fedrcd, as people type it; what it printed."""
    command = [sys.executable, "-m", "fedrcd", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=machines.folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_patient_is_erased_at_a_site_and_gone_from_the_ledger_after_a_refresh(machines):
    """And from runs, which know of the same editions."""
    disk, folder = machines.disk, machines.folder
    book, meeting = ("--ledger", folder / "l.db"), ("--state", folder / "coordinator", "--json")
    shared = ("--federation", disk.file)
    by_command(machines, "ledger", "new", folder / "l.db", *shared)
    before = json.loads(
        by_command(
            machines, "coordinator", "run", *shared, *book, "--method", "fedrcd-s", "--out", folder / "stored", *meeting
        )
    )
    transport = disk.in_process()
    expected = run(build("fedrcd-s").rounds(transport.setting), transport)
    assert before["B"] == expected.B.tolist()
    (folder / "ids.txt").write_text("\n".join(f"{A} {k}" for k in range(600)))  # of ten groups
    own = ("--site", A, *shared, "--state", disk.state(A))
    said = by_command(machines, "erase", disk.data(A), *own, "--ids", folder / "ids.txt")
    assert "600 rows" in said
    refreshed = json.loads(by_command(machines, "coordinator", "refresh", *shared, *book, *meeting))
    assert (refreshed["held_back"], refreshed["pending_erasures"]) == ({}, {})
    assert {site: len(numbers) for site, numbers in refreshed["entries"].items()} == {A: 1, B: 0, C: 0}
    assert len(refreshed["results"]) == 1
    [edition] = [
        one
        for one in json.loads(by_command(machines, "ledger", "show", folder / "l.db", "--json"))["contributions"]
        if one["site"] == A
    ]
    assert edition["rows"] == 900
    assert list((disk.state(A) / "certificates").iterdir())
    stored = json.loads(by_command(machines, "ledger", "discover", folder / "l.db", "--method", "fedrcd-s", "--json"))
    outcome = machines.run()  # `site serve` answers about the same edition
    assert outcome.estimate.B.tolist() == stored["B"] != before["B"]


def test_nothing_leaves_the_machine(machines):
    traces = sorted(machines.folder.glob("*.connects"))
    if not traces:
        pytest.skip("no strace here to see connections with: `make tracer` installs it as root")
    text = "".join(path.read_text(errors="replace") for path in traces)
    addresses = set(re.findall(r'sin_addr=inet_addr\("([^"]+)"\)', text)) | set(
        re.findall(r'inet_pton\(AF_INET6, "([^"]+)"', text)
    )
    assert addresses  # it did see connections
    assert {address for address in addresses if not (address.startswith("127.") or address == "::1")} == set()


def test_no_process_is_left_behind(machines):
    machines.stop_all()
    assert machines.left_behind() == []
