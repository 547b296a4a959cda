"""What rounds cost between machines: one round against many, over processes on this machine; writes a table.

`python -m experiments.pages.federation_cost` writes docs/federation-cost.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from experiments.tasks.loopback import Loopback
from fedrcd.data.simulate.models import random_model
from fedrcd.data.table import Table
from fedrcd.runs.finding import Finding

P, ROWS, SITES, SEED = 20, 3000, 3, 20261116
METHODS = ("fedrcd-s", "fedrcd-x")
REPORT = Path("docs/federation-cost.md")


def main() -> int:
    """Measure, and write the table."""
    rng = np.random.default_rng(SEED)
    model = random_model(P, noise="gamma", density=0.3, rng=rng)
    names = tuple(f"x{j}" for j in range(1, P + 1))
    tables = [Table(model.sample(ROWS, rng), columns=names, source=f"site-{k}") for k in range(SITES)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        here = Loopback.write(Path(folder) / "federation", tables, [f"site-{k}" for k in range(SITES)])
        here.prepare()
        with here.running():
            for method in METHODS:
                began = time.monotonic()
                finding = here.run(method)
                rows.append(row(finding, time.monotonic() - began, same=here.equals_one_process(finding)))
    REPORT.write_text(report(rows), encoding="utf-8")
    print(f"written: {REPORT}")
    return 0


def row(finding: Finding, total: float, *, same: bool) -> str:
    """A line of the table."""
    seconds = np.array(finding.seconds)
    kilobytes = finding.bytes_sent / len(finding.sites) / 1e3
    spread = f"{seconds.min():.1f} / {np.median(seconds):.1f} / {seconds.max():.1f}"
    verdict = "yes" if same else "NO"
    times = f"{spread} | {seconds.sum():.1f} | {total:.1f}"
    return f"| {finding.method} | {finding.rounds} | {times} | {kilobytes:,.0f} | {verdict} |"


def report(rows: list[str]) -> str:
    """The document."""
    lines = [
        "# What rounds cost between machines",
        "",
        "Written by `python -m experiments.pages.federation_cost`; do not edit. "
        f"{SITES} sites of {ROWS:,} rows, p = {P}, exact sums, TLS and keys over loopback, all on one machine.",
        "",
        "| method | rounds | seconds a round: least / median / most | all rounds | whole command | kB a site "
        "| bits equal one process |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        "A round is a new process at every site, whatever it sends: one large round costs less than many small ones.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
