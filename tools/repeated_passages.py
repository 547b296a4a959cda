"""Count passages of the source that stand there twice: six lines or more, identical up to white space.

Blank lines, comments and imports are passed over. A passage is as long as it can be, and
counts once however often it is repeated. Run ``python -m tools.repeated_passages``; it prints every place.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src" / "fedrcd"
LEAST = 6


class SourceLine(NamedTuple):
    """A line that counts: where it is, and what it says without white space."""

    file: str
    number: int
    text: str


class Passage(NamedTuple):
    """Lines that stand in several places, each told by its first and last line."""

    length: int
    places: tuple[tuple[SourceLine, SourceLine], ...]


def lines_of(text: str, file: str = "") -> list[SourceLine]:
    """The lines of a module that count."""
    imported = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    numbered = ((number, "".join(line.split())) for number, line in enumerate(text.splitlines(), 1))
    return [
        SourceLine(file, number, line)
        for number, line in numbered
        if line and not line.startswith("#") and number not in imported
    ]


def repeated(modules: Sequence[Sequence[SourceLine]], least: int = LEAST) -> list[Passage]:
    """Passages that stand in several places, longest first."""
    windows: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for m, lines in enumerate(modules):
        for at in range(len(lines) - least + 1):
            windows[tuple(line.text for line in lines[at : at + least])].append((m, at))
    found = []
    for places in windows.values():
        if len(places) > 1 and not _goes_on_before(modules, places):
            length = _length(modules, places, least)
            found.append(
                Passage(length, tuple((modules[m][at], modules[m][at + length - 1]) for m, at in places)),
            )
    return sorted(found, key=lambda passage: -passage.length)


def _goes_on_before(modules: Sequence[Sequence[SourceLine]], places: Sequence[tuple[int, int]]) -> bool:
    """Whether the same line stands before all places: then the passage begins earlier."""
    before = {modules[m][at - 1].text if at else f"start of {m}" for m, at in places}
    return len(before) == 1


def _length(modules: Sequence[Sequence[SourceLine]], places: Sequence[tuple[int, int]], least: int) -> int:
    """Lines over which all places go on alike."""
    length = least
    while True:
        following = {
            modules[m][at + length].text if at + length < len(modules[m]) else f"end of {m}" for m, at in places
        }
        if len(following) > 1 or _overlap(places, length + 1):
            return length
        length += 1


def _overlap(places: Sequence[tuple[int, int]], length: int) -> bool:
    """Whether two places of one module would run into each other."""
    return any(one != two and one[0] == two[0] and abs(one[1] - two[1]) < length for one in places for two in places)


def collect(root: Path = SOURCE) -> list[Passage]:
    """Repeated passages below a folder."""
    files = sorted(root.rglob("*.py"))
    return repeated([lines_of(path.read_text(encoding="utf-8"), str(path.relative_to(root))) for path in files])


def _told(passages: Sequence[Passage]) -> Iterator[str]:
    for passage in passages:
        yield f"{passage.length} lines"
        for first, last in passage.places:
            yield f"  {first.file}:{first.number}-{last.number}"
    yield f"{len(passages)} repeated passages of {LEAST} lines or more"


def main() -> None:
    """Print every repeated passage and how many there are."""
    print("\n".join(_told(collect())))


if __name__ == "__main__":
    main()
