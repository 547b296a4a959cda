"""Digests that say what they are over: nothing that is hashed here can be read as something else."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any


def canonical(content: Any) -> str:
    """The one JSON text of a content: keys sorted, no blanks, ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(purpose: str, *parts: bytes) -> str:
    """SHA-256 of the parts for a purpose, in hexadecimal."""
    return hashlib.sha256(_framed(purpose, parts)).hexdigest()


def keyed_digest(key: bytes, purpose: str, *parts: bytes) -> str:
    """HMAC-SHA-256 of the parts for a purpose, in hexadecimal: without the key nobody can test a guess."""
    return hmac.new(key, _framed(purpose, parts), hashlib.sha256).hexdigest()


def _framed(purpose: str, parts: tuple[bytes, ...]) -> bytes:
    """All parts with their lengths, so that no two lists of parts give the same bytes."""
    named = (purpose.encode(), *parts)
    return b"".join(len(part).to_bytes(8, "little") + part for part in named)
