"""`fedrcd coordinator console` and `token`: the page of the coordinator in a browser, and who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedrcd.cli.coordinator import HERE, FederationFile, LedgerKey, State, app
from fedrcd.cli.site_approvals import by_command
from fedrcd.cli.site_console import (
    Called,
    Certificate,
    CertificateKey,
    Host,
    Port,
    Role,
    TokenName,
    Withdraw,
    change_token,
    listening,
)

__all__ = ["app"]


@app.command()
def console(
    federation: FederationFile,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger to show and bring up to date, if there is one.")
    ] = None,
    ledger_key: LedgerKey = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    called: Called = None,
    certificate: Certificate = None,
    key: CertificateKey = None,
    state: State = HERE,
) -> None:
    """Show the coordinator's page in a browser: sites, invitations, runs, results, the ledger. Until it is stopped."""
    where = listening(host, port, called, certificate, key)
    from fedrcd.console.coordinator.app import coordinator_console
    from fedrcd.console.coordinator.place import CoordinatorPlace
    from fedrcd.console.serving import say_at_once, serve
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.flower.processes import require_flower

    require_flower()
    read_federation(federation)  # what is wrong with it is said now
    folder = state.resolve()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = CoordinatorPlace(folder, federation.resolve(), ledger.resolve() if ledger else None, ledger_key)
    serve(coordinator_console(place, where), where, say_at_once)


@app.command()
def token(name: TokenName, role: Role = "view", withdraw: Withdraw = False, state: State = HERE) -> None:
    """Make a token for the coordinator's page, or withdraw one; it is shown once."""
    from fedrcd.console.actions import Actions
    from fedrcd.console.tokens import Tokens

    said = change_token(Tokens(state.resolve()), name, role, withdraw=withdraw)
    Actions(state.resolve()).note(said, by_command(""))
