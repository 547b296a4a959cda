"""Flower's processes as commands: arguments and surroundings, quiet and offline, printable before they are run."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.flower.site_process import write_commands

FLOWER = "1.41.0"
"""The one version that is known to do what is asked of it here."""

CONNECTION = "fedrcd"
"""What Flower's configuration calls the coordinator."""

LONGEST_LOG = 10_000_000
"""Bytes of Flower's log at a site, from which on another is begun at the next start."""

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
}
"""Nothing is reported, looked up or installed; work is fetched soon after it is there."""


@dataclass(frozen=True, slots=True)
class Command:
    """A process to be: its arguments, and what its environment has beyond that of this process."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def __str__(self) -> str:
        """The command as a shell takes it."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join(["env", *settings, *map(shlex.quote, self.arguments)])

    def full_environment(self) -> dict[str, str]:
        """The whole environment of the process."""
        return {**os.environ, **self.environment}


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """How a connection is secured: by an authority's certificate, or, if somebody asked for it, not at all."""

    authority: Path | None = None
    insecure: bool = False

    def __post_init__(self) -> None:
        if self.insecure == (self.authority is not None):
            raise ConfigError("give the certificate of the authority (--ca), or ask for --insecure")
        if self.authority is not None and not self.authority.is_file():
            raise FileError(f"there is no certificate {self.authority}; see `fedrcd keys init`")


def require_flower() -> None:
    """Raise unless the version of Flower that is pinned is installed."""
    try:
        found = version("flwr")
    except PackageNotFoundError:
        raise ConfigError("Flower is not installed; pip install 'fedrcd[flower]'") from None
    if found != FLOWER:
        raise ConfigError(f"Flower {found} is installed; this needs {FLOWER}: pip install 'fedrcd[flower]'")


def link_command(
    *, host: str, port: int, home: Path, security: Security, certificate: Path | None = None, key: Path | None = None
) -> Command:
    """SuperLink: where sites and runs meet."""
    arguments = [sys.executable, "-m", "fedrcd.federation.flower.link_process", "--host", host, "--port", str(port)]
    if security.insecure:
        arguments.append("--insecure")
    else:
        for name, path in (("--certificate", certificate), ("--key", key)):
            if path is None or not path.is_file():
                raise FileError(f"there is no {name} {path}; see `fedrcd keys init`")
        arguments += ["--ssl-ca-certfile", str(security.authority), "--ssl-certfile", str(certificate)]
        arguments += ["--ssl-keyfile", str(key), "--enable-supernode-auth"]
    arguments.append("--disable-runtime-dependency-installation")
    return Command(tuple(arguments), _surroundings(home, ports=port))


def node_command(
    *, coordinator: str, port: int, home: Path, security: Security, key: Path | None, settings: Path
) -> Command:
    """SuperNode: a site's side of the connection. Commands in front of Flower's own see to what it runs."""
    commands = home / "bin"
    arguments = [sys.executable, "-m", "fedrcd.federation.flower.node_process", "--superlink", coordinator]
    arguments += ["--host", "127.0.0.1", "--port", str(port)]
    if security.insecure:
        arguments.append("--insecure")
    else:
        if key is None:
            raise ConfigError("a site proves who it is by its key; give --key")
        arguments += ["--root-certificates", str(security.authority), "--auth-supernode-private-key", str(key)]
    arguments += ["--node-config", f'settings="{settings}"']
    surroundings = dict(_surroundings(home, ports=port))
    surroundings["PATH"] = os.pathsep.join([str(commands), surroundings["PATH"]])
    return Command(tuple(arguments), surroundings)


def prepare_node(home: Path) -> None:
    """Write what a SuperNode finds in its home."""
    write_commands(home / "bin")


def flower_log(home: Path) -> Path:
    """The file for what Flower's processes at a site say, which only its owner can read; a long one is put aside."""
    path = home / "flower.log"
    try:
        if path.exists() and path.stat().st_size > LONGEST_LOG:
            path.replace(path.with_suffix(".log.old"))
        path.touch(mode=0o600)
    except OSError as problem:
        raise FileError(f"cannot write {path}: {problem.strerror}") from None
    return path


def flwr_command(home: Path, *arguments: str, port: int) -> Command:
    """Flower's command line, with the connection that `write_connection` wrote."""
    return Command((_flower("flwr"), *arguments), _surroundings(home, ports=port))


def write_connection(home: Path, host: str, port: int, security: Security) -> None:
    """Write how Flower's command line reaches the coordinator."""
    lines = ["[superlink]", f'default = "{CONNECTION}"', "", f"[superlink.{CONNECTION}]", f'address = "{host}:{port}"']
    lines.append("insecure = true" if security.insecure else f'root-certificates = "{security.authority}"')
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        (home / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as problem:
        raise FileError(f"cannot write {home / 'config.toml'}: {problem.strerror}") from None


APP = """[project]
name = "fedrcd-run"
version = "1.0.0"
description = "Runs the installed fedrcd."
license = {{ file = "LICENSE" }}
dependencies = ["flwr>={flower}"]

[tool.flwr.app]
publisher = "fedrcd"
fab-format-version = 1
flwr-version-target = "{flower}"

[tool.flwr.app.components]
serverapp = "fedrcd_run:server"
clientapp = "fedrcd_run:client"

[tool.flwr.app.config]
plan = ""
federation = ""
method = ""
out = ""
"""
MODULE = '''"""Names the apps of the installed fedrcd."""

from fedrcd.federation.flower.client import app as client
from fedrcd.federation.flower.server import app as server

__all__ = ["client", "server"]
'''
LICENSE = "The apps named here are part of fedrcd and under its licence, MIT.\n"


def write_app(folder: Path) -> None:
    """Write the bundle that Flower wants for a run: it only names the installed apps."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pyproject.toml").write_text(APP.format(flower=FLOWER), encoding="utf-8")
        (folder / "fedrcd_run.py").write_text(MODULE, encoding="utf-8")
        (folder / "LICENSE").write_text(LICENSE, encoding="utf-8")
    except OSError as problem:
        raise FileError(f"cannot write {folder}: {problem.strerror}") from None


def _surroundings(home: Path, ports: int) -> Mapping[str, str]:
    """Environment of every process of Flower; processes find each other beside this interpreter."""
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    local = {"FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(ports), "FLWR_LOCAL_CONTROL_API_PORT": str(ports)}
    return {**QUIET, **local, "FLWR_HOME": str(home.resolve()), "PATH": path}


def _flower(name: str) -> str:
    """A command of Flower, beside this interpreter or on the path."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise ConfigError(f"the command {name} is not there; pip install 'fedrcd[flower]'")
    return found
