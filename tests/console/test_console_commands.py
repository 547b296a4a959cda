"""`fedrcd site token`, `allow`, `approve --rest`, `console`; `fedrcd coordinator token`; `fedrcd erase --dry-run`."""

import re
import signal
import subprocess
import sys

import httpx
import pytest

from fedrcd.console.actions import Actions
from fedrcd.console.tokens import Tokens
from fedrcd.errors import ConfigError
from fedrcd.federation.messages.refusals import Refusal
from tests.cli.test_federation_commands import call
from tests.console.places import A, Hospital


@pytest.fixture
def hospital(tmp_path):
    return Hospital(tmp_path)


def test_a_token_is_printed_once_and_logged(hospital):
    hospital.call()
    said = call("site", "token", "--state", hospital.state, "--role", "approve", "--name", "Ada").output.strip()
    assert hospital.tokens.visitor(said).role == "approve"
    assert "made a token of the role approve for Ada" in [one.question for one in hospital.logged()]
    call("site", "token", "--state", hospital.state, "--name", "Ada", "--withdraw")
    assert hospital.tokens.visitor(said) is None


def test_a_coordinator_has_tokens_of_its_own(tmp_path):
    said = call("coordinator", "token", "--state", tmp_path, "--name", "Bob").output.strip()
    assert Tokens(tmp_path).visitor(said).name == "Bob"
    assert [one.what for one in Actions(tmp_path).all()] == ["made a token of the role view for Bob"]


def test_runs_are_allowed_in_advance_and_no_longer(hospital):
    assert "every run is asked about" in call("site", "allow", "--state", hospital.state).output
    hospital.call()
    said = call("site", "allow", "--state", hospital.state, "--method", "fedrcd-ni", "--who", "Ada").output
    assert "fedrcd-ni for any purpose; by Ada (command)" in said
    assert hospital.ask() is None
    call("site", "allow", "--state", hospital.state, "--method", "fedrcd-ni", "--withdraw")
    hospital.call(run="r2.0")
    assert hospital.ask(run="r2.0") is Refusal.WAITING
    with pytest.raises(ConfigError, match="did you mean 'fedrcd-ni'"):
        call("site", "allow", "--state", hospital.state, "--method", "fedrcd-nu")


def test_the_rest_of_a_run_is_approved_by_a_command(hospital):
    hospital.call()
    hospital.ask()
    said = call("site", "approve", "--state", hospital.state).output
    assert "purpose: Study 7, approved by the board" in said
    assert "the same as fedrcd-ni asks first" in said
    call("site", "approve", said.split()[0], "--rest", "--reason", "as agreed", "--state", hospital.state)
    assert hospital.ask() is None
    assert "as agreed" in call("site", "log", "--state", hospital.state).output
    with pytest.raises(ConfigError, match="give one of them"):
        call("site", "approve", "x", "--rest", "--refuse", "--state", hospital.state)


def test_an_erasure_can_be_tried(tmp_path):
    hospital = Hospital(tmp_path, approve=False)
    hospital.call()
    assert hospital.ask() is None
    (tmp_path / "ids.txt").write_text(f"{A} 1\n{A} 2\n")
    options = ["--federation", hospital.disk.file, "--site", A, "--state", hospital.state]
    said = call("erase", hospital.disk.data(A), *options, "--ids", tmp_path / "ids.txt", "--dry-run").output
    assert "2 rows of site hospital-a would take no part any more; nobody was erased" in said
    assert "would not be answered" in said
    with hospital.service.store() as store:
        assert not store.struck
    with pytest.raises(ConfigError, match="--dry-run belongs to"):
        call("erase", hospital.disk.data(A), *options, "--all", "--dry-run")


def test_the_console_prints_a_link_that_lets_in_and_ends_when_it_is_told(hospital):
    command = [sys.executable, "-m", "fedrcd", "site", "console", "--state", str(hospital.state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            link = re.search(r"http\S+", process.stdout.readline())[0]
            answer = httpx.get(link, timeout=60)
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
        finally:
            process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert "came to the console" in [one.question for one in hospital.logged()]
