"""Help as it is meant: what arguments are for, and brackets without escapes.

With the newest click, the newest typer that Flower allows loses the help of arguments, and it escapes brackets for a
renderer that is switched off here. Both are put right when a command is looked up.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, get_args

from typer.core import TyperArgument, TyperGroup
from typer.models import ArgumentInfo

if TYPE_CHECKING:
    import click  # the newest typer brings its own


class HelpfulGroup(TyperGroup):
    """Commands whose help says everything."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, and all below it, put right."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            _put_right(found)
        return found


def _put_right(command: click.Command) -> None:
    """The help of a command, and of those below it."""
    for below in getattr(command, "commands", {}).values():
        _put_right(below)
    told = _told(command.callback)
    for parameter in command.params:
        lost = isinstance(parameter, TyperArgument) and not parameter.help
        _with_record(parameter, told.get(str(parameter.name), "") if lost else "")


def _told(function: Any) -> dict[str, str]:
    """The help of the arguments of a function, as its signature has it."""
    if function is None:
        return {}
    infos = {
        name: one
        for name, parameter in inspect.signature(function, eval_str=True).parameters.items()
        for one in get_args(parameter.annotation)
        if isinstance(one, ArgumentInfo)
    }
    return {name: one.help for name, one in infos.items() if one.help}


def _with_record(parameter: Any, lost: str) -> None:
    """Have the record of a parameter tell the help that it lost, and no escapes.

    The help itself is left as it is: with it, click would list the arguments a second time.
    """
    record = parameter.get_help_record

    if hasattr(record, "lost"):
        return  # it was put right when the command was looked up before

    def plain(ctx: click.Context) -> tuple[str, str] | None:
        found = record(ctx)
        return found and (found[0], "  ".join(filter(None, (lost, found[1].replace("\\[", "[")))))

    plain.lost = lost  # type: ignore[attr-defined]
    parameter.get_help_record = plain
