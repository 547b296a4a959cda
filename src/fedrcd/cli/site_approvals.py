"""`fedrcd site approve` and `allow`: what people at a site say of answers that wait, and of runs in advance."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer

from fedrcd.cli.site_budget import app
from fedrcd.cli.site_store import opened_store

__all__ = ["app"]

State = Annotated[Path, typer.Option(help="Folder of the site's store.")]
Who = Annotated[str, typer.Option(help="Who says so, for the log; by default the account.")]


def by_command(who: str) -> str:
    """Who gave a command, as the log has it."""
    try:
        return f"{who or getpass.getuser()} (command)"
    except (OSError, KeyError):  # an account without a name
        return "somebody (command)"


@app.command()
def approve(
    state: State,
    answer: Annotated[str | None, typer.Argument(help="First characters of the answer to decide on.")] = None,
    refuse: Annotated[bool, typer.Option("--refuse", help="Refuse it instead.")] = False,
    rest: Annotated[bool, typer.Option("--rest", help="Approve whatever else its run asks, too.")] = False,
    reason: Annotated[str, typer.Option(help="Why; kept in the log, and never sent.")] = "",
    who: Who = "",
) -> None:
    """List the answers that wait for a person, or release or refuse one of them."""
    from fedrcd.errors import ConfigError
    from fedrcd.federation.site.approvals import APPROVED, REFUSED, SHORT

    if rest and refuse:
        raise ConfigError("--rest approves, and --refuse refuses: give one of them")
    with opened_store(state) as store:
        if answer is not None:
            decision = REFUSED if refuse else APPROVED
            decided = store.decide(answer, decision, who=by_command(who), reason=reason, rest=rest)
            print(f"{decided.decision}: {decided.question}")
            return
        waiting = store.approvals.waiting()
    for one in waiting:
        print(f"{one.name}  {one.time}  run {one.run} round {one.round}: {one.question}")
        print(f"{'':{SHORT}}  {one.numbers:,} numbers, {one.numbers_per_row:.2f} per row")
        told = (one.title, one.purpose and f"purpose: {one.purpose}", one.compared, one.detail)
        for line in filter(None, told):
            print(f"{'':{SHORT}}  {line}")
    if not waiting:
        print("no answer is waiting")


@app.command()
def allow(
    state: State,
    method: Annotated[str, typer.Option(help="Runs of this method.")] = "",
    purpose: Annotated[str, typer.Option(help="Runs for this purpose, as the coordinator words it.")] = "",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Be asked about them again.")] = False,
    who: Who = "",
) -> None:
    """List which runs a site that holds its answers need not be asked about, or allow some in advance."""
    from fedrcd.federation.site.approvals import standing_approval
    from fedrcd.methods.registry import METHODS

    with opened_store(state) as store:
        if method or purpose:
            said = standing_approval(method, purpose, by_command(who), store.now(), METHODS)
            if withdraw:
                store.withdraw_approval(said, said.who)
            else:
                store.allow(said)
        standing = store.approvals.standing()
    for one in standing:
        print(f"{one.time}  {one}; by {one.who}")
    if not standing:
        print("every run is asked about")
