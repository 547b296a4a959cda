"""The file that describes a federation: its variables, its sites and the blocks of rows they hold.

::

    variables = ["age", "bmi"]  # this order breaks every tie
    id_column = "id"            # at the sites: which row it is
    block_column = "block"      # at the sites: which block the row belongs to
    unit = "row"                # who is protected: a row, or a subject with several rows that share an identifier
    trial = false               # true: made-up data, rules may be switched off, nothing need be signed
    development_keys = false    # true: one machine made all keys, and can take masks off
    colluding = 1               # masks hide every site from the coordinator and so many of the others together
    lags = 0                    # steps of time that every row goes back: the sites put each beside those before it
    time_column = ""            # at the sites, with lags: when a row was; without, rows lie in order
    step = 0.0                  # with time_column: how far apart rows are; days for dates, seconds for times
    subject_column = ""         # with lags and unit = "row": whose series a row is of; a subject is its identifier

    [frame.age]                 # optional: what the variable is centred by and divided by
    centre = 50.0
    scale = 10.0
    unit = "years"

    [agreed]                    # optional: what sites take in runs of several rounds without a person's approval
    within = "none"
    options = {}
    knowledge = {tiers = [["age"], ["bmi"]]}

    [[site]]                    # in this order: of several sites that hold the same, the first answers
    name = "hospital-a"
    key = "..."                 # optional: the public key it answers under
    columns = ["age", "bmi"]
    blocks = ["2021"]

    [[block]]
    label = "2021"
    rows = 2000                 # about how many; a hint

Nothing in it is data: every site and the coordinator can have the same copy.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedrcd.data.agreed import Agreed
from fedrcd.data.toml_file import read_toml
from fedrcd.errors import ConfigError, FileError
from fedrcd.graphs.past_names import past_names, steps_back
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.frame import Frame
from fedrcd.suggest import did_you_mean

MOST_ROWS = 2**40
UNITS = ("row", "subject")


@dataclass(frozen=True, slots=True)
class VariableFrame:
    """Where the values of one variable lie, roughly: z = (x - centre) / scale."""

    centre: float
    scale: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class SiteEntry:
    """One site: its columns, the same for all its blocks, and the public key it answers under."""

    name: str
    columns: tuple[str, ...]
    blocks: tuple[str, ...]
    key: str = ""


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """One set of rows; sites that share it hold columns of the same rows."""

    label: str
    rows: int


@dataclass(frozen=True, slots=True)
class Federation:
    """What a federation file says; made only if it is consistent.

    With `lags`, variables, columns and frames are those of rows with their past, as `with_past` makes them of a file's.

    Parameters
    ----------
    variables : (p,) tuple of str
        All variables, in the order that breaks every tie.
    sites : tuple of SiteEntry
        In the order in which they answer for what several of them hold.
    blocks : tuple of BlockEntry
        All blocks of rows.
    frame : mapping of str to VariableFrame
        Frames of the variables that have one; may be empty.
    id_column, block_column : str
        Columns of the sites' tables that say which row it is and of which block; never variables.
    unit : {"row", "subject"}
        Who is protected: every row, or a subject, who may have several rows under one identifier.
    trial : bool
        Whether the data are made up: then rules may be switched off, and nothing need be signed.
    development_keys : bool
        Whether `fedrcd keys init` made the keys of all sites in one place: whoever has them can take masks off.
    colluding : int
        Under masks, how many sites may collude with the coordinator without learning the sums of another.
    agreed : Agreed
        What sites take in runs of several rounds without a person's approval.
    lags : int
        Steps of time that every row goes back.
    time_column, subject_column : str
        Columns of the sites' tables that say when a row was, and whose series it is of where that is no person; empty
        where rows lie in their order, and in one series. A subject's series is known by its identifier.
    step : float
        How far apart rows are, in the unit of the times.

    Raises
    ------
    ConfigError
        One line that names the table and the key of the file.
    """

    variables: tuple[str, ...]
    sites: tuple[SiteEntry, ...]
    blocks: tuple[BlockEntry, ...]
    frame: Mapping[str, VariableFrame] = field(default_factory=dict)
    id_column: str = "id"
    block_column: str = "block"
    unit: str = "row"
    trial: bool = False
    colluding: int = 1
    development_keys: bool = False
    agreed: Agreed = field(default_factory=Agreed)
    lags: int = 0
    time_column: str = ""
    subject_column: str = ""
    step: float = 0.0

    def __post_init__(self) -> None:
        _check_variables(self)
        _check_sites(self)
        _check_blocks(self)
        _check_frame(self)
        _check_past(self)
        if self.unit not in UNITS:
            raise ConfigError(f"unit: must be one of {', '.join(map(repr, UNITS))}, got {self.unit!r}")
        if self.agreed.knowledge is not None:
            try:
                self.agreed.knowledge.constraints(self.present, self.lags)
            except ConfigError as problem:
                raise ConfigError(f"[agreed] knowledge: {problem}") from None
        if self.colluding < 1:
            raise ConfigError(f"colluding: must be at least 1, got {self.colluding}")

    @property
    def present(self) -> tuple[str, ...]:
        """The variables of now: all, but for those of steps before."""
        return self.variables[: len(self.variables) // (self.lags + 1)]

    @property
    def single_rows(self) -> bool:
        """Whether rows are protected one by one, and none is part of another: what noise is made for."""
        return self.unit == "row" and not self.lags

    @property
    def rows_of_unit(self) -> int:
        """Rows that one of a site's may be part of, where rows are protected: its own, and those that come after it."""
        return self.lags + 1 if self.unit == "row" else 1

    def with_past(self, lags: int, **more: Any) -> Federation:
        """The same about rows that go so many steps back: every variable has one more name for each of them."""
        past = {before: self.frame[name] for name in self.frame for before in past_names([name], lags)}
        sites = tuple(replace(one, columns=past_names(one.columns, lags)) for one in self.sites)
        variables = past_names(self.variables, lags)
        return replace(self, variables=variables, sites=sites, frame=past, lags=lags, **more)

    def measured(self, site: SiteEntry) -> tuple[str, ...]:
        """The columns that a site's table has: those of now."""
        return site.columns[: len(site.columns) // (self.lags + 1)]

    def layout(self) -> Layout:
        """Who holds what: a holding per site and block, in the order of the file."""
        rows = {block.label: block.rows for block in self.blocks}
        holdings = [
            Holding(site.name, label, site.columns, rows[label]) for site in self.sites for label in site.blocks
        ]
        return Layout(self.variables, tuple(holdings))

    def site(self, name: str) -> SiteEntry:
        """What the file says of a site."""
        names = [site.name for site in self.sites]
        if name not in names:
            raise ConfigError(f"there is no site {name!r} in the federation{did_you_mean(name, names)}")
        return self.sites[names.index(name)]

    def units(self) -> dict[str, str]:
        """The units of the variables that have one."""
        return {name: one.unit for name, one in self.frame.items() if one.unit}

    def declared_frame(self) -> Frame | None:
        """The frame that the file declares, if it does for every variable."""
        if any(name not in self.frame for name in self.variables):
            return None
        declared = [self.frame[name] for name in self.variables]
        return Frame(np.array([one.centre for one in declared]), np.array([one.scale for one in declared]))


def read_federation(path: str | os.PathLike[str]) -> Federation:
    """The federation that a file describes.

    Raises
    ------
    FileError
        When the file cannot be read or is not TOML; the message has the line.
    ConfigError
        When it says something wrong; the message names the file, the table and the key.
    """
    content = read_toml(Path(path))
    try:
        return _federation(content)
    except ConfigError as problem:
        raise ConfigError(f"{path}: {problem}") from None


def read_frames(path: str | os.PathLike[str]) -> dict[str, VariableFrame]:
    """The frames of variables in a file: as `fedrcd frame propose` prints them, or of a federation.

    Raises
    ------
    FileError, ConfigError
        As `read_federation`; and where there is no frame.
    """
    content = read_toml(Path(path))
    frame = content.get("frame")
    if not isinstance(frame, dict) or not frame:
        raise ConfigError(f"{path}: has no [frame.NAME], with centre and scale, of any variable")
    try:
        return {
            name: _require_usable(name, _variable_frame(table, f"[frame.{_key(name)}]"))
            for name, table in frame.items()
        }
    except ConfigError as problem:
        raise ConfigError(f"{path}: {problem}") from None


def write_federation(path: str | os.PathLike[str], federation: Federation) -> None:
    """Write a file that `read_federation` makes the same federation of; an existing one is replaced.

    Raises
    ------
    FileError
        When the file cannot be written.
    """
    try:
        Path(path).write_text("\n".join(federation_lines(federation)) + "\n", encoding="utf-8", newline="\n")
    except OSError as problem:
        raise FileError(f"cannot write {path}: {problem.strerror}") from None


def _check_variables(federation: Federation) -> None:
    variables = federation.variables
    if len(variables) < 2:
        raise ConfigError(f"variables: at least 2 are needed, got {len(variables)}")
    _require_distinct(variables, "variables")
    _require_distinct((federation.id_column, federation.block_column), "id_column, block_column")
    for key, column in (("id_column", federation.id_column), ("block_column", federation.block_column)):
        if column in variables:
            raise ConfigError(f"{key}: {column!r} is also in variables; labels of rows are never variables")
    held = {column for site in federation.sites for column in site.columns}
    for name in variables:
        if name not in held:
            raise ConfigError(f"variables: no [[site]] has {name!r} in its columns")


def _check_past(federation: Federation) -> None:
    """Refuse a past that sites cannot form all alike."""
    if federation.lags < 0:
        raise ConfigError(f"lags: must be at least 0, got {federation.lags}")
    if steps_back(federation.variables) != federation.lags:
        raise ConfigError("variables: names that end in [t-1] are those of a step before, which lags = 1 makes")
    time, subject = federation.time_column, federation.subject_column
    for key in ("time_column", "subject_column", "step") if not federation.lags else ():
        if getattr(federation, key):
            raise ConfigError(f"{key}: needs lags, the number of steps that every row goes back")
    if bool(time) != (federation.step > 0) or not math.isfinite(federation.step):
        raise ConfigError("step: must be above 0 with time_column, and go with it: how far apart rows are, everywhere")
    if subject and federation.unit == "subject":
        raise ConfigError("subject_column: unit = 'subject' says that id_column is whose series a row is of")
    named = [("time_column", time), ("subject_column", subject)]
    columns = [name for _, name in named if name]
    _require_distinct([*columns, federation.id_column, federation.block_column], "time_column, subject_column")
    for key, column in named:
        if column in federation.variables:
            raise ConfigError(f"{key}: {column!r} is also in variables; when and whose a row is are never variables")


def _check_sites(federation: Federation) -> None:
    _require_distinct([site.name for site in federation.sites], "[[site]] name")
    _require_distinct([site.key for site in federation.sites if site.key], "[[site]] key")
    labels = [block.label for block in federation.blocks]
    for site in federation.sites:
        where = f"[[site]] {site.name!r}"
        _require_known(site.columns, federation.variables, "variable", f"{where} columns")
        _require_known(site.blocks, labels, "block", f"{where} blocks")


def _check_blocks(federation: Federation) -> None:
    _require_distinct([block.label for block in federation.blocks], "[[block]] label")
    held = {label for site in federation.sites for label in site.blocks}
    for block in federation.blocks:
        where = f"[[block]] {block.label!r}"
        if not 1 <= block.rows <= MOST_ROWS:
            raise ConfigError(f"{where} rows: must be between 1 and {MOST_ROWS}, got {block.rows}")
        if block.label not in held:
            raise ConfigError(f"{where} label: no [[site]] has it in its blocks")


def _check_frame(federation: Federation) -> None:
    for name, frame in federation.frame.items():
        if name not in federation.variables:
            raise ConfigError(f"[frame]: there is no variable {name!r}{did_you_mean(name, federation.variables)}")
        _require_usable(name, frame)


def _require_usable(name: str, frame: VariableFrame) -> VariableFrame:
    """The frame of a variable, if rows can be expressed in it."""
    where = f"[frame.{_key(name)}]"
    if not math.isfinite(frame.centre):
        raise ConfigError(f"{where} centre: must be finite, got {frame.centre}")
    if not 0 < frame.scale < math.inf:
        raise ConfigError(f"{where} scale: must be above 0 and finite, got {frame.scale}")
    return frame


def _require_distinct(names: Sequence[str], where: str) -> None:
    """Refuse empty and repeated names."""
    for name, count in Counter(names).items():
        if not name.strip():
            raise ConfigError(f"{where}: an entry is empty")
        if count > 1:
            raise ConfigError(f"{where}: {name!r} is there twice")


def _require_known(names: Sequence[str], known: Collection[str], what: str, where: str) -> None:
    """Refuse a list that is empty, repeats a name or has one that is not known."""
    if not names:
        raise ConfigError(f"{where}: at least one {what} is needed")
    _require_distinct(names, where)
    for name in names:
        if name not in known:
            raise ConfigError(f"{where}: there is no {what} {name!r}{did_you_mean(name, known)}")


class _ValueKind(NamedTuple):
    """What a value of the file must be: in words, as a test, and what becomes of it."""

    words: str
    fits: Callable[[Any], bool]
    convert: Callable[[Any], Any]


def _all(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


TEXT = _ValueKind("a string", lambda value: isinstance(value, str), str)
TEXTS = _ValueKind("a list of strings", lambda value: _all(value, str), tuple)
COUNT = _ValueKind("a whole number", lambda value: type(value) is int, int)
NUMBER = _ValueKind(
    "a finite number", lambda value: type(value) in (int, float) and abs(value) <= sys.float_info.max, float
)
FLAG = _ValueKind("true or false", lambda value: isinstance(value, bool), bool)
TABLE = _ValueKind("a table", lambda value: isinstance(value, dict), dict)
TABLES = _ValueKind("one or more tables in double brackets", lambda value: _all(value, dict), list)


class _Keys(NamedTuple):
    """The keys of a table of the file, and what each holds."""

    required: Mapping[str, _ValueKind]
    optional: Mapping[str, _ValueKind]


KEYS = {
    "the file": _Keys(
        {"variables": TEXTS, "site": TABLES, "block": TABLES},
        {
            "frame": TABLE,
            "agreed": TABLE,
            "id_column": TEXT,
            "block_column": TEXT,
            "unit": TEXT,
            "trial": FLAG,
            "development_keys": FLAG,
            "colluding": COUNT,
            "lags": COUNT,
            "time_column": TEXT,
            "subject_column": TEXT,
            "step": NUMBER,
        },
    ),
    "[frame.NAME]": _Keys({"centre": NUMBER, "scale": NUMBER}, {"unit": TEXT}),
    "[agreed]": _Keys({}, {"within": TEXT, "options": TABLE, "knowledge": TABLE}),
    "[[site]]": _Keys({"name": TEXT, "columns": TEXTS, "blocks": TEXTS}, {"key": TEXT}),
    "[[block]]": _Keys({"label": TEXT, "rows": COUNT}, {}),
}
"""Every key that there is; `docs/federation-file.md` tells each of them."""


def _federation(content: Mapping[str, Any]) -> Federation:
    """The federation in parsed TOML; the defaults of missing keys are those of the dataclasses."""
    fields = _fields(content, "the file", KEYS["the file"])
    sites, blocks, frame = fields.pop("site"), fields.pop("block"), fields.pop("frame", {})
    agreed = fields.pop("agreed", {})
    of_time = {key: fields.pop(key) for key in ("lags", "time_column", "subject_column", "step") if key in fields}
    lags = of_time.pop("lags", 0)
    federation = Federation(
        sites=tuple(_site(table, f"[[site]] {k}") for k, table in enumerate(sites, 1)),
        blocks=tuple(_block(table, f"[[block]] {k}") for k, table in enumerate(blocks, 1)),
        frame={name: _variable_frame(table, f"[frame.{_key(name)}]") for name, table in frame.items()},
        agreed=Agreed.read(_fields(agreed, "[agreed]", KEYS["[agreed]"])),
        **fields,
    )
    return federation.with_past(lags, **of_time) if lags > 0 else replace(federation, lags=lags, **of_time)


def _site(table: Mapping[str, Any], where: str) -> SiteEntry:
    return SiteEntry(**_fields(table, where, KEYS["[[site]]"]))


def _block(table: Mapping[str, Any], where: str) -> BlockEntry:
    return BlockEntry(**_fields(table, where, KEYS["[[block]]"]))


def _variable_frame(table: object, where: str) -> VariableFrame:
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: must be a table with centre and scale, got {_said(table)}")
    return VariableFrame(**_fields(table, where, KEYS["[frame.NAME]"]))


def _fields(table: Mapping[str, Any], where: str, keys: _Keys) -> dict[str, Any]:
    """Converted values of a table that has all required keys and no unknown ones."""
    kinds = {**keys.required, **keys.optional}
    for key in table:
        if key not in kinds:
            hint = did_you_mean(key, kinds) or f"; the keys are {', '.join(kinds)}"
            raise ConfigError(f"{where} has an unknown key {key!r}{hint}")
    for key in keys.required:
        if key not in table:
            raise ConfigError(f"{where} lacks the key {key!r}")
    for key, value in table.items():
        if not kinds[key].fits(value):
            raise ConfigError(f"{where} {key}: must be {kinds[key].words}, got {_said(value)}")
    return {key: kinds[key].convert(value) for key, value in table.items()}


def _said(value: object) -> str:
    """What a value of another kind is called in a message."""
    names = {str: "a string", bool: "a boolean", int: "a whole number", float: "a number", dict: "a table"}
    return names.get(type(value), "a list of other things" if isinstance(value, list) else "something else")


def federation_lines(federation: Federation) -> Iterator[str]:
    """Lines of the file."""
    yield f"variables = {_texts(federation.present)}  # this order breaks every tie"
    yield f"id_column = {_text(federation.id_column)}"
    yield f"block_column = {_text(federation.block_column)}"
    if federation.unit != "row":
        yield f"unit = {_text(federation.unit)}"
    if federation.trial:
        yield "trial = true"
    if federation.development_keys:
        yield "development_keys = true"
    if federation.colluding != 1:
        yield f"colluding = {federation.colluding}"
    if federation.lags:
        yield f"lags = {federation.lags}"
    for key in ("time_column", "subject_column"):
        if getattr(federation, key):
            yield f"{key} = {_text(getattr(federation, key))}"
    if federation.step:
        yield f"step = {federation.step!r}"
    yield from frame_lines({name: one for name, one in federation.frame.items() if name in federation.present})
    if federation.agreed != Agreed():
        yield from federation.agreed.lines()
    for site in federation.sites:
        yield from ("", "[[site]]", f"name = {_text(site.name)}")
        if site.key:
            yield f"key = {_text(site.key)}"
        yield f"columns = {_texts(federation.measured(site))}"
        yield f"blocks = {_texts(site.blocks)}"
    for block in federation.blocks:
        yield from ("", "[[block]]", f"label = {_text(block.label)}", f"rows = {block.rows}")


def frame_lines(frames: Mapping[str, VariableFrame]) -> Iterator[str]:
    """The frames of variables as the file has them."""
    for name, frame in frames.items():
        yield from ("", f"[frame.{_key(name)}]")
        yield f"centre = {float(frame.centre)!r}"
        yield f"scale = {float(frame.scale)!r}"
        if frame.unit:
            yield f"unit = {_text(frame.unit)}"


def _text(value: str) -> str:
    """A TOML string; JSON escapes the same characters but for one."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _texts(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _key(name: str) -> str:
    """A TOML key, quoted where it must be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)
