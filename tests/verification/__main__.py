"""Verify all claims, or those of some subjects, and write the report. Needs `lingam` and `CausalDisco`."""

from __future__ import annotations

import platform
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

from fedrcd import __version__
from tests.verification import (
    doors,
    editions,
    hidden,
    hostile,
    knowledge,
    ledgers,
    masks,
    noise,
    packages,
    populations,
    replays,
    series,
    simulations,
    splits,
)
from tests.verification.claims import CLAIMS, Claim

TARGET = Path(__file__).parents[2] / "docs" / "verification.md"
COMMAND = "python -m tests.verification"
PACKAGES = ("numpy", "scipy", "scikit-learn", "lingam", "CausalDisco")
SUBJECTS = (
    packages,
    series,
    splits,
    populations,
    hidden,
    ledgers,
    editions,
    doors,
    masks,
    noise,
    replays,
    hostile,
    knowledge,
    simulations,
)
"""Modules with claims, in the order of the report."""


HEADING = "## "


def written(sections: dict[str, list[str]]) -> str:
    """The report as Markdown, from the rows of the table of every subject."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    rows = [row for section in sections.values() for row in section]
    text = [
        "# Verification",
        "",
        f"Written by `{COMMAND}` (`make verify`); do not edit. fedrcd {__version__}, Python "
        f"{platform.python_version()}, {versions}.",
        "",
        f"{sum('| NO |' not in row for row in rows)} of {len(rows)} claims hold. A seed and the number of a data set "
        f"determine its rows. `{COMMAND} NAME` verifies the claims under one heading anew.",
    ]
    for name, section in sections.items():
        text += [
            "",
            f"{HEADING}{name}",
            "",
            "| claim | cases | result | holds | seed |",
            "|---|---:|---|---|---:|",
            *section,
        ]
    return "\n".join([*text, ""])


def kept() -> dict[str, list[str]]:
    """The rows of an earlier report by subject."""
    sections = TARGET.read_text(encoding="utf-8").split(f"\n{HEADING}")[1:] if TARGET.exists() else []
    return {section.split("\n", 1)[0]: section.split("\n")[4:-1] for section in sections}


def as_row(claim: Claim, seed: int) -> str:
    """A claim as a row of the table."""
    return f"| {claim.claim} | {claim.count} | {claim.result} | {'yes' if claim.holds else 'NO'} | {seed} |"


def main() -> int:
    """Verify, write the report; 1 if a claim does not hold."""
    warnings.simplefilter("ignore")  # of lingam's dependencies
    subjects = {subject.__name__.rpartition(".")[2]: subject for subject in SUBJECTS}
    chosen = sys.argv[1:] or list(subjects)
    if unknown := set(chosen) - set(subjects):
        sys.exit(f"no claims about {', '.join(sorted(unknown))}; there are {', '.join(subjects)}")
    found: dict[str, list[str]] = {}
    for name in chosen:
        rows = []
        for verify, seed in [entry for entry in CLAIMS if entry[0].__module__ == subjects[name].__name__]:
            for claim in verify(seed):
                print(
                    f"{'holds' if claim.holds else 'FAILS'}: {claim.claim} ({claim.count}): {claim.result}", flush=True
                )
                rows.append(as_row(claim, seed))
        found[name] = rows
    sections = kept() | found
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(written({name: sections[name] for name in subjects if name in sections}), encoding="utf-8")
    print(f"wrote docs/{TARGET.name}")
    return int(any("| NO |" in row for rows in found.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
