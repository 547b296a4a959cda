"""`fedrcd example`: bundled data to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedrcd.errors import ConfigError, FileError


def example(
    name: Annotated[str, typer.Argument(help="Which example: hospitals.")] = "hospitals",
    out: Annotated[Path, typer.Option(help="Folder for the tables.")] = Path("example"),
) -> None:
    """Write the tables of a bundled example, one per site."""
    import shutil

    from fedrcd.data.examples import example_paths

    if name != "hospitals":
        raise ConfigError(f"there is no example {name!r}; the examples are hospitals")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path in example_paths():
            print(f"written: {shutil.copyfile(path, out / path.name)}")
    except OSError as problem:
        raise FileError(f"cannot write to {out}: {problem.strerror}") from None
