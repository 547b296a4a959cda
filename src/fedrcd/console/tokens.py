"""Who may do what at a console: tokens by role, kept as digests in a file beside the store."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.messages.printable import is_name
from fedrcd.federation.surroundings import REAL, Surroundings

VIEW, APPROVE, ADMINISTER = "view", "approve", "administer"
ROLES = (VIEW, APPROVE, ADMINISTER)
"""Each may do what those before it may."""

FILE = "console-tokens.json"

TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who was let in. `digest` is that of the token; empty for who came by the start link."""

    name: str
    role: str
    digest: str = ""

    def may(self, role: str) -> bool:
        """Whether the role is enough."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def __str__(self) -> str:
        return f"{self.name} ({self.role})"


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept: whose, of which role, since when, and its digest."""

    name: str
    role: str
    time: str
    digest: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a console, in the folder of its site or coordinator."""

    folder: Path
    surroundings: Surroundings = REAL

    @property
    def path(self) -> Path:
        """Their file, which only its owner can read."""
        return self.folder / FILE

    def make(self, role: str, name: str) -> str:
        """A new token; it is shown once and kept nowhere. One of the same name is withdrawn."""
        if role not in ROLES:
            raise ConfigError(f"--role must be one of {', '.join(ROLES)}, got {role!r}")
        if not name.strip() or not is_name(name):
            raise ConfigError("--name must say whose token it is, in one line")
        text = "fedrcd-" + self.surroundings.token_bytes(TOKEN_BYTES).hex()
        time = self.surroundings.now().isoformat(timespec="seconds")
        self._write([*self._others(name), Token(name, role, time, _digest(text))])
        return text

    def withdraw(self, name: str) -> None:
        """A token is no longer good, and who came by it is out."""
        others = self._others(name)
        if len(others) == len(self.kept()):
            known = ", ".join(repr(one.name) for one in others) or "none"
            raise ConfigError(f"there is no token of {name!r}; there are: {known}")
        self._write(others)

    def kept(self) -> list[Token]:
        """All tokens that are good."""
        try:
            return [Token(**one) for one in json.loads(self.path.read_text(encoding="utf-8"))]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError):
            raise FileError(f"cannot read the tokens in {self.path}; delete the file and make new ones") from None

    def visitor(self, text: str) -> Visitor | None:
        """Who a token belongs to."""
        return self.visitor_of_digest(_digest(text))

    def visitor_of_digest(self, digest: str) -> Visitor | None:
        """Who came by a token of a digest, if that is still good."""
        found = [one for one in self.kept() if hmac.compare_digest(one.digest, digest)]
        return Visitor(found[0].name, found[0].role, digest) if found else None

    def _others(self, name: str) -> list[Token]:
        return [one for one in self.kept() if one.name != name]

    def _write(self, tokens: list[Token]) -> None:
        draft = self.path.with_suffix(".draft")
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(json.dumps([asdict(one) for one in tokens], indent=1) + "\n")
            draft.replace(self.path)
        except OSError as problem:
            raise FileError(f"cannot write {self.path}: {problem.strerror}") from None


def _digest(text: str) -> str:
    """Of 32 random bytes: nobody guesses what it is of, so nothing slower is needed."""
    return hashlib.sha256(text.strip().encode()).hexdigest()
