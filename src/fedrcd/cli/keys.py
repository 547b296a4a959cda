"""`fedrcd keys`: certificates and keys of a federation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(name="keys", help="Certificates and keys of a federation.", no_args_is_help=True)


@app.command()
def init(
    federation: Annotated[Path, typer.Option(help="Federation file; the sites' public keys are written into it.")],
    out: Annotated[Path, typer.Option(help="Folder for the keys; must not hold any yet.")] = Path("keys"),
    host: Annotated[
        list[str] | None, typer.Option(help="Name or address by which sites reach the coordinator; may be repeated.")
    ] = None,
) -> None:
    """Make a development authority, a server certificate for the coordinator, and a key for every site.

    For trials and tests: a consortium uses the certificates of its own authority, and every site makes its own key.
    """
    from dataclasses import replace

    from fedrcd.data.federation import read_federation, write_federation
    from fedrcd.federation.flower.processes import require_flower
    from fedrcd.federation.messages.keys import make_development_keys

    require_flower()  # it brings the library that makes keys
    described = read_federation(federation)
    public = make_development_keys(out, [site.name for site in described.sites], host or ["127.0.0.1"])
    sites = tuple(replace(site, key=public[site.name]) for site in described.sites)
    write_federation(federation, replace(described, sites=sites, development_keys=True))
    print(f"{out}/ca.crt                  the authority's certificate: for the coordinator and every site")
    print(f"{out}/server.pem, server.key  for the coordinator only")
    for site in described.sites:
        print(f"{out}/{site.name}  private key: for {site.name} only; delete it here once it is there")
    print(f"{federation} has the public keys now: give every site this copy")
    print("ca.key signs new certificates: keep it offline. These keys are for development:")
    print("whoever made them can take masks off, and every masked run says so. Each site makes its own otherwise.")


@app.command()
def group_secret(out: Annotated[Path, typer.Argument(help="File to write; must not exist yet.")]) -> None:
    """Make a secret by which sites that hold columns of the same rows split them into the same groups.

    For `fedrcd site serve --group-secret` at each of these sites, and for nobody else: the coordinator must not have
    it.
    """
    from fedrcd.federation.site.secret import write_secret

    write_secret(out)
    print(f"{out}: for the sites that share rows, and nobody else")
