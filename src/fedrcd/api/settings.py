"""Settings of a run as a result records them, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fedrcd.api.discovery import Discovery
from fedrcd.graphs.knowledge import Knowledge
from fedrcd.statistics.grid import ARITHMETIC, Grid

DEFAULTS = {"within": "none", "missing": "complete", "trim": None, "arithmetic": "float", "stack": False}
BOOTSTRAP = "bootstrap"
"""Under which a result records how its replicates were drawn; no setting of the run on all rows."""


def recorded(**settings: Any) -> dict[str, Any]:
    """Settings that are not those by default, as JSON has them; `recalled` takes them back."""
    changed = {name: value for name, value in settings.items() if value not in (DEFAULTS.get(name), [], None)}
    if "knowledge" in changed:
        changed["knowledge"] = {name: value for name, value in asdict(changed["knowledge"]).items() if value}
    return changed


def recalled(found: Discovery) -> dict[str, Any]:
    """The settings by which a discovery was made, for `prepare`."""
    settings: dict[str, Any] = {"variables": found.names, **found.settings}
    settings.pop(BOOTSTRAP, None)
    if "knowledge" in settings:
        settings["knowledge"] = Knowledge(**settings["knowledge"])
    return settings


def arithmetic_of(grid: Grid | None) -> str | None:
    """What users call sums on this grid; nothing for a grid that has no name."""
    return next((name for name, known in ARITHMETIC.items() if known == grid), None)
