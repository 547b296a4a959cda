"""Keys and certificates: whose key it is, and a development authority for those who have none yet."""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrcd.errors import ConfigError, FileError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

DAYS = 365
"""How long a development certificate is good for."""


def public_text(line: str) -> str:
    """Type and body of an OpenSSH public key, without its comment."""
    return " ".join(line.split()[:2])


def same_key(text: str, pem: bytes) -> bool:
    """Whether an OpenSSH public key and one in PEM, as Flower keeps it, are the same."""
    if not text or not pem:
        return False
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form

    try:
        key = form.load_pem_public_key(pem)
        known = form.load_ssh_public_key(public_text(text).encode())
    except (ValueError, UnsupportedAlgorithm):
        return False
    return _der(key) == _der(known)


def private_key_in(path: str | os.PathLike[str]) -> Any:
    """The private key in a file, in OpenSSH form."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form

    try:
        return form.load_ssh_private_key(Path(path).expanduser().read_bytes(), None)
    except OSError as problem:
        raise FileError(f"cannot read the key {path}: {problem.strerror}") from None
    except (ValueError, UnsupportedAlgorithm, TypeError):
        raise FileError(
            f"{path} is not an OpenSSH private key without a passphrase; make one with `fedrcd keys init`"
        ) from None


def require_site_key(text: str) -> None:
    """Raise unless a text is the public key of a site: ECDSA on P-384, in OpenSSH form."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, EllipticCurvePublicKey

    if "PRIVATE KEY" in text:
        raise ConfigError(
            "this is a PRIVATE key: it must not leave its site. Make a new one; send the file ending in .pub"
        )
    try:
        key = form.load_ssh_public_key(public_text(text).encode())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP384R1):
        raise ConfigError(
            "this is no public key of `ssh-keygen -t ecdsa -b 384`: one line that begins with ecdsa-sha2-nistp384"
        )


def fingerprint_of(public: str) -> str:
    """The fingerprint of a public key as `ssh-keygen -l` prints it, to be compared by telephone."""
    try:
        data = base64.b64decode(public_text(public).split()[1], validate=True)
    except (IndexError, ValueError):
        return "none"
    return "SHA256:" + base64.b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def public_key_of(path: str | os.PathLike[str]) -> str:
    """The OpenSSH public key that belongs to a private key file."""
    from cryptography.hazmat.primitives import serialization as form

    key = private_key_in(path).public_key()
    text: bytes = key.public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    return text.decode()


@dataclass(frozen=True, slots=True)
class Authority:
    """A development certificate authority: signs for this federation, trusted by nobody else."""

    key: EllipticCurvePrivateKey
    certificate: x509.Certificate


def make_development_keys(folder: Path, sites: Sequence[str], hosts: Sequence[str]) -> dict[str, str]:
    """Write an authority, a server certificate for the hosts and a key per site; their public keys by site.

    Files: ca.crt, ca.key, server.pem, server.key, and NAME (private) and NAME.pub per site. None may exist yet.
    """
    names = ["ca.crt", "ca.key", "server.pem", "server.key", *sites, *(f"{site}.pub" for site in sites)]
    for name in names:
        if "/" in name or name in {".", ".."}:
            raise ConfigError(f"a site called {name!r} cannot have key files")
        if (folder / name).exists():
            raise FileError(f"{folder / name} exists; keys are never replaced: choose another folder")
    from cryptography.hazmat.primitives import serialization as form

    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        authority = _authority()
        server = _server(authority, [*hosts, "localhost", "127.0.0.1"])
        for name, pair in (("ca", authority), ("server", server)):
            _write(folder / f"{name}.key", _pem(pair.key), private=True)
            ending = "crt" if name == "ca" else "pem"
            _write(folder / f"{name}.{ending}", pair.certificate.public_bytes(form.Encoding.PEM))
        return {site: _site_key(folder, site) for site in sites}
    except OSError as problem:
        raise FileError(f"cannot write keys to {folder}: {problem.strerror}") from None


def _site_key(folder: Path, site: str) -> str:
    from cryptography.hazmat.primitives import serialization as form

    key = _new_key()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
    public = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    _write(folder / site, private, private=True)
    _write(folder / f"{site}.pub", public + b"\n")
    return public.decode()


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP384R1())


def _pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization as form

    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())


def _der(key: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization as form

    encoded: bytes = key.public_bytes(form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(encoded)


def _authority() -> Authority:
    from cryptography import x509

    key = _new_key()
    name = _name("fedrcd development authority")
    builder = _builder(name, name, key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return Authority(key, _signed(builder, key))


def _server(authority: Authority, hosts: Sequence[str]) -> Authority:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = _new_key()
    builder = _builder(_name(hosts[0]), authority.certificate.subject, key.public_key())
    builder = builder.add_extension(
        x509.SubjectAlternativeName([_alternative(host) for host in dict.fromkeys(hosts)]), critical=False
    )
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    issuer = authority.key.public_key()
    builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
    return Authority(key, _signed(builder, authority.key))


def _builder(subject: x509.Name, issuer: x509.Name, public_key: Any) -> x509.CertificateBuilder:
    from cryptography import x509

    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=5)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=DAYS))
    )


def _signed(builder: x509.CertificateBuilder, key: EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography.hazmat.primitives import hashes

    return builder.sign(key, hashes.SHA384())


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _alternative(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(path: Path, content: bytes, *, private: bool = False) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
