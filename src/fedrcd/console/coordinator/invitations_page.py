"""Invitations: who is invited, with which key, the kit that a site starts from, and that it joins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from starlette.responses import Response

from fedrcd.console.coordinator.place import CoordinatorPlace
from fedrcd.console.tokens import ADMINISTER
from fedrcd.console.web import Page, Visit, binary_file
from fedrcd.data.federation import Federation, write_federation
from fedrcd.errors import ConfigError
from fedrcd.federation.coordinator.invitations import Invitation, start_up_kit
from fedrcd.federation.flower.coordinator import SETTINGS, Coordinator, admit
from fedrcd.federation.messages.printable import is_name


def pages(place: CoordinatorPlace) -> list[Page]:
    """What is done with invitations; they are shown with the sites."""

    def invite(visit: Visit) -> Response:
        form, federation = visit.form, place.federation
        name, rows = form.get("name", "").strip(), form.get("rows", "").replace(",", "").strip()
        if not name or not is_name(name) or "/" in name or name.startswith("."):
            raise ConfigError("the name of a site is one line without a slash")
        if not rows.isdecimal():
            raise ConfigError("say about how many rows the site has: a hint, tables may grow and shrink")
        without = {one for one in federation.variables if not form.get(f"column {one}")}
        columns = tuple(one for one in federation.variables if one not in without)
        invitation = Invitation(
            name=name,
            columns=columns,
            block=form.get("block", "").strip() or name,
            rows=int(rows),
            time=place.actions.now(),
            who=visit.who,
        )
        place.invitations.invite(federation, invitation)
        place.actions.note(f"invited site {name}", visit.who)
        return visit.back("/", f"site {name} is invited: give it its start-up kit")

    def key(visit: Visit) -> Response:
        name = visit.form.get("name", "")
        invitation = place.invitations.register(place.federation, name, visit.form.get("key", "").strip())
        place.actions.note(f"noted a public key of site {name}", visit.who, invitation.fingerprint)
        return visit.back(
            "/", f"the key of site {name} has the fingerprint {invitation.fingerprint}: compare it by telephone"
        )

    def drop(visit: Visit) -> Response:
        name = visit.form.get("name", "")
        place.invitations.drop(name)
        place.actions.note(f"invites site {name} no longer", visit.who)
        return visit.back("/", f"site {name} is not invited any more")

    def join(visit: Visit) -> Response:
        invitation = place.invitations.find(visit.form.get("name", ""))
        if not invitation.key:
            raise ConfigError("the site has sent no public key yet")
        if not visit.form.get("compared"):
            raise ConfigError("tick that the fingerprint was compared by telephone: the key decides who the site is")
        described = invitation.joined(place.federation)
        _replace(place.federation_file, described)
        admitted = _admit(place, described)
        place.invitations.drop(invitation.name)
        place.actions.note(f"site {invitation.name} joined the federation", visit.who, invitation.fingerprint)
        more = "" if admitted else "; the coordinator admits it when it is next started"
        return visit.back(
            "/", f"site {invitation.name} is in the federation file{more}. Give the file to all sites: each accepts it"
        )

    def kit(visit: Visit) -> Response:
        name = visit.values["name"]
        packed = kit_of(place, name)
        place.actions.note(f"took the start-up kit of site {name}", visit.who)
        return binary_file(f"fedrcd-{name}.zip", packed, "application/zip")

    return [
        Page("/invite", invite, ADMINISTER, acts=True),
        Page("/invite/key", key, ADMINISTER, acts=True),
        Page("/invite/drop", drop, ADMINISTER, acts=True),
        Page("/invite/join", join, ADMINISTER, acts=True),
        Page("/kits/{name}", kit, ADMINISTER),
    ]


def kit_of(place: CoordinatorPlace, name: str) -> bytes:
    """The start-up kit of a site that is invited or has joined."""
    federation = place.federation
    known = {one.name: one for one in place.invitations.open()}
    joined = {one.name: one for one in federation.sites}
    if name in known:
        invitation = known[name]
    elif name in joined:
        entry, rows = joined[name], {block.label: block.rows for block in federation.blocks}
        label = entry.blocks[0]
        invitation = Invitation(name=name, columns=entry.columns, block=label, rows=rows[label], key=entry.key)
    else:
        raise ConfigError("there is no such site")
    coordinator = Coordinator.read(place.folder) if (place.folder / SETTINGS).exists() else None
    address = f"{coordinator.host}:{coordinator.port}" if coordinator else "HOST:PORT"
    authority = Path(coordinator.authority) if coordinator and coordinator.authority else None
    return start_up_kit(federation, invitation, address=address, authority=authority)


def _replace(path: Path, described: Federation) -> None:
    """Write the federation file anew, and keep the one of before beside it."""
    before = path.with_name(f"{path.name}.before")
    draft = path.with_name(f"{path.name}.draft")
    write_federation(draft, described)
    before.write_bytes(path.read_bytes())
    draft.replace(path)


def _admit(place: CoordinatorPlace, described: Federation) -> bool:
    """Have a coordinator that runs admit the new key; whether it did."""
    if not (place.folder / SETTINGS).exists():
        return False
    coordinator = Coordinator.read(place.folder)
    if not coordinator.is_running or coordinator.insecure:
        return coordinator.insecure
    replace(coordinator, nodes=admit(coordinator, described)).write()
    return True
