"""The ledger without its secrets and its sums: what an auditor may have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from fedrcd.errors import FileError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.entries import Entry

FORMAT = "fedrcd-ledger-export/1"


def entry_record(entry: Entry) -> dict[str, Any]:
    """An entry as JSON holds it."""
    return {"number": entry.number, "text": entry.text, "hash": entry.hash, "signature": entry.signature}


def read_record(record: dict[str, Any]) -> Entry:
    """The entry in a JSON object."""
    return Entry(int(record["number"]), *(str(record[name]) for name in ("text", "hash", "signature")))


def described(configuration: Configuration) -> dict[str, Any]:
    """A configuration for people and programs."""
    frame = configuration.frame
    columns = zip(
        configuration.variables, frame.centre.tolist(), frame.scale.tolist(), configuration.units, strict=True
    )
    return {
        "digest": configuration.digest,
        "families": list(configuration.families),
        "grid": None if configuration.grid is None else asdict(configuration.grid),
        "variables": [{"name": name, "centre": c, "scale": s, "unit": unit} for name, c, s, unit in columns],
    }


def exported(entries: Iterable[Entry], public_key: str, configuration: Configuration) -> str:
    """All entries with their signatures, the key to check them and the configuration, as JSON text."""
    content = {
        "format": FORMAT,
        "public_key": public_key,
        "configuration": described(configuration),
        "entries": [entry_record(entry) for entry in entries],
    }
    return json.dumps(content, indent=1)


def read_export(text: str) -> tuple[list[Entry], str]:
    """The entries and the public key of an exported ledger."""
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise FileError("this is not an exported ledger of fedrcd")
        return [read_record(record) for record in content["entries"]], str(content["public_key"])
    except (ValueError, KeyError, TypeError):
        raise FileError("this is not an exported ledger of fedrcd") from None


def entry_parts(entry: Entry) -> list[str]:
    """What an entry is about, as people read it."""
    content = entry.content
    parts = [*content.get("admitted", {})]
    if "site" in content:
        parts.append(f"{content['site']}, block {content['block']}, version {content['version']}")
    if "editions" in content:
        parts.append(f"total over {', '.join(content['editions'])}")
    if "rows" in content:
        parts.append(f"{content['rows']:,} rows")
    if "method" in content:
        parts.append(content["method"])
    return parts
