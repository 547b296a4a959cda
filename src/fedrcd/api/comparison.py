"""What changed from one discovery to another: before and after an erasure, two methods, two dates."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from fedrcd.api.discovery import Discovery, written
from fedrcd.errors import ConfigError
from fedrcd.graphs.comparison import Changes, NamedWeights, compare_graphs

FORMAT = "fedrcd-comparison/1"
TOLERANCE = 1e-6
"""Weights that differ by no more than this share count as the same; float sums on other machines differ by less."""
MOST_PAIRS = 10
"""Pairs of variables that are listed in text."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two discoveries and what changed from the first to the second.

    Attributes
    ----------
    before, after : Discovery
        What was compared.
    changes : Changes
        Edges that were added, removed, reversed or changed in weight; pairs of variables that changed places;
        variables that only one of them has.
    before_title, after_title : str
        What they are called.
    """

    before: Discovery
    after: Discovery
    changes: Changes
    before_title: str = "before"
    after_title: str = "after"

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text; written to `path` as well if given."""
        content = {
            "format": FORMAT,
            "before": {"title": self.before_title, **_described(self.before)},
            "after": {"title": self.after_title, **_described(self.after)},
            "same": self.changes.none,
            **asdict(self.changes),
        }
        text = json.dumps(content, indent=1, allow_nan=False)
        written(text + "\n", path)
        return text

    def report(self, path: str | Path | None = None) -> str:
        """One self-contained HTML page: the later discovery, and what changed; written to `path` as well if given."""
        from fedrcd.report.page import Before, write_page

        before = Before(
            title=self.before_title, after_title=self.after_title, order=self.before.order, changes=self.changes
        )
        return written(write_page(self.after, before=before), path)

    def __str__(self) -> str:
        lines = [f"{self.before_title} -> {self.after_title}: {self.changes.words}"]
        settings = [
            f"{name} {old} -> {new}"
            for name, old, new in (
                ("method", self.before.method, self.after.method),
                ("rows", self.before.rows, self.after.rows),
                ("sites", self.before.sites, self.after.sites),
            )
            if old != new
        ]
        if settings:
            lines.append("; ".join(settings))
        for names, title in (
            (self.changes.only_before, self.before_title),
            (self.changes.only_after, self.after_title),
        ):
            if names:
                lines.append(f"only in {title}: {', '.join(names)}")
        below = 0
        for edge in self.changes.edges:
            old, new = ("none" if w is None else f"{w:+.4g}" for w in (edge.before, edge.after))
            if edge.change == "changed" and old == new:
                below += 1
            elif edge.change != "same":
                lines.append(f"  {edge.change:8}  {edge.cause} -> {edge.effect}  {old} -> {new}")
        if below:
            lines.append(f"  changed   {below} more, in digits that are not shown")
        lines += [f"  order     {pair.first} came before {pair.then}" for pair in self.changes.moved[:MOST_PAIRS]]
        if len(self.changes.moved) > MOST_PAIRS:
            lines.append(f"  order     and {len(self.changes.moved) - MOST_PAIRS} more pairs")
        return "\n".join(lines)


def compare(
    before: Discovery,
    after: Discovery,
    *,
    tolerance: float = TOLERANCE,
    titles: tuple[str, str] = ("before", "after"),
) -> Comparison:
    """What changed from one discovery to another.

    Parameters
    ----------
    before, after : Discovery
        Of the same variables, or at least of some common ones; the order is compared on these.
    tolerance : float
        Weights that differ by at most this share of the larger one count as the same.
    titles : tuple of str
        What to call them.
    """
    if not tolerance >= 0:
        raise ConfigError(f"tolerance must be at least 0, got {tolerance!r}")
    if not set(before.names) & set(after.names):
        raise ConfigError("the two discoveries have no variable in common, so there is nothing to compare")
    changes = compare_graphs(_weights(before), _weights(after), (before.order, after.order), tolerance=tolerance)
    return Comparison(before, after, changes, *titles)


def _weights(found: Discovery) -> NamedWeights:
    return {(edge.cause, edge.effect): edge.weight for edge in found.edges()}


def _described(found: Discovery) -> dict[str, object]:
    """What tells one discovery from another."""
    return {"method": found.method, "rows": found.rows, "sites": found.sites, "order": found.order}
