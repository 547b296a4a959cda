"""Write docs/trust.md with its figures: `make bench-trust`, in an environment that has `lingam` and matplotlib.

`--only` renews some sections and keeps the others as they are in the file.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from experiments.trust import alarms, calibration, coverage, known, selection, speed

HEAD = """# What can be trusted, measured

Written by `make bench-trust`; do not edit. How to state knowledge is in [knowledge.md](knowledge.md), how to read
probabilities, intervals and checks in [confidence.md](confidence.md).
"""


def sections(figures: Path) -> dict[str, Callable[[], Iterator[str]]]:
    """All sections in the order of the page."""
    return {
        "knowledge": known.section,
        "calibration": lambda: calibration.section(figures),
        "coverage": coverage.section,
        "alarms": lambda: alarms.section(figures),
        "selection": selection.section,
        "speed": speed.section,
    }


def main() -> None:
    """Run the experiments and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/trust.md"))
    parser.add_argument("--only", nargs="*", default=None, help="sections to renew")
    arguments = parser.parse_args()
    known_sections = sections(arguments.out.parent / "figures")
    kept = _read(arguments.out)
    for name, section in known_sections.items():
        if arguments.only is None or name in arguments.only:
            kept[name] = "\n".join(section()).rstrip() + "\n"
            arguments.out.write_text(_page(kept, list(known_sections)), encoding="utf-8")


def _page(texts: dict[str, str], order: list[str]) -> str:
    return HEAD + "".join(f"\n<!-- {name} -->\n\n{texts[name]}" for name in order if name in texts)


def _read(page: Path) -> dict[str, str]:
    """Sections of a page that exists."""
    if not page.exists():
        return {}
    parts = re.split(r"\n<!-- ([a-z]+) -->\n\n", page.read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


if __name__ == "__main__":
    main()
