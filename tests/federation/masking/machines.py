"""Federations of machines whose sites have keys, for masked runs over them."""

from functools import cache

import pytest

from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import RetryPolicy
from fedrcd.federation.messages.envelope import pack_message, unpack_message
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.federation.site.masked import REPLIES
from tests.federation.sites import NAMES, horizontal

pytest.importorskip("cryptography")


@cache
def site_key(name):
    """A registered key; one that a test makes is made once."""
    return SiteKey.fresh()


def public_keys(names=NAMES):
    return {name: site_key(name).public for name in names}


def write_keys(folder, names=NAMES):
    """Private keys as files: a folder for each, as the witness of its store lies beside it."""
    from cryptography.hazmat.primitives import serialization as form

    for name in names:
        (folder / "keys" / name).mkdir(parents=True, exist_ok=True)
        private = site_key(name).private
        text = private.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
        (folder / "keys" / name / "key").write_bytes(text)


def keyed(folder, names=NAMES, make=horizontal, **more):
    """A federation whose sites have keys, and settings that name them."""
    disk = make(folder, keys=public_keys(names), names=names, **more)
    return with_keys(disk, folder, names)


def apart(disk, folder):
    """The same tables with stores, keys and results elsewhere: a key belongs to one store."""
    return with_keys(disk.apart(folder), folder, [site.name for site in disk.federation.sites])


def with_keys(disk, folder, names=NAMES):
    write_keys(folder, names)
    plain = disk.settings

    def settings(name, **changes):
        return plain(name, **{"key": str(folder / "keys" / name / "key"), "trust_coordinator": False, **changes})

    disk.settings = settings
    return disk


class Relay:
    """Carries messages to the services of sites; `change` may replace a request, or a reply, of a site.

    `down` are sites that do not answer: nobody, or a message later.
    """

    def __init__(self, disk, change=None, **settings):
        self.services = {site.name: disk.service(site.name, **settings) for site in disk.federation.sites}
        self.change = change or (lambda _, message: message)
        self.sent = []
        self.down = set()

    def deliver(self, packets, seconds):  # noqa: ARG002
        from fedrcd.federation.coordinator.gather import Fault

        for site, packet in packets.items():
            asked = self.change(site, unpack_message(packet, tuple(REPLIES)))
            if site in self.down:
                yield site, Fault.SILENT
                continue
            reply = unpack_message(self.services[site].respond(pack_message(asked)), REPLIES[type(asked)])
            reply = self.change(site, reply)
            self.sent.append((site, asked, reply))
            yield site, pack_message(reply)


def masked_plan(disk, method="fedrcd-s", **changes):
    options = {"masked": True, **changes.pop("options", {})}
    policy = RetryPolicy(deadline=1.0, give_up_after=0.0, pause=0.01)
    return disk.plan(method, **{"retry_policy": policy, "options": options, **changes})


def conducted(disk, relay, method="fedrcd-s", *, names=None, said=None, **changes):
    """What a masked run finds over a relay; `said` hears what is said meanwhile."""
    hear = (lambda _: None) if said is None else said.append
    plan = masked_plan(disk, method, **changes)
    names = names or [site.name for site in disk.federation.sites]
    return Conductor(plan, disk.federation, say=hear).run(relay, names)
