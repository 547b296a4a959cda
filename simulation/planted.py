"""Bugs that are planted in the real code, one at a time: the simulation must find each."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

LIST = Path(__file__).with_name("planted.toml")
SOURCE = Path(__file__).parents[1] / "src" / "fedrcd"


class Planted(NamedTuple):
    """A bug: what it does, and which text of which file is another."""

    name: str
    what: str
    file: str
    old: str
    new: str

    @property
    def module(self) -> str:
        """The module of the file."""
        return "fedrcd." + self.file.removesuffix(".py").replace("/", ".")

    def source(self) -> str:
        """The text of the file, with the bug."""
        text = (SOURCE / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"the planted bug {self.name} does not fit {self.file} any more; mend {LIST.name}")
        return text.replace(self.old, self.new)


def listed() -> list[Planted]:
    """All of them."""
    return [Planted(**one) for one in tomllib.loads(LIST.read_text(encoding="utf-8"))["bug"]]


class _WithBug(importlib.abc.SourceLoader):
    """Loads one module from its file, with a bug."""

    def __init__(self, bug: Planted) -> None:
        self.bug, self.text = bug, bug.source()

    def get_filename(self, fullname: str) -> str:
        """The file that is there."""
        del fullname
        return str(SOURCE / self.bug.file)

    def get_data(self, path: str | bytes) -> bytes:
        """Its text, with the bug."""
        del path
        return self.text.encode()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds that module, and no other."""

    def __init__(self, bug: Planted) -> None:
        self.loader = _WithBug(bug)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module, if it is the one."""
        del path, target
        if fullname != self.loader.bug.module:
            return None
        return importlib.machinery.ModuleSpec(fullname, self.loader, origin=self.loader.get_filename(fullname))


def plant(name: str) -> None:
    """Have a module imported with a bug; before anything of it is."""
    bug = next(one for one in listed() if one.name == name)
    assert bug.module not in sys.modules, "the module was imported before the bug was planted"
    sys.meta_path.insert(0, _Finder(bug))
