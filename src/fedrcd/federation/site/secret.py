"""Secrets of sites, in files: rows are tagged and split by them in ways that nobody else can follow."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from fedrcd.errors import ConfigError, FileError

LENGTH = 32


def write_secret(path: Path) -> None:
    """Make a secret in a new file that only its owner can read."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(LENGTH))
    except OSError as problem:
        raise FileError(f"cannot keep a secret in {path}: {problem.strerror}") from None


def read_secret(path: Path) -> bytes:
    """The secret in a file, which must be long enough to be one."""
    try:
        secret = path.read_bytes()
    except OSError as problem:
        raise FileError(f"cannot read the secret in {path}: {problem.strerror}") from None
    if len(secret) < LENGTH:
        raise ConfigError(f"the secret in {path} must have at least {LENGTH} bytes, got {len(secret)}")
    return secret


def group_key(secret: bytes) -> bytes:
    """A key to split rows by, from a secret that may have other uses."""
    return hmac.new(secret, b"fedrcd groups", hashlib.sha256).digest()
