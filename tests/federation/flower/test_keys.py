"""Development keys: an authority that signs one server, and a key for every site."""

import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.messages.keys import make_development_keys, public_key_of, public_text, same_key


@pytest.fixture
def keys(tmp_path):
    folder = tmp_path / "keys"
    return folder, make_development_keys(folder, ["a", "b"], ["coordinator.example", "192.0.2.7"])


def pem(path):
    key = serialization.load_ssh_private_key(path.read_bytes(), None).public_key()
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def test_the_server_certificate_names_its_hosts_and_this_machine(keys):
    folder, _ = keys
    certificate = x509.load_pem_x509_certificate((folder / "server.pem").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["coordinator.example", "localhost"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["192.0.2.7", "127.0.0.1"]


def test_the_authority_signed_it(keys):
    folder, _ = keys
    authority = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
    x509.load_pem_x509_certificate((folder / "server.pem").read_bytes()).verify_directly_issued_by(authority)
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    context.load_cert_chain(folder / "server.pem", folder / "server.key")


def test_private_files_are_private(keys):
    folder, _ = keys
    for name in ("ca.key", "server.key", "a", "b"):
        assert (folder / name).stat().st_mode & 0o077 == 0


def test_public_keys_belong_to_private_ones(keys):
    folder, public = keys
    for name in ("a", "b"):
        assert public_text(public_key_of(folder / name)) == public_text(public[name])
        assert public_text((folder / f"{name}.pub").read_text()) == public[name]
        assert same_key(public[name] + " somebody@somewhere", pem(folder / name))
    assert not same_key(public["a"], pem(folder / "b"))
    assert not same_key("", pem(folder / "a"))
    assert not same_key("nonsense", pem(folder / "a"))
    assert not same_key(public["a"], b"nonsense")


def test_keys_are_never_replaced(keys):
    folder, _ = keys
    with pytest.raises(FileError, match="keys are never replaced"):
        make_development_keys(folder, ["c"], ["localhost"])


def test_a_name_cannot_lead_elsewhere(tmp_path):
    with pytest.raises(ConfigError, match="cannot have key files"):
        make_development_keys(tmp_path / "keys", ["../escape"], ["localhost"])


def test_something_else_is_no_key(tmp_path):
    (tmp_path / "key").write_text("hello")
    with pytest.raises(FileError, match="not an OpenSSH private key"):
        public_key_of(tmp_path / "key")
    with pytest.raises(FileError, match="cannot read the key"):
        public_key_of(tmp_path / "nowhere")
