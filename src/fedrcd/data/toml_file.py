"""Files in TOML: read, or refused with the file and the line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from fedrcd.errors import FileError


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise FileError(f"cannot read {path}: it is not UTF-8; save it in that encoding first") from None
    except tomllib.TOMLDecodeError as problem:
        raise FileError(f"cannot read {path}: it is not TOML: {problem}") from None
