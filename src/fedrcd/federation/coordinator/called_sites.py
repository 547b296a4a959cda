"""What the sites said in the roll call of a run, in its folder: version, editions, and who refuses by which rule."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fedrcd.errors import FileError
from fedrcd.federation.coordinator.run_folder import read_json, write_json
from fedrcd.federation.messages.refusals import WORDS, Refusal
from fedrcd.federation.messages.roll_call import RollCallReply

FILE = "called.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledSite:
    """What a site said of a run: its version of fedrcd, its editions, a bound on their rows, what it would refuse."""

    program: str = ""
    editions: tuple[str, ...] = ()
    rows: int = 0
    refusal: str = ""
    checks: str = ""
    """What it would refuse of the checks after the run."""

    @classmethod
    def of(cls, reply: RollCallReply) -> CalledSite:
        """That in a reply."""
        return cls(
            program=reply.program,
            editions=tuple(block.edition for block in reply.blocks),
            rows=sum(block.rows for block in reply.blocks),
            refusal=_words(reply.refusal),
            checks=_words(reply.checks),
        )


@dataclass(frozen=True, slots=True)
class CalledSites:
    """All sites that were called, when, and for a run of which method."""

    time: str
    method: str
    sites: Mapping[str, CalledSite]

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write it into the folder of a run."""
        sites = {name: asdict(one) for name, one in self.sites.items()}
        write_json(Path(folder) / FILE, {"time": self.time, "method": self.method, "sites": sites})

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> CalledSites | None:
        """What is in the folder of a run, if there was a roll call."""
        path = Path(folder) / FILE
        if not path.exists():
            return None
        content = read_json(path)
        try:
            said = content["sites"].items()
            sites = {name: CalledSite(**{**one, "editions": tuple(one["editions"])}) for name, one in said}
            return cls(content["time"], content["method"], sites)
        except (TypeError, KeyError, AttributeError):
            raise FileError(f"cannot read {path}: it is not what fedrcd wrote") from None


def _words(code: str | None) -> str:
    return "" if code is None else WORDS[Refusal(code)]
