"""A changed federation file takes effect in masked runs once a person here has seen what changed, and accepted it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff

from fedrcd.data.federation import Federation, federation_lines
from fedrcd.federation.messages.keys import fingerprint_of
from fedrcd.federation.site.log import DECIDED, LogEntry
from fedrcd.federation.site.store import Store


@dataclass(frozen=True, slots=True)
class FederationChange:
    """What a federation file says other than the one that was accepted, and the fingerprint of every key in it."""

    lines: tuple[str, ...]
    fingerprints: tuple[tuple[str, str], ...]
    is_accepted: bool
    is_first: bool


def federation_change(store: Store, federation: Federation, named: str) -> FederationChange:
    """What a person has to look at before accepting a federation file; `named` is what it is called."""
    before, now = store.masked.accepted().splitlines(), list(federation_lines(federation))
    return FederationChange(
        tuple(unified_diff(before, now, "accepted", named, lineterm="", n=0)),
        tuple((site.name, fingerprint_of(site.key) if site.key else "none") for site in federation.sites),
        before == now,
        not before,
    )


def accept_federation(store: Store, federation: Federation, who: str) -> None:
    """A person's word that what changed was seen, and fingerprints compared."""
    store.masked.accept("\n".join(federation_lines(federation)))
    keys = sum(bool(site.key) for site in federation.sites)
    said = f"accepted the federation file: {len(federation.sites)} sites, {keys} keys"
    store.append([LogEntry(time=store.now(), round=0, question=said, outcome=DECIDED, who=who)])
