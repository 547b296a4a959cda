"""Where the world begins: clocks, random bytes and signatures of one federation, all from one seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec

from fedrcd.federation.messages import signatures
from fedrcd.federation.messages.signatures import PREFIX, SiteKey
from fedrcd.federation.surroundings import Surroundings
from simulation.disk import connect

START = datetime(2026, 3, 1, 8, tzinfo=UTC)


@dataclass
class Edges:
    """Clocks and random bytes of all machines; time passes only when it is let pass, or somebody waits."""

    seed: int
    seconds: float = 0.0
    offsets: dict[str, float] = field(default_factory=dict)
    drawn: dict[str, int] = field(default_factory=dict)

    def now(self, machine: str) -> datetime:
        """The time by the clock of a machine, which may be wrong."""
        return START + timedelta(seconds=self.seconds + self.offsets.get(machine, 0.0))

    def wait(self, seconds: float) -> None:
        """Time passes everywhere."""
        self.seconds += seconds

    def token_bytes(self, machine: str, size: int) -> bytes:
        """Random bytes of a machine, never the same again."""
        self.drawn[machine] = self.drawn.get(machine, 0) + 1
        text = f"{self.seed} {machine} {self.drawn[machine]}".encode()
        return hashlib.shake_256(text).digest(size)

    def of(self, machine: str) -> Surroundings:
        """What the programs of a machine take from it."""
        return Surroundings(
            now=lambda: self.now(machine),
            monotonic=lambda: self.seconds,
            sleep=self.wait,
            token_bytes=lambda size: self.token_bytes(machine, size),
            connect=connect,
        )


@cache
def key_of(site: str) -> tuple[str, bytes]:
    """The public key of a site, and the private one as its file holds it; the same in every simulation."""
    number = int.from_bytes(hashlib.sha256(f"key of {site}".encode()).digest(), "big")
    private = ec.derive_private_key(number, ec.SECP384R1())
    text = private.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
    return SiteKey(private).public, text


@contextmanager
def signatures_that_repeat() -> Iterator[None]:
    """Signatures whose random number follows from what is signed: the same again, on any machine."""

    def sign(self: SiteKey, kind: str, content: bytes) -> str:
        how = ec.ECDSA(hashes.SHA384(), deterministic_signing=True)
        return self.private.sign(f"{PREFIX} {kind}\n".encode() + content, how).hex()

    real = signatures.SiteKey.sign
    signatures.SiteKey.sign = sign  # type: ignore[method-assign]
    try:
        yield
    finally:
        signatures.SiteKey.sign = real  # type: ignore[method-assign]
