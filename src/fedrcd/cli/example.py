"""`fedrcd example`: federations to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedrcd.errors import ConfigError, FileError
from fedrcd.suggest import did_you_mean


def example(
    name: Annotated[
        str, typer.Argument(help="hospitals, hospitals-local-units, sachs, vertical, visits.")
    ] = "hospitals",
    out: Annotated[Path, typer.Option(help="Folder for the tables.")] = Path("example"),
) -> None:
    """Write the tables of an example, one per site, with its federation.toml and what is known of the truth."""
    from fedrcd.data.examples import EXAMPLES

    if name not in EXAMPLES:
        hint = did_you_mean(name, EXAMPLES) or f"; the examples are {', '.join(EXAMPLES)}"
        raise ConfigError(f"there is no example {name!r}{hint}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        paths = EXAMPLES[name].write(out)
    except OSError as problem:
        raise FileError(f"cannot write to {out}: {problem.strerror}") from None
    print(f"{name}: {EXAMPLES[name].summary}")
    for path in paths:
        print(f"written: {path}")
    options = " ".join(filter(None, (f"--federation {out / 'federation.toml'}", EXAMPLES[name].options)))
    print(f"next: fedrcd discover {out}/*.csv {options} --report {out / 'report.html'}")
