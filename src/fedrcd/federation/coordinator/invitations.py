"""Sites that are invited: what they are to hold, their public keys, and the kit that they start from."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, federation_lines
from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.coordinator.run_folder import read_json, write_json
from fedrcd.federation.messages.keys import fingerprint_of, public_text, require_site_key
from fedrcd.methods.auto import scale_free_default
from fedrcd.suggest import did_you_mean

FILE = "invitations.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """A site that is invited: its name, its columns, its block of about so many rows, its public key if known."""

    name: str
    columns: tuple[str, ...]
    block: str
    rows: int
    key: str = ""
    time: str = ""
    who: str = ""

    def joined(self, federation: Federation) -> Federation:
        """The federation with this site; `ConfigError` where it cannot be in it."""
        if any(site.name == self.name for site in federation.sites):
            raise ConfigError(f"there is a site {self.name!r} in the federation")
        site = SiteEntry(self.name, self.columns, (self.block,), self.key)
        known = any(block.label == self.block for block in federation.blocks)
        blocks = federation.blocks if known else (*federation.blocks, BlockEntry(self.block, self.rows))
        return replace(federation, sites=(*federation.sites, site), blocks=blocks)

    @property
    def fingerprint(self) -> str:
        """Of its key, to be compared by telephone."""
        return fingerprint_of(self.key) if self.key else ""


@dataclass(frozen=True, slots=True)
class Invitations:
    """The invitations that are open, in the folder of a coordinator."""

    folder: Path

    @property
    def path(self) -> Path:
        """Their file."""
        return self.folder / FILE

    def open(self) -> list[Invitation]:
        """All of them, oldest first."""
        if not self.path.exists():
            return []
        try:
            listed = read_json(self.path)["invitations"]
            return [Invitation(**{**one, "columns": tuple(one["columns"])}) for one in listed]
        except (TypeError, KeyError):
            raise FileError(f"cannot read {self.path}: it is not what fedrcd wrote") from None

    def find(self, name: str) -> Invitation:
        """That of a site."""
        listed = {one.name: one for one in self.open()}
        if name not in listed:
            raise ConfigError(f"no site {name!r} is invited{did_you_mean(name, listed)}")
        return listed[name]

    def invite(self, federation: Federation, invitation: Invitation) -> None:
        """Invite a site that can be in the federation."""
        invitation.joined(federation)
        self._write([*(one for one in self.open() if one.name != invitation.name), invitation])

    def register(self, federation: Federation, name: str, public: str) -> Invitation:
        """Note the public key of an invited site, which it made itself."""
        require_site_key(public)
        invitation = replace(self.find(name), key=public_text(public))
        self.invite(federation, invitation)
        return invitation

    def drop(self, name: str) -> None:
        """Invite a site no longer."""
        self.find(name)
        self._write([one for one in self.open() if one.name != name])

    def _write(self, invitations: list[Invitation]) -> None:
        write_json(self.path, {"invitations": [asdict(one) for one in invitations]})


def start_up_kit(federation: Federation, invitation: Invitation, *, address: str, authority: Path | None) -> bytes:
    """A ZIP archive with all that an invited site needs but its key, which never leaves it.

    Once the site's key is known the federation file in it has the site.
    """
    is_in = any(site.name == invitation.name for site in federation.sites)
    described = federation if is_in or not invitation.key else invitation.joined(federation)
    files = {"federation.toml": "\n".join(federation_lines(described)) + "\n"}
    if authority is not None:
        try:
            files["ca.crt"] = _certificates_in(authority.read_text(encoding="ascii"))
        except (OSError, ValueError):
            raise FileError(f"cannot read the certificate of the authority, {authority}") from None
    files["invitation.json"] = json.dumps({**asdict(invitation), "address": address}, indent=1) + "\n"
    files["READ-ME.txt"] = _instructions(invitation, address, encrypted=authority is not None)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(f"fedrcd-{invitation.name}/{name}", (2020, 1, 1, 0, 0, 0)), text)
    return packed.getvalue()


def _certificates_in(text: str) -> str:
    """The certificates in a PEM file, and nothing else that may be there: no key leaves with a kit."""
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    found = [part.partition(end)[0] for part in text.split(begin)[1:]]
    if not found:
        raise ValueError("no certificate")
    return "".join(f"{begin}{one}{end}\n" for one in found)


def _instructions(invitation: Invitation, address: str, *, encrypted: bool) -> str:
    """What the people of the site do with the kit."""
    name, key = invitation.name, f"fedrcd-{invitation.name}.key"
    first = f"""You are invited as site {name}.

Columns: {", ".join(invitation.columns)}
Block of rows: {invitation.block}, about {invitation.rows:,} rows
Coordinator: {address}

1. Make a key. It stays with you; nobody else ever needs it.

    ssh-keygen -q -t ecdsa -b 384 -N '' -f {key}

2. Send {key}.pub to the coordinator, and read its fingerprint to them by telephone:

    ssh-keygen -l -f {key}.pub
"""
    if not invitation.key:
        return f"""{first}
3. Then you get this kit again: with a federation file that has you in it.
"""
    trust, method = "--ca ca.crt " if encrypted else "", scale_free_default()
    return f"""{first}
   The coordinator has a key of the fingerprint {invitation.fingerprint}. Is it yours?

3. Compare the fingerprints of all other keys with the people of the other sites, by telephone:

    fedrcd site accept --name {name} --federation federation.toml --state state

4. See what your table would meet, and what a method would make you release. Nothing is connected:

    fedrcd site check --name {name} --federation federation.toml --data YOUR-TABLE --state state
    fedrcd site preview {method} --name {name} --federation federation.toml --data YOUR-TABLE --state state

5. Connect. --approve holds every answer until a person here has approved it.

    fedrcd site serve --name {name} --federation federation.toml --data YOUR-TABLE --state state \\
        --coordinator {address} {trust}--key {key} --approve

6. In a browser: fedrcd site console --state state
"""
