"""How far the log of every site went when it was last heard: a log that was cut or deleted since is noticed.

The coordinator keeps it beside its own files, and says it in the roll call; the site looks whether its log holds it. It
is bound to the site's key: a site that lost its log for good, and says so, takes a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fedrcd.data.federation import Federation
from fedrcd.errors import FileError
from fedrcd.federation.coordinator.run_folder import read_json, write_json

HEADS = "heads.json"
"""Their file in the folder of the coordinator."""


@dataclass(slots=True)
class KnownHeads:
    """The heads of logs by site; without a file they are forgotten with the run."""

    path: Path | None
    keys: Mapping[str, str]
    """The registered key of every site."""
    known: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str, federation: Federation) -> KnownHeads:
        """Those in a file, if there is one."""
        file = Path(path) if path else None
        known = read_json(file) if file is not None and file.exists() else {}
        for site, one in known.items():
            if not (isinstance(one, dict) and {type(one.get("key")), type(one.get("head"))} == {str}):
                raise FileError(f"{path}: what it says of site {site!r} is not what fedrcd wrote")
        return cls(file, {site.name: site.key for site in federation.sites}, known)

    def of(self, site: str) -> str:
        """What a site said last under the key that it has; empty if nothing."""
        said = self.known.get(site, {})
        return said["head"] if said and said["key"] == self.keys.get(site, "") else ""

    def note(self, heads: Mapping[str, str]) -> None:
        """Remember what sites said; on the disk before this returns."""
        news = {site: {"key": self.keys.get(site, ""), "head": head} for site, head in heads.items() if head}
        before = dict(self.known)
        self.known.update(news)
        if self.path is not None and self.known != before:
            write_json(self.path, self.known)
