"""What can be wrong with files, in words of our own: the errors of other libraries quote the data."""

from __future__ import annotations

import os
from pathlib import Path

from fedrcd.errors import FileError

DAMAGED = "it is damaged, or not what its ending says"


def reason(error: OSError) -> str:
    """What the operating system said; errors of Arrow itself have no number and may quote the file."""
    return os.strerror(error.errno).lower() if error.errno else DAMAGED


def file_stamp(path: Path) -> tuple[int, int, int]:
    """Tells a file from another of its name."""
    try:
        found = path.stat()
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None
    return found.st_size, found.st_mtime_ns, found.st_ino
