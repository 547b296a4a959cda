"""From the command that erases a row to the new order, everything included, as its user waits for it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import BenchmarkRow, seconds
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, write_federation
from fedrcd.data.frame_draft import draft_frame
from fedrcd.data.simulate.models import random_model
from fedrcd.data.table import Table
from fedrcd.federation.messages.keys import make_development_keys

ROWS, P = 20_000, 20


def run() -> Iterator[BenchmarkRow]:
    """One row of 20,000 at p = 20, erased at once; the ledger lists one result of fedrcd-s, which is computed anew."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder)
        site = ("site.parquet", "--federation", "federation.toml", "--site", "site", "--ledger", "ledger.db")
        site = (*site, "--key", "keys/site")
        _fedrcd(folder, "ledger", "new", "ledger.db", "--federation", "federation.toml")
        _fedrcd(folder, "contribute", *site)
        _fedrcd(folder, "ledger", "discover", "ledger.db", "--method", "fedrcd-s")
        (folder / "ids.txt").write_text("r7\n")
        took = seconds(lambda: _fedrcd(folder, "erase", *site, "--ids", "ids.txt", "--now"))
        idle = seconds(lambda: _fedrcd(folder, "--version"), repeats=3)
    yield BenchmarkRow("erase one row of 20,000, p = 20: command to new order", f"{took:.2f} s", "<= 2 s")
    yield BenchmarkRow("of which starting the command", f"{idle:.2f} s")


def _write(folder: Path) -> None:
    rng = np.random.default_rng(0)
    model = random_model(P, noise="laplace", rng=rng)
    X = model.sample(ROWS, rng)
    frame = pd.DataFrame(X, columns=list(model.names)).assign(id=[f"r{k}" for k in range(ROWS)])
    frame.to_parquet(folder / "site.parquet")
    keys = make_development_keys(folder / "keys", ["site"], ["localhost"])
    described = Federation(
        variables=model.names,
        sites=(SiteEntry("site", model.names, ("all",), keys["site"]),),
        blocks=(BlockEntry("all", ROWS),),
        frame=draft_frame(Table(X, columns=model.names, source="site")),
    )
    write_federation(folder / "federation.toml", described)


def _fedrcd(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "fedrcd", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
