"""Ed25519 signatures of a ledger, by the package `cryptography`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedrcd.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_BYTES = 32
"""Of a private key: any are one."""

CONTEXT = b"fedrcd-ledger/1\n"
"""Before every signed text, so that a signature means nothing elsewhere."""


def public_key(private: bytes) -> str:
    """The public key of a private one, in hexadecimal."""
    return _loaded(private).public_key().public_bytes_raw().hex()


def sign(private: bytes, text: str) -> str:
    """The signature of a text, in hexadecimal."""
    return _loaded(private).sign(CONTEXT + text.encode()).hex()


def is_signed(public: str, text: str, signature: str) -> bool:
    """Whether a signature of a text is by the owner of a public key, and written as `sign` writes it."""
    _require_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if signature != signature.lower():
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(
            bytes.fromhex(signature), CONTEXT + text.encode()
        )
    except (InvalidSignature, ValueError):
        return False
    return True


def _loaded(private: bytes) -> Ed25519PrivateKey:
    _require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(private)


def _require_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise ConfigError(
            "a ledger signs its receipts with the package cryptography, which is not here; pip install 'fedrcd[ledger]'"
        ) from None
