"""Commands of sites, coordinators and keys that need no process of Flower."""

import json
from dataclasses import replace
from importlib.util import find_spec

import pytest
from typer.testing import CliRunner

from fedrcd.cli.main import app
from fedrcd.data.federation import read_federation
from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, FedrcdError, FileError
from fedrcd.federation.messages.requests import Request
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.sites import NAMES, horizontal
from tests.federation.test_store import rewrite

pytestmark = pytest.mark.skipif(
    find_spec("flwr") is None, reason="the extra `flower` is not installed here; `make setup` installs it"
)

A = NAMES[0]


@pytest.fixture
def disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return horizontal(tmp_path / "federation")


def call(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(done.exception, FedrcdError):
        raise done.exception
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def site(disk, *more):
    return ("--name", A, "--federation", disk.file, "--data", disk.data(A), "--state", disk.state(A), *more)


def asked(disk):
    question = PairQuestion(disk.federation.variables, disk.federation.declared_frame(), 4, grid=ARITHMETIC["exact"])
    return Request("r1.0", 1, disk.digest, A, NAMES, question)


def test_check_says_what_is_fine_and_exits_by_what_is_not(disk):
    done = call("site", "check", *site(disk))
    assert done.exit_code == 0
    assert "5 columns and 1 block as the federation says" in done.output
    found = json.loads(call("site", "check", *site(disk, "--json")).output)
    assert {one["kind"] for one in found} == {"fine"}
    disk.service(A).reply(replace(asked(disk)))
    assert "81 of 1,000 numbers released" in call("site", "check", *site(disk)).output


def test_preview_says_in_words_what_would_leave(disk):
    said = call("site", "preview", "fedrcd-s", *site(disk)).output
    assert "sums of all products of up to four of 5 variables: 126 numbers, 0.32 per row" in said
    assert "fedrcd-s would release 126 numbers about 400 rows" in said
    done = call("site", "preview", "fedrcd-x", *site(disk, "--json", "--trust-coordinator"))
    content = json.loads(done.output)
    assert len(content["questions"]) == 4
    assert content["complete"]
    assert done.exit_code == 0


def test_preview_says_what_needs_trust(disk):
    done = call("site", "preview", "fedrcd-x", *site(disk))
    assert done.exit_code == 6
    assert "refusal  question 2: it answers several rounds" in done.output
    assert "--trust-coordinator" in done.output
    assert not (disk.state(A) / "site.db").exists()  # nothing was asked, and nothing is remembered


def test_preview_says_what_would_be_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    disk = horizontal(tmp_path / "federation", p=8, rows=(120, 120, 120))
    done = call("site", "preview", "fedrcd-s", *site(disk))
    assert done.exit_code == 6
    assert "refusal  question 1: 120 complete rows; the tensor of 8 columns needs 124" in done.output
    allowed = call("site", "preview", "auto", *site(disk, "--json"))
    assert allowed.exit_code == 0
    assert json.loads(allowed.output)["method"] == "fedrcd-sp"


def spoil(disk):
    rows = disk.in_process_rows(A)
    rows[:2, 1] = 1e4
    write_table(disk.data(A), Table(rows, columns=disk.federation.variables, source=A))


def test_trim_is_shown_before_anything_leaves(disk):
    spoil(disk)
    assert "values in 'x2' stand far apart" in call("site", "check", *site(disk)).output
    assert (
        "2 of 400 complete rows are left out because values lie far out (--trim)"
        in call("site", "check", *site(disk, "--trim", 8)).output
    )
    assert "numbers about 398 rows" in call("site", "preview", "fedrcd-s", *site(disk, "--trim", 8)).output
    disk.service(A, trim=8.0).reply(asked(disk))
    assert "block hospital-a with --trim 8: 81 numbers left" in call("site", "log", "--state", disk.state(A)).output
    done = call("site", "check", *site(disk))
    assert done.exit_code == 6
    assert "its rows were summed with --trim 8 before" in done.output
    assert "its rows were summed with --trim" in call("site", "preview", "fedrcd-s", *site(disk)).output


def test_serve_tells_people_at_the_site_of_gross_errors_and_keeps_their_trim(disk, monkeypatch):
    monkeypatch.setattr("fedrcd.federation.flower.supervise.keep_running", lambda *_, **__: None)
    spoil(disk)
    serve = ("site", "serve", *site(disk), "--coordinator", "h:1", "--insecure")
    assert "note: block 'hospital-a': values in 'x2' stand far apart" in call(*serve).output
    said = call(*serve, "--trim", 8).output
    assert "far apart" not in said
    assert "note: block 'hospital-a': 2 of 400 complete rows are left out because values lie far out (--trim)" in said
    assert SiteSettings.read(disk.state(A) / "site.json").trim == 8.0
    assert not SiteSettings.read(disk.state(A) / "site.json").trust_coordinator
    assert "--trust-coordinator" not in said
    warned = call(*serve, "--trim", 8, "--trust-coordinator").output
    assert "can rebuild complete rows of this table" in warned
    assert SiteSettings.read(disk.state(A) / "site.json").trust_coordinator
    with pytest.raises(ConfigError, match="trim must be a number above 0"):
        call(*serve, "--trim", -1)


def test_log_shows_what_left(disk):
    assert "0 entries" in call("site", "log", "--state", disk.state(A)).output
    disk.service(A).reply(asked(disk))
    disk.service(A).reply(replace(asked(disk), site="hospital-b"))
    said = call("site", "log", "--state", disk.state(A)).output
    assert "run r1.0 round 1 block hospital-a: 81 numbers left" in said
    assert "refused (name)" in said
    assert "2 entries, 81 numbers left this site" in said
    lines = call("site", "log", "--state", disk.state(A), "--json").output.splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["answered", "name"]


def test_a_changed_log_is_not_shown(disk):
    disk.service(A).reply(asked(disk))
    disk.service(A).reply(asked(disk))
    rewrite(disk.state(A), lambda lines: lines[1:])
    with pytest.raises(FileError, match="changed or taken out"):
        call("site", "log", "--state", disk.state(A))


def test_a_person_approves_or_refuses(disk):
    state = disk.state(A)
    assert "no answer is waiting" in call("site", "approve", "--state", state).output
    service = disk.service(A, approve=True)
    service.reply(asked(disk))
    said = call("site", "approve", "--state", state).output
    assert "81 numbers, 0.20 per row" in said
    assert "approved: the row count" in call("site", "approve", said.split()[0], "--state", state).output
    assert service.reply(asked(disk)).refusal is None
    with pytest.raises(ConfigError, match="no single waiting answer"):
        call("site", "approve", "abc", "--refuse", "--state", state)


def test_keys_go_into_the_federation_file(disk):
    said = call("keys", "init", "--federation", disk.file, "--out", "keys", "--host", "192.0.2.7").output
    assert "keep it offline" in said
    federation = read_federation(disk.file)
    assert all(one.key.startswith("ecdsa-sha2-nistp384 ") for one in federation.sites)
    assert federation.variables == disk.federation.variables
    with pytest.raises(FileError, match="never replaced"):
        call("keys", "init", "--federation", disk.file, "--out", "keys")


def test_dry_runs_print_commands_of_flower(disk):
    call("keys", "init", "--federation", disk.file, "--out", "keys")
    served = call(
        "site",
        "serve",
        *site(disk),
        "--coordinator",
        "h:9443",
        "--ca",
        "keys/ca.crt",
        "--key",
        f"keys/{A}",
        "--dry-run",
    )
    assert "fedrcd.federation.flower.node_process --superlink h:9443 --host 127.0.0.1" in served.output
    assert "FLWR_TELEMETRY_ENABLED=0" in served.output
    secured = ("--ca", "keys/ca.crt", "--certificate", "keys/server.pem", "--key", "keys/server.key")
    started = call("coordinator", "start", "--federation", disk.file, *secured, "--dry-run")
    assert "--enable-supernode-auth" in started.output
    assert not disk.state(A).exists()


def test_insecure_must_be_asked_for(disk):
    with pytest.raises(ConfigError, match="--insecure"):
        call("coordinator", "start", "--federation", disk.file, "--dry-run")
    with pytest.raises(ConfigError, match="--insecure"):
        call("site", "serve", *site(disk), "--coordinator", "h:1", "--dry-run")
    said = call("coordinator", "start", "--federation", disk.file, "--insecure", "--dry-run").output
    assert "--insecure" in said


def test_a_run_needs_a_coordinator(disk):
    with pytest.raises(FileError, match="there is no coordinator"):
        call("coordinator", "run", "--federation", disk.file, "--out", "result")
    with pytest.raises(FileError, match="there is no coordinator"):
        call("coordinator", "status")


def test_a_run_that_cannot_work_is_refused_before_it_starts(disk):
    with pytest.raises(ConfigError, match="over sites fed-direct"):
        call("coordinator", "run", "--federation", disk.file, "--out", "result", "--method", "direct-lingam")
    with pytest.raises(ConfigError, match="auto has no option 'refine'"):
        call("coordinator", "run", "--federation", disk.file, "--out", "result", "--option", "refine=none")


def test_status_and_dry_run_of_a_coordinator_that_stopped(disk):
    from fedrcd.federation.coordinator.run_folder import Status
    from fedrcd.federation.flower.coordinator import Coordinator

    Coordinator(state=str(disk.folder / "c"), host="127.0.0.1", port=9443, insecure=True, nodes={A: 5}).write()
    state = ("--state", disk.folder / "c")
    assert "NOT RUNNING" in call("coordinator", "status", *state).output
    assert json.loads(call("coordinator", "status", *state, "--json").output)["sites"] == {A: False}
    said = call("coordinator", "run", "--federation", disk.file, "--out", "result", *state, "--dry-run").output
    assert "flwr run" in said
    assert "--run-config" in said
    with pytest.raises(FedrcdError, match="coordinator is not running"):
        call("coordinator", "run", "--federation", disk.file, "--out", "result", *state)
    Status(state="running", round=3, waiting=(A,)).write("result")
    assert "running, round 3, waiting for hospital-a" in call("coordinator", "status", *state, "--out", "result").output


def test_a_bootstrap_that_cannot_work_is_refused_before_it_starts(disk, tmp_path):
    from fedrcd.federation.flower.coordinator import Coordinator

    Coordinator(state=str(disk.folder / "c"), host="127.0.0.1", port=9443, insecure=True, nodes={A: 5}).write()
    run = ("coordinator", "run", "--federation", disk.file, "--out", "result", "--state", disk.folder / "c")
    with pytest.raises(ConfigError, match="--groups belongs to a bootstrap"):
        call(*run, "--groups", 10)
    with pytest.raises(ConfigError, match="--keep must be a share"):
        call(*run, "--keep", 0.9)
    with pytest.raises(ConfigError, match="too few for 10 groups"):
        call(*run, "--bootstrap", 50)
    with pytest.raises(ConfigError, match="level"):
        call(*run, "--level", 2)
    (tmp_path / "known.toml").write_text('required = [["x1", "x2"], ["x2", "x1"]]')
    with pytest.raises(ConfigError, match="x1 -> x2 -> x1"):
        call(*run, "--knowledge", tmp_path / "known.toml")


def test_what_a_bootstrap_will_send_is_said_before(tmp_path, monkeypatch):
    from fedrcd.federation.flower.coordinator import Coordinator

    monkeypatch.chdir(tmp_path)
    disk = horizontal(tmp_path / "federation", p=3, rows=(1500, 1600, 1700))
    Coordinator(state=str(disk.folder / "c"), host="127.0.0.1", port=9443, insecure=True, nodes={A: 5}).write()
    run = ("coordinator", "run", "--federation", disk.file, "--out", "result", "--state", disk.folder / "c")
    said = call(*run, "--bootstrap", 50, "--dry-run").output
    assert "to be sent: 3 sites, 10 groups of rows each: at most 9.2 kB a site in 1 round" in said


def test_a_secret_for_groups_is_made_once(disk):
    assert "nobody else" in call("keys", "group-secret", "shared.secret").output
    with pytest.raises(FileError, match=r"cannot keep a secret in shared\.secret: File exists"):
        call("keys", "group-secret", "shared.secret")
    serve = ("site", "serve", *site(disk), "--coordinator", "h:1", "--insecure", "--dry-run")
    call(*serve, "--group-secret", "shared.secret")
    with pytest.raises(FileError, match="cannot read the secret"):
        call(*serve, "--group-secret", "none.secret")


def test_preview_of_a_bootstrap(disk):
    for trust in ((), ("--trust-coordinator",)):
        said = call("site", "preview", "fedrcd-s", *site(disk, "--groups", 10, "--check", *trust)).output
        assert "for each of 10 secret groups of rows" in said
        assert "powers up to the twelfth" in said
