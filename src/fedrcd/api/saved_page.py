"""The page of a result that was saved, with all that a run wrote beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedrcd.api.discovery import Discovery
from fedrcd.data.federation import read_federation
from fedrcd.errors import FileError
from fedrcd.federation.coordinator.saved_finding import read_finding
from fedrcd.federation.masking.signed_result import SIGNATURES, SignedResult
from fedrcd.report.support import support_in

DISCOVERY, BOOTSTRAP, CHECKS = "discovery.json", "bootstrap.json", "checks.json"
"""What a run writes into its folder."""


def saved_page(result: Path, out: Path, federation: Path | None) -> None:
    """Write the page of a saved result, with what lies beside it in the folder of a run."""
    is_run = result.is_dir() or result.name in (BOOTSTRAP, CHECKS)
    folder = result if result.is_dir() else result.parent
    if is_run and not (folder / DISCOVERY).exists():
        raise FileError(f"there is no {DISCOVERY} in {folder}: give the file of a result, or the folder of a run")
    found = Discovery.from_json(folder / DISCOVERY if is_run else result)
    units = {} if federation is None else read_federation(federation).units()
    found = found.with_units({**found.units, **units})
    support = support_in(found)
    if is_run or result.name == DISCOVERY:
        beside: dict[str, Any] = {}
        if (folder / BOOTSTRAP).exists():
            beside |= _intervals(_read(folder / BOOTSTRAP))
        if (folder / CHECKS).exists():
            beside["checks"] = _read(folder / CHECKS)["checks"]
        beside["verified"] = [*support.verified, *_signed(folder, federation)]
        support = replace(support, **beside)
    found.report(out, support=support)


def _read(path: Path) -> Mapping[str, Any]:
    """What a run wrote beside its discovery."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None
    except ValueError:
        raise FileError(f"cannot read {path}: it is not what fedrcd wrote") from None
    if not isinstance(content, dict) or content.get("format") not in ("fedrcd-bootstrap/1", "fedrcd-checks/1"):
        raise FileError(f"cannot read {path}: it is not what fedrcd wrote")
    return content


def _intervals(bootstrap: Mapping[str, Any]) -> dict[str, Any]:
    """The intervals of a bootstrap, which hold for the choice of edges too; nothing where it has none."""
    bounds = {
        (one["cause"], one["effect"]): (one["low"], one["high"])
        for one in bootstrap["direct_effects"]
        if "low" in one and math.isfinite(one["high"] - one["low"])
    }
    words = f"from {bootstrap['replicates']} replicates of the bootstrap"
    return {"bounds": bounds, "intervals": words} if bounds else {}


def _signed(folder: Path, federation: Path | None) -> list[str]:
    """Whether the sites of a masked run signed its result, in words; raises if the signatures are wrong."""
    if not (folder / SIGNATURES).exists():
        return []
    if federation is None:
        return ["The sites signed this result; --federation FILE has the signatures verified."]
    finding = read_finding(folder)
    plan = SignedResult.read(folder).verified(finding.estimate, read_federation(federation))
    sites = ", ".join(finding.sites)
    if plan.goes_on:
        return [f"Signed by {sites}: each ran {plan.method} itself on totals that it added up, and found the same."]
    return [f"Signed by {sites}: they answered {plan.method} and were told this result. The signatures are genuine."]
