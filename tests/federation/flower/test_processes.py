"""Commands of Flower: quiet, offline, in front of nothing that runs others' code."""

import os
import subprocess
import sys

import pytest

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.flower import site_process
from fedrcd.federation.flower.processes import (
    QUIET,
    Security,
    flwr_command,
    link_command,
    node_command,
    prepare_node,
    require_flower,
    write_app,
    write_connection,
)
from fedrcd.federation.messages.keys import make_development_keys


@pytest.fixture
def keys(tmp_path):
    make_development_keys(tmp_path / "keys", ["hospital-a"], ["127.0.0.1"])
    return tmp_path / "keys"


def link(tmp_path, keys, **changes):
    fields = {"host": "127.0.0.1", "port": 9443, "home": tmp_path, "security": Security(authority=keys / "ca.crt")}
    return link_command(**{**fields, "certificate": keys / "server.pem", "key": keys / "server.key", **changes})


def node(tmp_path, keys, **changes):
    fields = {"coordinator": "h:9443", "port": 9094, "home": tmp_path, "security": Security(authority=keys / "ca.crt")}
    return node_command(**{**fields, "key": keys / "hospital-a", "settings": tmp_path / "site.json", **changes})


def test_the_pinned_flower_is_here():
    require_flower()


def test_every_process_is_quiet_and_offline(tmp_path, keys):
    commands = [link(tmp_path, keys), node(tmp_path, keys), flwr_command(tmp_path, "list", port=9443)]
    for command in commands:
        for name, value in QUIET.items():
            assert command.environment[name] == value
        assert command.environment["FLWR_HOME"] == str(tmp_path)
        assert command.environment["FLWR_LOCAL_CONTROL_API_PORT"] in {"9443", "9094"}
    assert QUIET["FLWR_TELEMETRY_ENABLED"] == "0"
    assert "--disable-runtime-dependency-installation" in commands[0].arguments


def test_secure_means_certificates_and_keys(tmp_path, keys):
    said = str(link(tmp_path, keys))
    assert "--enable-supernode-auth" in said
    assert "--insecure" not in said
    said = str(node(tmp_path, keys))
    assert f"--root-certificates {keys / 'ca.crt'} --auth-supernode-private-key {keys / 'hospital-a'}" in said


def test_insecure_must_be_asked_for(tmp_path, keys):
    with pytest.raises(ConfigError, match="--ca"):
        Security()
    with pytest.raises(ConfigError, match="--insecure"):
        Security(authority=keys / "ca.crt", insecure=True)
    with pytest.raises(FileError, match="no certificate"):
        Security(authority=tmp_path / "nowhere")
    with pytest.raises(FileError, match="--certificate"):
        link(tmp_path, keys, certificate=None)
    with pytest.raises(ConfigError, match="--key"):
        node(tmp_path, keys, key=None)
    for command in (
        link(tmp_path, keys, security=Security(insecure=True)),
        node(tmp_path, keys, security=Security(insecure=True)),
    ):
        assert "--insecure" in command.arguments
        assert "--enable-supernode-auth" not in command.arguments


def test_a_site_finds_our_commands_before_those_of_flower(tmp_path, keys):
    prepare_node(tmp_path)
    command = node(tmp_path, keys)
    for name in (site_process.OURS, *site_process.REFUSED):
        found = subprocess.run(
            ["which", name], env=command.full_environment(), capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == str(tmp_path / "bin" / name)
        assert os.stat(found.stdout.strip()).st_mode & 0o077 == 0


def test_every_command_by_which_flower_runs_an_app_is_covered():
    from flwr.supercore.constant import TASK_TYPE_TO_COMMAND

    assert set(TASK_TYPE_TO_COMMAND.values()) == {site_process.OURS, *site_process.REFUSED}


def test_other_apps_are_refused(tmp_path):
    prepare_node(tmp_path)
    for name in site_process.REFUSED:
        done = subprocess.run([str(tmp_path / "bin" / name)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "a site runs no code of others\n")


def test_the_bundle_of_a_run_is_left_alone():
    check = """
from fedrcd.federation.flower import site_process
site_process.use_installed_app()
from flwr.supernode.runtime import run_clientapp as runtime
from fedrcd.federation.flower.client import app
assert runtime.install_from_fab(b"evil", skip_prompt=True) is None
assert runtime.get_load_client_app_fn(default_app_ref="", app_path=None, multi_app=True)("a", "b", "c") is app
"""
    subprocess.run([sys.executable, "-c", check], check=True)


def test_the_bundle_that_is_sent_only_names_what_is_installed(tmp_path):
    write_app(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LICENSE", "fedrcd_run.py", "pyproject.toml"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2000


def test_the_connection_is_written(tmp_path, keys):
    write_connection(tmp_path / "home", "127.0.0.1", 9443, Security(authority=keys / "ca.crt"))
    said = (tmp_path / "home" / "config.toml").read_text()
    assert 'address = "127.0.0.1:9443"' in said
    assert f'root-certificates = "{keys / "ca.crt"}"' in said


def test_a_process_that_answers_starts_without_heavy_libraries():
    """One is started for every answer."""
    heavy = "{'scipy', 'sklearn', 'pandas', 'pyarrow', 'networkx'}"
    code = f"import sys, fedrcd.federation.flower.client; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
