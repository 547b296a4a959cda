"""`fedrcd site console` and `token`: the page of a site in a browser, and who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli import options
from fedrcd.cli.site import site_settings
from fedrcd.cli.site_approvals import app, by_command
from fedrcd.errors import ConfigError

if TYPE_CHECKING:
    from fedrcd.console.serving import Listening
    from fedrcd.console.tokens import Tokens

__all__ = ["app"]

Host = Annotated[str, typer.Option(help="Address to listen on; others than loopback need TLS and tokens.")]
Port = Annotated[int, typer.Option(help="Port to listen on; any free one by default.")]
Called = Annotated[
    list[str] | None, typer.Option("--called", help="A name by which browsers reach this address; may be repeated.")
]
Certificate = Annotated[Path | None, typer.Option(help="Certificate for TLS.")]
CertificateKey = Annotated[Path | None, typer.Option("--key", help="The private key of that certificate.")]
Role = Annotated[str, typer.Option(help="What the token allows: view, approve or administer.")]
TokenName = Annotated[str, typer.Option("--name", help="Whose token it is; a former one of that name is withdrawn.")]
Withdraw = Annotated[bool, typer.Option("--withdraw", help="Withdraw the token of that name instead.")]


def listening(host: str, port: int, called: list[str] | None, certificate: Path | None, key: Path | None) -> Listening:
    """Where a console listens; says what to install if it cannot."""
    try:
        from fedrcd.console.serving import Listening
    except ImportError:
        raise ConfigError("the console is not installed; pip install 'fedrcd[console]'") from None
    return Listening(host=host, port=port, names=tuple(called or ()), certificate=certificate, key=key)


@app.command()
def console(
    state: Annotated[Path, typer.Option(help="Folder of the site's store.")],
    host: Host = "127.0.0.1",
    port: Port = 0,
    called: Called = None,
    certificate: Certificate = None,
    key: CertificateKey = None,
    name: Annotated[str, typer.Option(help="For a site that was never served: its name.")] = "",
    federation: Annotated[Path | None, typer.Option(help="For such a site: the federation file.")] = None,
    data: Annotated[str, typer.Option(help="For such a site: its rows.")] = "",
    query: options.Query = "",
) -> None:
    """Show a site's page in a browser: what waits, what left, what is spent, who is erased. Until it is stopped."""
    where = listening(host, port, called, certificate, key)
    from fedrcd.console.serving import say_at_once, serve
    from fedrcd.console.site.app import site_console
    from fedrcd.console.site.place import SitePlace

    given = [bool(name), federation is not None, bool(data)]
    if any(given) and not all(given):
        raise ConfigError("--name, --federation and --data belong together")
    settings = None if federation is None else site_settings(name, federation, data, state, query=query)
    serve(site_console(SitePlace(state.resolve(), settings), where), where, say_at_once)


@app.command()
def token(
    state: Annotated[Path, typer.Option(help="Folder of the site's store.")],
    name: TokenName,
    role: Role = "view",
    withdraw: Withdraw = False,
) -> None:
    """Make a token for the site's page, or withdraw one; it is shown once."""
    from fedrcd.cli.site_store import opened_store
    from fedrcd.console.tokens import Tokens

    said = change_token(Tokens(state.resolve()), name, role, withdraw=withdraw)
    with opened_store(state) as store:
        store.note_action(said, by_command(""))


def change_token(tokens: Tokens, name: str, role: str, *, withdraw: bool) -> str:
    """Make a token and print it, or withdraw one; what was done, for the log."""
    if withdraw:
        tokens.withdraw(name)
        print(f"withdrew the token of {name}")
        return f"withdrew the token of {name}"
    print(tokens.make(role, name))
    return f"made a token of the role {role} for {name}"
