"""The process that answers one message at a site, in place of Flower's own.

Flower's SuperNode runs whatever code the coordinator's app bundle holds: a coordinator could send an app that reads the
table and returns it, and no rule of disclosure would ever be asked. Here the bundle is neither unpacked nor imported;
the app is the one installed at the site. `fedrcd site serve` puts this in front of Flower's `flwr-clientapp` on the
path, and a refusal in front of every other command by which Flower would run an app.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from fedrcd.errors import FileError
from fedrcd.federation.flower.heartbeats import be_heard_often

OURS = "flwr-clientapp"
REFUSED = ("flwr-agentapp", "flwr-connector", "flwr-model", "flwr-serverapp", "flwr-simulation")

ANSWER = """#!{python}
from fedrcd.federation.flower.site_process import main

main()
"""
REFUSE = """#!{python}
raise SystemExit("a site runs no code of others")
"""


def write_commands(folder: Path) -> None:
    """Write the commands that a SuperNode finds before Flower's own; only their owner may change them."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in (OURS, *REFUSED):
            path = folder / name
            path.write_text((ANSWER if name == OURS else REFUSE).format(python=sys.executable), encoding="utf-8")
            path.chmod(0o700)
    except OSError as problem:
        raise FileError(f"cannot write {folder}: {problem.strerror}") from None


def main() -> None:
    """Answer the message this process was started for, then end, whatever threads may still hang."""
    code: Any = 0
    try:
        _run(_arguments())
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1 if code else 0)


def _arguments() -> argparse.Namespace:
    """What SuperNode gives to the command; the command of Flower itself imports twice as much."""
    parser = argparse.ArgumentParser()
    for name in ("--runtime-api-address", "--token"):
        parser.add_argument(name, required=True)
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--root-certificates", type=Path)
    parser.add_argument("--parent-pid", type=int)
    return parser.parse_args()


def _run(arguments: argparse.Namespace) -> None:
    from flwr.supernode.runtime import run_clientapp as runtime

    use_installed_app()
    be_heard_often()
    runtime.run_clientapp(
        runtime_api_address=arguments.runtime_api_address,
        token=arguments.token,
        insecure=arguments.insecure,
        certificates=arguments.root_certificates.read_bytes() if arguments.root_certificates else None,
        parent_pid=arguments.parent_pid,
        runtime_dependency_install=False,
    )


def use_installed_app() -> None:
    """Make Flower's runtime take the installed ClientApp and leave the bundle alone."""
    from flwr.supernode.runtime import run_clientapp as runtime

    from fedrcd.federation.flower.client import app

    instead: dict[str, Any] = {
        "install_from_fab": lambda *_, **__: None,
        "get_load_client_app_fn": lambda **_: lambda *_: app,
    }
    for name, function in instead.items():
        assert hasattr(runtime, name), f"this is not the pinned version of Flower: it has no {name}"
        setattr(runtime, name, function)
