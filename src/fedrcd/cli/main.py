"""Entry point of the `fedrcd` command.

Heavy modules are imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fedrcd import __version__
from fedrcd.cli import ledger, site_console
from fedrcd.cli.bootstrap import bootstrap
from fedrcd.cli.check import check
from fedrcd.cli.compare import compare
from fedrcd.cli.contribute import contribute
from fedrcd.cli.coordinator_console import app as coordinator
from fedrcd.cli.coverage import coverage
from fedrcd.cli.discover import discover
from fedrcd.cli.erase import erase
from fedrcd.cli.evaluate import evaluate
from fedrcd.cli.example import example
from fedrcd.cli.frame import frame
from fedrcd.cli.help_texts import HelpfulGroup
from fedrcd.cli.keys import app as keys
from fedrcd.cli.methods import methods
from fedrcd.cli.privacy import app as privacy
from fedrcd.cli.report import report
from fedrcd.cli.simulate import simulate
from fedrcd.cli.verify import verify
from fedrcd.errors import FedrcdError

EXIT_CODES = (
    "Exit codes: 0 done, 2 wrong option or setting, 3 unusable table, 4 unreadable or unwritable file, "
    "5 the statistics allow no answer (collinear columns, overflow), 6 protocol refused, 130 interrupted."
)

app = typer.Typer(
    name="fedrcd",
    cls=HelpfulGroup,
    help="Causal order and effects from tables that may not be pooled: sites send sums, never rows.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    discover,
    bootstrap,
    check,
    report,
    compare,
    methods,
    example,
    simulate,
    evaluate,
    coverage,
    verify,
    contribute,
    erase,
):
    app.command()(command)
app.add_typer(ledger.app, name="ledger")
app.add_typer(frame, name="frame")
app.add_typer(privacy, name="privacy")
for group in (site_console.app, coordinator, keys):
    app.add_typer(group)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Causal order and effects from tables that may not be pooled: sites send sums, never rows."""


def main(commands: typer.Typer = app) -> None:
    """Run the command line; our errors become one line and an exit code, bugs still crash."""
    try:
        commands()
    except FedrcdError as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
