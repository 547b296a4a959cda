"""Moves version, changelog and citation together: `python -m tools.release 0.2.0`.

The unreleased part of the changelog becomes that of the version, dated; `pyproject.toml`, `fedrcd.__version__` and
`CITATION.cff` take the version. Nothing is committed or published.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)((?:a|b|rc)\d+)?")
PLACES = {
    "pyproject.toml": r'(?m)^version = "([^"]+)"$',
    "src/fedrcd/__init__.py": r'(?m)^__version__ = "([^"]+)"$',
    "CITATION.cff": r"(?m)^version: (\S+)$",
}
"""Where the version stands, and how to find it there."""
CHANGELOG, UNRELEASED = "CHANGELOG.md", "## Unreleased\n"


def versions(texts: Mapping[str, str]) -> dict[str, str]:
    """The version that each file names."""
    found = {}
    for name, pattern in PLACES.items():
        (found[name],) = re.findall(pattern, texts[name])
    return found


def released(texts: Mapping[str, str], version: str, day: datetime.date) -> dict[str, str]:
    """The files as they are after the release; raises `ValueError` for a version that cannot follow."""
    present = versions(texts)
    if len(set(present.values())) > 1:
        raise ValueError(f"the files name different versions: {present}")
    if not VERSION.fullmatch(version):
        raise ValueError(f"a version is three numbers, as 0.2.0 or 0.2.0rc1, got {version!r}")
    log = texts[CHANGELOG]
    if f"\n## {version} " in log:
        raise ValueError(f"{CHANGELOG} has {version} already")
    before = present["pyproject.toml"]
    if _rank(version) < _rank(before):
        raise ValueError(f"{version} is older than {before}")
    _, heading, rest = log.partition(UNRELEASED)
    if not heading or not rest.partition("\n## ")[0].strip():
        raise ValueError(f"{CHANGELOG} has nothing under {UNRELEASED.strip()!r}")
    made = {CHANGELOG: log.replace(UNRELEASED, f"{UNRELEASED}\n## {version} ({day.isoformat()})\n", 1)}
    for name, pattern in PLACES.items():
        place = re.search(pattern, texts[name])
        assert place is not None  # it named a version
        made[name] = texts[name][: place.start(1)] + version + texts[name][place.end(1) :]
    made["CITATION.cff"] = _dated(made["CITATION.cff"], day)
    return made


def _rank(version: str) -> tuple[int, int, int, str]:
    """What puts versions in order: a release comes after its candidates."""
    found = VERSION.fullmatch(version)
    assert found is not None
    return int(found[1]), int(found[2]), int(found[3]), found[4] or "~"


def _dated(citation: str, day: datetime.date) -> str:
    """A citation with the day of the release."""
    line = f"date-released: {day.isoformat()}"
    if re.search(r"(?m)^date-released: ", citation):
        return re.sub(r"(?m)^date-released: .*$", line, citation)
    return re.sub(r"(?m)^(version: .*)$", rf"\1\n{line}", citation)


def main(words: Sequence[str] | None = None) -> None:
    """Write the files, and say which."""
    parser = argparse.ArgumentParser(description="Move version, changelog and citation together.")
    parser.add_argument("version")
    version = parser.parse_args(words).version
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in (*PLACES, CHANGELOG)}
    try:
        made = released(texts, version, datetime.date.today())
    except ValueError as problem:
        sys.exit(f"error: {problem}")
    for name, text in made.items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"written: {name}")


if __name__ == "__main__":
    main()
