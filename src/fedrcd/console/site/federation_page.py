"""The federation file: what changed in it, the fingerprints of its keys, and a person's word that it is accepted."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from starlette.responses import Response

from fedrcd.console.site.place import SitePlace
from fedrcd.console.tokens import ADMINISTER
from fedrcd.console.web import Page, Visit
from fedrcd.data.federation import Federation, read_federation
from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.messages.requests import federation_digest
from fedrcd.federation.site.accepting import accept_federation, federation_change

PROPOSED = "proposed-federation.toml"
"""In the folder of the site: a file that somebody brought, until it is accepted or given up."""


def pages(place: SitePlace) -> list[Page]:
    """The page of the federation, and what is done there."""

    def proposed() -> Path:
        return place.folder / PROPOSED

    def federation(visit: Visit) -> Response:
        brought = proposed().exists()
        path = proposed() if brought else Path(place.settings.federation)
        described = read_federation(path)
        with place.store() as store:
            change = federation_change(store, described, "the file that was brought" if brought else path.name)
        return visit.show(
            "site/federation.html",
            change=change,
            described=described,
            brought=brought,
            digest=federation_digest(described),
            own=place.settings.name,
            path=place.settings.federation,
        )

    def bring(visit: Visit) -> Response:
        text = visit.form.get("text", "").replace("\r\n", "\n")
        if not text.strip():
            raise ConfigError("choose the file, or paste what is in it")
        with tempfile.TemporaryDirectory(dir=place.folder) as folder:
            trial = Path(folder) / "federation.toml"
            trial.write_text(text, encoding="utf-8")
            try:
                read_federation(trial).site(place.settings.name)
            except ConfigError as problem:
                raise ConfigError(str(problem).removeprefix(f"{trial}: ")) from None
            except FileError:
                raise FileError("this is no federation file") from None
        _write(proposed(), text)
        visit.console.note("brought a federation file to look at", visit.who, hashlib.sha256(text.encode()).hexdigest())
        return visit.back("/federation")

    def give_up(visit: Visit) -> Response:
        proposed().unlink(missing_ok=True)
        return visit.back("/federation", "the file that was brought is gone; nothing changed")

    def accept(visit: Visit) -> Response:
        if not visit.form.get("compared"):
            raise ConfigError("tick that the fingerprints were compared with the other sites: they decide who is who")
        brought, path = proposed().exists(), Path(place.settings.federation)
        described: Federation = read_federation(proposed() if brought else path)
        if visit.form.get("digest") != federation_digest(described):
            raise ConfigError("the file changed since you looked at it; look again")
        with place.store() as store:
            if brought:
                _write(path, proposed().read_text(encoding="utf-8"))
                proposed().unlink()
            accept_federation(store, described, visit.who)
        return visit.back("/federation", "accepted: the file takes effect from now on")

    return [
        Page("/federation", federation, title="Federation"),
        Page("/federation/bring", bring, ADMINISTER, acts=True),
        Page("/federation/give-up", give_up, ADMINISTER, acts=True),
        Page("/federation/accept", accept, ADMINISTER, acts=True),
    ]


def _write(path: Path, text: str) -> None:
    """Replace a file in one step: it is read while it is written."""
    draft = path.with_suffix(".draft")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(path)
    except OSError as problem:
        raise FileError(f"cannot write {path}: {problem.strerror}") from None
