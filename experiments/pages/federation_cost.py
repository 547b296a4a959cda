"""What rounds cost between machines: one against many, masked against clear, by processes here; writes a table.

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
WAYS = {False: "clear", True: "masked"}
REPORT = Path("docs/federation-cost.md")


def main() -> int:
    """Measure, and write the table."""
    rng = np.random.default_rng(SEED)
    model = random_model(P, noise="gamma", density=0.3, rng=rng)
    names = tuple(f"x{j}" for j in range(1, P + 1))
    tables = [Table(model.sample(ROWS, rng), columns=names, source=f"site-{k}") for k in range(SITES)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for masked, way in WAYS.items():
            sites = [f"site-{k}" for k in range(SITES)]
            here = Loopback.write(Path(folder) / way, tables, sites, masked=masked)
            here.prepare()
            with here.running():
                for method in METHODS:
                    began = time.monotonic()
                    finding = here.run(method)
                    took = time.monotonic() - began
                    rows.append(row(finding, took, way=way, same=here.equals_one_process(finding)))
    REPORT.write_text(report(rows), encoding="utf-8")
    print(f"written: {REPORT}")
    return 0


def row(finding: Finding, total: float, *, way: str, same: bool) -> str:
    """A line of the table."""
    seconds = np.array(finding.seconds)
    kilobytes = finding.bytes_sent / len(finding.sites) / 1e3
    spread = f"{seconds.min():.1f} / {np.median(seconds):.1f} / {seconds.max():.1f}"
    verdict = "yes" if same else "NO"
    times = f"{spread} | {seconds.sum():.1f} | {total:.1f}"
    exchanges = 1 + finding.rounds + (way == "masked")
    return f"| {finding.method}, {way} | {exchanges} | {times} | {kilobytes:,.0f} | {verdict} |"


def report(rows: list[str]) -> str:
    """The document."""
    lines = [
        "# What rounds cost between machines",
        "",
        "Written by `python -m experiments.pages.federation_cost`; do not edit. "
        f"{SITES} sites of {ROWS:,} rows, p = {P}, exact sums, TLS and keys over loopback, all on one machine.",
        "",
        "| method | exchanges with a site | seconds a round: least / median / most | all rounds | whole command "
        "| kB a site | bits equal one process |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        "Exchanges are the roll call, the rounds, and, where sums are masked, the end, in which sites sign the result "
        "and erase their keys. Each is a new process at every site, whatever it sends: one large round costs less than "
        "many small ones. The bytes are those of the answers; [speed.md](speed.md#relays) has both directions.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
