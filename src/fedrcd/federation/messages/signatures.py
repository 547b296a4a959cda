"""Signatures of sites: by the key that the federation file has of them, over what is said and of what kind it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedrcd.errors import ConfigError
from fedrcd.federation.messages.keys import private_key_in, public_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

PREFIX = "fedrcd-site/1"
"""Before everything that a site signs, with the kind of thing: a signature means nothing elsewhere."""


@dataclass(frozen=True, slots=True)
class SiteKey:
    """The private key of a site."""

    private: EllipticCurvePrivateKey

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SiteKey:
        """The key in a file, in OpenSSH form, ECDSA on P-384."""
        require_cryptography()
        from cryptography.hazmat.primitives.asymmetric import ec

        key = private_key_in(path)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp384r1":
            raise ConfigError(f"{path} must be an ECDSA key on the curve P-384: ssh-keygen -t ecdsa -b 384")
        return cls(key)

    @classmethod
    def fresh(cls) -> SiteKey:
        """A new key."""
        from cryptography.hazmat.primitives.asymmetric import ec

        return cls(ec.generate_private_key(ec.SECP384R1()))

    @property
    def public(self) -> str:
        """The public key, as the federation file has it."""
        from cryptography.hazmat.primitives import serialization as form

        return self.private.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode()

    def sign(self, kind: str, content: bytes) -> str:
        """The signature of something of a kind, in hexadecimal."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        return self.private.sign(_framed(kind, content), ec.ECDSA(hashes.SHA384())).hex()

    def require(self, public: str, site: str) -> None:
        """Raise unless it is the key that the federation file has for a site."""
        if public_text(self.public) != public_text(public):
            raise ConfigError(f"this is not the key that the federation file has for site {site!r}")


def is_signed_by(public: str, kind: str, content: bytes, signature: str) -> bool:
    """Whether a signature of something of a kind is by the owner of a public key."""
    require_cryptography()
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        key: Any = form.load_ssh_public_key(public_text(public).encode())
        if not isinstance(key, ec.EllipticCurvePublicKey):
            return False
        key.verify(bytes.fromhex(signature), _framed(kind, content), ec.ECDSA(hashes.SHA384()))
    except (InvalidSignature, ValueError, UnsupportedAlgorithm):
        return False
    return True


def _framed(kind: str, content: bytes) -> bytes:
    return f"{PREFIX} {kind}\n".encode() + content


def require_cryptography(doing: str = "sites sign with") -> None:
    """Raise, with what to install, where the package is not here."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"{doing} the package cryptography, which is not here; pip install 'fedrcd[ledger]'"
        ) from None
