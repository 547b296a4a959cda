"""A courier to sites in this process, with whatever faults a test wants."""

from collections import Counter

from fedrcd.federation.messages.envelope import is_message
from fedrcd.federation.messages.requests import pack_reply, unpack_reply, unpack_request


class Direct:
    """Carries packets to the services of sites; `faults` maps a site to what happens instead, try by try.

    An entry is a fault, a function from the true reply (unpacked) to another reply or a packet, or None for the truth.
    """

    def __init__(self, disk, faults=None, **settings):
        self.services = {site.name: disk.service(site.name, **settings) for site in disk.federation.sites}
        self.faults = {site: list(entries) for site, entries in (faults or {}).items()}
        self.asked = Counter()

    def deliver(self, packets, seconds):  # noqa: ARG002
        for site, packet in packets.items():
            if is_message(packet):  # the roll call; faults are those of answers
                yield site, self.services[site].respond(packet)
                continue
            self.asked[site, unpack_request(packet).round] += 1
            fault = self.faults[site].pop(0) if self.faults.get(site) else None
            if fault is None:
                yield site, self.services[site].respond(packet)
            elif callable(fault):
                changed = fault(unpack_reply(self.services[site].respond(packet)))
                yield site, pack_reply(changed) if hasattr(changed, "digest") else changed
            else:
                yield site, fault
