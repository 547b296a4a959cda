"""Verify all claims and write the report. Needs `lingam` and `CausalDisco` beside the package."""

from __future__ import annotations

import platform
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

from fedrcd import __version__
from tests.verification import knowledge, ledgers, packages, populations, splits
from tests.verification.claims import CLAIMS, Claim

TARGET = Path(__file__).parents[2] / "docs" / "verification.md"
COMMAND = "python -m tests.verification"
PACKAGES = ("numpy", "scipy", "scikit-learn", "lingam", "CausalDisco")
SUBJECTS = (packages, splits, populations, ledgers, knowledge)
"""Modules with claims, in the order of the report."""


def written(rows: list[tuple[Claim, int]]) -> str:
    """The report as Markdown."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    held = sum(claim.holds for claim, _ in rows)
    head = [
        "# Verification",
        "",
        f"Written by `{COMMAND}` (`make verify`); do not edit. fedrcd {__version__}, Python "
        f"{platform.python_version()}, {versions}.",
        "",
        f"{held} of {len(rows)} claims hold. A seed and the number of a data set determine its rows.",
        "",
        "| claim | cases | result | holds | seed |",
        "|---|---:|---|---|---:|",
    ]
    table = [f"| {c.claim} | {c.count} | {c.result} | {'yes' if c.holds else 'NO'} | {seed} |" for c, seed in rows]
    return "\n".join([*head, *table, ""])


def main() -> int:
    """Verify all claims, write the report; 1 if one does not hold."""
    warnings.simplefilter("ignore")  # of lingam's dependencies
    rows = []
    entered = [entry for subject in SUBJECTS for entry in CLAIMS if entry[0].__module__ == subject.__name__]
    for verify, seed in entered:
        for claim in verify(seed):
            print(f"{'holds' if claim.holds else 'FAILS'}: {claim.claim} ({claim.count}): {claim.result}", flush=True)
            rows.append((claim, seed))
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(written(rows), encoding="utf-8")
    print(f"wrote docs/{TARGET.name}")
    return int(not all(claim.holds for claim, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
