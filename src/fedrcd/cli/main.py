"""Entry point of the `fedrcd` command.

Heavy modules are imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fedrcd import __version__
from fedrcd.cli.compare import compare
from fedrcd.cli.coverage import coverage
from fedrcd.cli.discover import discover
from fedrcd.cli.evaluate import evaluate
from fedrcd.cli.example import example
from fedrcd.cli.methods import methods
from fedrcd.cli.simulate import simulate
from fedrcd.errors import FedrcdError

EXIT_CODES = (
    "Exit codes: 0 done, 2 wrong option or setting, 3 unusable table, 4 unreadable or unwritable file, "
    "5 the statistics allow no answer (collinear columns, overflow), 6 protocol refused, 130 interrupted."
)

app = typer.Typer(
    name="fedrcd",
    help="Causal order and effects from tables that may not be pooled: sites send sums, never rows.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (discover, compare, methods, example, simulate, evaluate, coverage):
    app.command()(command)


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


def main() -> None:
    """Run the command line; our errors become one line and an exit code, bugs still crash."""
    try:
        app()
    except FedrcdError as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
