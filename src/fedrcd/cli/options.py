"""Arguments and options that commands share; those of the settings are read off their class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from fedrcd.errors import ConfigError
from fedrcd.methods.settings import DEFAULTS, EPSILON, Settings, flags

Files = Annotated[
    list[str],
    typer.Argument(
        help="One table per site: CSV, Parquet or Arrow, a folder or a pattern, duckdb:FILE or postgresql://...",
        show_default=False,
    ),
]
Query = Annotated[str, typer.Option(help="What to ask a database: one statement that gives rows, or @FILE.")]
FederationFile = Annotated[
    Path | None, typer.Option(help="Federation file: who holds which columns of which rows; name files by site.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Suppress = Annotated[
    int,
    typer.Option(
        help="Leave out rows whose combination of levels, of so many few-level columns, fewer than 11 rows share: 2 is "
        "enough for pair sums, 4 for tensors; 0 refuses instead."
    ),
]
Dominance = Annotated[
    float, typer.Option(help="Leave out rows that make up more than this share of a fourth moment; 1 leaves none out.")
]

WEIGHTS_ONCE = {"weights": "Edge selection: auto, guarded, adaptive-lasso, bic or none."}
"""Help for edge selection where it cannot be by bootstrap."""


def settings_options(
    *names: str,
    help: Mapping[str, str] | None = None,  # noqa: A002 - as typer has it
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some settings, or of all, in place of its parameter `settings`.

    The command is called with the `Settings` that were typed; `help` and `defaults` replace those of the class.
    """
    chosen = {name: flag for name, flag in flags().items() if not names or name in names}
    default = {**DEFAULTS, **(defaults or {})}

    def extend(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**typed: Any) -> None:
            given = {name: typed.pop(flag.name) for name, flag in chosen.items()}
            command(**typed, settings=_settings(given, default))

        own = inspect.signature(command, eval_str=True).parameters
        made = [_option(name, default[name], (help or {}).get(name, "")) for name in chosen]
        spread = [one for name, parameter in own.items() for one in (made if name == "settings" else [parameter])]
        ordered = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in spread]
        called.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in ordered}
        return called

    return extend


def tables_of(files: list[str], federation: Path | None, query: str = "") -> tuple[list[Any], dict[str, Any]]:
    """What the files hold, and the settings that a federation file makes: the variables and the declared frame."""
    from fedrcd.data.sources.address import is_address, source_at

    databases = [one for one in files if is_address(one)]
    if query and not databases:
        raise ConfigError("--query is for databases, and none was named")
    if federation is None:
        return [source_at(one, query) if one in databases else one for one in files], {}
    if databases:
        raise ConfigError("with --federation tables are files, named by their sites")
    from fedrcd.api.federation import federation_tables
    from fedrcd.data.federation import read_federation

    described = read_federation(federation)
    declared: dict[str, Any] = {"variables": described.variables}
    if described.declared_frame() is not None:
        declared["frame"] = {name: (one.centre, one.scale) for name, one in described.frame.items()}
    return federation_tables(described, files), declared


def units_in(federation: Path | None) -> dict[str, str]:
    """The units that a federation file names, if there is one."""
    if federation is None:
        return {}
    from fedrcd.data.federation import read_federation

    return read_federation(federation).units()


def parse_options(texts: list[str]) -> dict[str, Any]:
    """Options of the method; those with a flag of their own are refused."""
    options = dict(_parse(text) for text in texts)
    own = {name: flag.name for name, flag in flags().items() if name != "options"}
    for name in options:
        if name in own:
            raise ConfigError(f"--option {name}: use --{own[name].replace('_', '-')} instead")
    return options


def _option(name: str, default: Any, help: str) -> inspect.Parameter:  # noqa: A002 - as typer has it
    """The option of a setting; lists and paths are None where none is given."""
    flag = flags()[name]
    kind: Any = Path if flag.kind == "path" else flag.kind
    several = kind in (list[str], list[float])
    if several or default is None:
        kind, default = kind | None, None
    annotation: Any = Annotated[kind, typer.Option(help=help or flag.help)]
    return inspect.Parameter(flag.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _settings(typed: Mapping[str, Any], default: Mapping[str, Any]) -> Settings:
    """Settings from the values of their options."""
    given = {name: default[name] if value is None else value for name, value in typed.items()}
    return Settings(**{**given, "options": parse_options(typed.get("options") or [])})


def _parse(text: str) -> tuple[str, Any]:
    """A NAME=VALUE pair; numbers become numbers, and true and false what they say."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--option {text}: must be NAME=VALUE")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, {"true": True, "false": False}.get(value.lower(), value)


Epsilon = Annotated[
    float | None, typer.Option(help="Add noise for differential privacy with this epsilon; it needs a declared frame.")
]
Delta = Annotated[float | None, typer.Option(help="Delta of that epsilon; 1e-6 if not said.")]


def under_noise(settings: Settings, noise: Mapping[str, Any]) -> Settings:
    """The settings with what was said of noise, which is nothing without an epsilon."""
    said = {name: value for name, value in noise.items() if value is not None}
    if said and EPSILON not in {**settings.options, **said}:
        raise ConfigError(f"--{next(iter(said)).replace('_', '-')} is for noise: say --epsilon, too")
    return replace(settings, options={**settings.options, **said})
