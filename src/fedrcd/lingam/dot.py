"""What `make_dot` returns: a graph in the language of Graphviz that is saved, rendered and shown in notebooks.

Methods, arguments, file names and defaults are those of `graphviz.Digraph`, which `lingam` returns.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from fedrcd.errors import ConfigError, FileError

PathLike: TypeAlias = "str | os.PathLike[str]"


class Dot:
    """A graph in Graphviz' language: text in `source`, a picture in notebooks.

    Parameters
    ----------
    source : str
        The text.
    own_svg : callable, optional
        Gives a picture in SVG where Graphviz is not installed.

    Attributes
    ----------
    format : str
        What `render` and `pipe` make: "pdf", "png", "svg" or whatever else Graphviz can.
    engine : str
        The layout of Graphviz.
    filename, directory : str
        Where `save` and `render` write, if not told.
    """

    def __init__(self, source: str, own_svg: Callable[[], str] | None = None) -> None:
        self.source = source
        self.engine = "dot"
        self.filename = "Digraph.gv"
        self.directory = ""
        self._format = "pdf"
        self._own_svg = own_svg

    def __str__(self) -> str:
        return self.source

    @property
    def format(self) -> str:
        """What `render` and `pipe` make."""
        return self._format

    @format.setter  # noqa: A003 - graphviz' name
    def format(self, format: str) -> None:  # noqa: A002 - graphviz' name
        self._format = _word("format", format)

    @property
    def filepath(self) -> str:
        """Where `save` writes the text."""
        return os.path.join(self.directory, self.filename)

    def save(self, filename: PathLike | None = None, directory: PathLike | None = None) -> str:
        """Write the text to a file; its path. Folders are made, and both are kept for the next time."""
        if filename is not None:
            self.filename = os.fspath(filename)
        if directory is not None:
            self.directory = os.fspath(directory)
        _write(self.filepath, self.source.encode())
        return self.filepath

    def render(
        self,
        filename: PathLike | None = None,
        directory: PathLike | None = None,
        *,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,  # noqa: A002 - graphviz' name
        quiet: bool = False,
        outfile: PathLike | None = None,
        engine: str | None = None,
    ) -> str:
        """Write the text to a file and the picture beside it; the path of the picture.

        Parameters
        ----------
        filename, directory
            Where the text goes; the picture's name has the format appended, as in "dag.png".
        view : bool
            Open the picture.
        cleanup : bool
            Remove the text again.
        format, engine : str, optional
            Instead of the attributes of these names.
        quiet : bool
            Do not show what the program has to say.
        outfile : path, optional
            Where the picture goes; its ending is the format, and the text goes beside it with the ending ".gv".
        """
        kind = self._kind(format or _ending(outfile))
        picture = self._drawn(kind, engine, quiet=quiet)
        if outfile is not None and filename is None:
            filename = Path(outfile).with_suffix(".gv")
        text = self.save(filename, directory)
        rendered = f"{text}.{kind}" if outfile is None else os.path.join(self.directory, outfile)
        if os.path.abspath(rendered) == os.path.abspath(text):
            raise ConfigError(f"outfile must be another file than the text, got {text!r}")
        _write(rendered, picture)
        if cleanup:
            os.remove(text)
        if view:
            webbrowser.open(Path(rendered).resolve().as_uri())
        return rendered

    def view(
        self,
        filename: PathLike | None = None,
        directory: PathLike | None = None,
        *,
        cleanup: bool = False,
        quiet: bool = False,
    ) -> str:
        """Render, and open the picture."""
        return self.render(filename, directory, view=True, cleanup=cleanup, quiet=quiet)

    def pipe(
        self,
        format: str | None = None,  # noqa: A002 - graphviz' name
        *,
        quiet: bool = False,
        engine: str | None = None,
        encoding: str | None = None,
    ) -> bytes | str:
        """The picture as bytes, or as text in an encoding; no file is written."""
        picture = self._drawn(self._kind(format), engine, quiet=quiet)
        return picture if encoding is None else picture.decode(encoding)

    def _repr_svg_(self) -> str | None:
        """The picture for a notebook, or nothing where it cannot be drawn."""
        try:
            return self._drawn("svg", None, quiet=True).decode()
        except FileError:
            return None

    def _kind(self, given: str | None) -> str:
        return self.format if given is None else _word("format", given)

    def _drawn(self, kind: str, engine: str | None, *, quiet: bool) -> bytes:
        """The picture, by the program of Graphviz; SVG by our own drawing where there is none."""
        program = shutil.which("dot")
        layout = _word("engine", self.engine if engine is None else engine)
        if program is None:
            if kind == "svg" and self._own_svg is not None:
                return self._own_svg().encode()
            hint = "" if self._own_svg is None else "; format='svg' works without"
            raise FileError(f"Graphviz is not installed, or its program dot is not on the path{hint}")
        command = [program, f"-K{layout}", f"-T{kind}"]
        done = subprocess.run(command, input=self.source.encode(), capture_output=True, check=False)
        said = done.stderr.decode(errors="replace").strip()
        if done.returncode:
            reason = said.splitlines()[0] if said else f"it ended with {done.returncode}"
            raise FileError(f"dot could not draw the graph: {reason}")
        if said and not quiet:
            print(said, file=sys.stderr)
        return done.stdout


def _write(path: PathLike, content: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        Path(path).write_bytes(content)
    except OSError as problem:
        raise FileError(f"cannot write {os.fspath(path)}: {problem.strerror}") from None


def _ending(outfile: PathLike | None) -> str | None:
    """The format that the name of a picture ends in."""
    if outfile is None:
        return None
    ending = Path(outfile).suffix[1:]
    if not ending:
        raise ConfigError(f"outfile must end in a format, as in graph.png, got {os.fspath(outfile)!r}")
    return ending


def _word(what: str, given: object) -> str:
    """The name of a format or a layout, in small letters; Graphviz knows which there are."""
    if not isinstance(given, str) or not re.fullmatch(r"[\w.-]+", given):
        raise ConfigError(f"{what} must be a name that Graphviz knows, got {given!r}")
    return given.lower()
