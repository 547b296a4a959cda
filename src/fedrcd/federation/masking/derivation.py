"""From the run keys of two sites to the mask they share, by X25519, HKDF-SHA-256 and AES-256-CTR alone.

What is derived depends on everything that both signed: the transcript is the salt, names and keys of both, in order,
are bound to the chain, and round, question, length and ring to the mask.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking.ring import Ring, Words

PREFIX = b"fedrcd-masking/1"
"""Before everything that is hashed or derived here."""

KEY_BYTES = 32
"""Of run keys, chains and mask keys: 256 bits."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """The public run key of a site."""

    site: str
    key: bytes


@dataclass(frozen=True, slots=True)
class MaskUse:
    """What a mask is for: another use has another mask."""

    round: int
    question: str
    """Digest of the question."""
    length: int
    ring: Ring

    @property
    def content(self) -> bytes:
        """What a mask key is bound to."""
        return framed(b"mask", number(self.round), self.question.encode(), number(self.length), number(self.ring.bits))


def framed(purpose: bytes, *parts: bytes) -> bytes:
    """A prefix and all parts with their lengths: no two lists of parts give the same bytes."""
    return b"".join(len(one).to_bytes(8, "little") + one for one in (PREFIX, purpose, *parts))


def number(value: int) -> bytes:
    """Eight bytes, the lowest first."""
    return value.to_bytes(8, "little")


def digest(purpose: bytes, *parts: bytes) -> bytes:
    """SHA-256 of the framed parts."""
    return hashlib.sha256(framed(purpose, *parts)).digest()


def public_key(secret: bytes) -> bytes:
    """The public run key of a secret one."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    _require_length(secret)
    key = X25519PrivateKey.from_private_bytes(secret).public_key()
    return key.public_bytes(form.Encoding.Raw, form.PublicFormat.Raw)


def pair_chain(secret: bytes, other: bytes, transcript: bytes, pair: tuple[RunKey, RunKey]) -> bytes:
    """The chain that two sites share; `pair` is both of them, in the order of the cohort.

    `secret` is the run key of one, `other` the public one of the other.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    _require_length(secret)
    try:
        shared = X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError:
        raise ProtocolError("a run key is no point that a secret can be agreed on with") from None
    first, second = pair
    bound = (first.site.encode(), second.site.encode(), first.key, second.key)
    return _hkdf(shared, transcript, framed(b"chain", *bound))


def mask(chain: bytes, transcript: bytes, use: MaskUse) -> Words:
    """The mask that a pair of sites has for one use."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    key = _hkdf(chain, transcript, use.content)
    encryptor = Cipher(AES256(key), CTR(bytes(16))).encryptor()
    return use.ring.from_bytes(encryptor.update(bytes(use.length * use.ring.width)), use.length)


def next_chain(chain: bytes, transcript: bytes, ended: int) -> bytes:
    """The chain of the round after one that has ended; from it nobody finds the one before."""
    return _hkdf(chain, transcript, framed(b"next chain", number(ended)))


def masked(
    vector: Words, site: str, cohort: Sequence[str], chains: Mapping[str, bytes], transcript: bytes, use: MaskUse
) -> Words:
    """A vector under the masks that a site shares with all others: the first of each pair adds, the other subtracts."""
    own, total = cohort.index(site), vector
    for place, other in enumerate(cohort):
        if other != site:
            change = use.ring.add if own < place else use.ring.subtract
            total = change(total, mask(chains[other], transcript, use))
    return total


def _hkdf(material: bytes, salt: bytes, info: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    _require_length(material)
    return HKDF(SHA256(), KEY_BYTES, salt, info).derive(material)


def _require_length(secret: bytes) -> None:
    if len(secret) != KEY_BYTES:
        raise ProtocolError(f"a secret must have {8 * KEY_BYTES} bits, not {8 * len(secret)}")
