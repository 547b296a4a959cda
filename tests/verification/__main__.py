"""Verify all claims, or those of some subjects, and write the report. Needs `lingam` and `CausalDisco`."""

from __future__ import annotations

import platform
import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from fedrcd import __version__
from tests.verification.claims import CLAIMS, Claim

TARGET = Path(__file__).parents[2] / "docs" / "verification.md"
COMMAND = "python -m tests.verification"
PACKAGES = ("numpy", "scipy", "scikit-learn", "lingam", "CausalDisco")
SUBJECTS = (
    "packages",
    "series",
    "splits",
    "populations",
    "hidden",
    "ledgers",
    "editions",
    "doors",
    "masks",
    "noise",
    "replays",
    "hostile",
    "knowledge",
    "simulations",
)
"""Modules with claims, in the order of the report; only those that are verified are imported."""

HEADING = "## "


def environment() -> str:
    """With what claims are verified here."""
    present = []
    for name in PACKAGES:
        try:
            present.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # not every claim needs all of them
            continue
    return f"With fedrcd {__version__}, Python {platform.python_version()}, {', '.join(present)}."


class Section(NamedTuple):
    """What is claimed about a subject: with what it was verified, and a row of the table for each claim."""

    environment: str
    rows: list[str]


def written(sections: Mapping[str, Section]) -> str:
    """The report as Markdown."""
    rows = [row for section in sections.values() for row in section.rows]
    text = [
        "# Verification",
        "",
        f"Written by `{COMMAND}` (`make verify`); do not edit.",
        "",
        f"{sum('| NO |' not in row for row in rows)} of {len(rows)} claims hold. A seed and the number of a data set "
        f"determine its rows. `{COMMAND} NAME` verifies the claims under one heading anew.",
    ]
    for name, section in sections.items():
        table = ["| claim | cases | result | holds | seed |", "|---|---:|---|---|---:|", *section.rows]
        text += ["", f"{HEADING}{name}", "", section.environment, "", *table]
    return "\n".join([*text, ""])


def kept() -> dict[str, Section]:
    """What an earlier report says, by subject."""
    parts = TARGET.read_text(encoding="utf-8").split(f"\n{HEADING}")[1:] if TARGET.exists() else []
    lines = [part.split("\n") for part in parts]
    return {one[0]: Section(one[2], [row for row in one[6:] if row]) for one in lines}


def as_row(claim: Claim, seed: int) -> str:
    """A claim as a row of the table."""
    return f"| {claim.claim} | {claim.count} | {claim.result} | {'yes' if claim.holds else 'NO'} | {seed} |"


def main() -> int:
    """Verify, and write the report after every claim; 1 if a claim does not hold."""
    warnings.simplefilter("ignore")  # of lingam's dependencies
    chosen = sys.argv[1:] or SUBJECTS
    if unknown := set(chosen) - set(SUBJECTS):
        sys.exit(f"no claims about {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    found: dict[str, Section] = {}
    for name in chosen:
        subject = import_module(f"tests.verification.{name}").__name__
        found[name] = Section(environment(), [])
        for verify, seed in [entry for entry in CLAIMS if entry[0].__module__ == subject]:
            for claim in verify(seed):
                holds = "holds" if claim.holds else "FAILS"
                print(f"{holds}: {claim.claim} ({claim.count}): {claim.result}", flush=True)
                found[name].rows.append(as_row(claim, seed))
                sections = kept() | found
                TARGET.write_text(
                    written({one: sections[one] for one in SUBJECTS if one in sections}), encoding="utf-8"
                )
    print(f"wrote docs/{TARGET.name}")
    return int(any("| NO |" in row for section in found.values() for row in section.rows))


if __name__ == "__main__":
    sys.exit(main())
