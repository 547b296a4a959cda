"""The saved form of a discovery: `docs/reference/discovery-format.md` tells every field of it.

Version 2 adds effects that are not identified, lagged effects, and fields for privacy, signatures and verification.
Files of version 1 are read, version 2 is written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.errors import FileError
from fedrcd.statistics.coverage import Holding
from fedrcd.typing import Matrix

if TYPE_CHECKING:
    from fedrcd.api.discovery import Discovery, Rival

FAMILY = "fedrcd-discovery"
VERSION = 2
FORMAT = f"{FAMILY}/{VERSION}"

MATRICES = {"confidence": 1.0, "errors": np.inf, "total_errors": np.inf, "errors_before": np.inf}
"""Optional numbers per pair of variables, and the largest each may be."""

ONLY_IF_SET = (
    "state_id",
    "lagged",
    "lagged_errors",
    "response_errors",
    "epsilon",
    "delta",
    "signatures",
    "verified_by",
    "units",
    "left_out",
    "confounded",
    "ancestors",
    "verdict",
    "order_confidence",
    "rivals",
)
"""Fields that are left out of the file where there is nothing to say."""

SINCE = dict.fromkeys(
    (*ONLY_IF_SET[1:], "effects_before", "errors_before"),
    2,
)
"""Fields that older versions of the format do not have, and the first that does."""

BY_STEP = {"lagged": "lagged_effects", "lagged_errors": "lagged_errors", "response_errors": "response_errors"}
"""Matrices by steps of time, under the names of the file, and the fields that they are."""

TEXTS = ("names", "order", "start", "notes")
TUPLES = ("variances", "order_confidence", "standardised_order", "signatures", "verified_by")


def to_text(found: Discovery) -> str:
    """The JSON text of a discovery."""
    apart = {"B", *BY_STEP.values(), *MATRICES, "effects_before", *_records()}
    plain = {name: getattr(found, name) for name in found.__dataclass_fields__ if name not in apart}
    content = {
        "format": FORMAT,
        **plain,
        "B": _with_nulls(found.B),
        **{
            name: {str(step): _with_nulls(values) for step, values in sorted(getattr(found, field).items())}
            for name, field in BY_STEP.items()
        },
        **{
            name: _with_nulls(getattr(found, name))
            for name in (*MATRICES, "effects_before")
            if getattr(found, name) is not None
        },
        **{name: [asdict(record) for record in getattr(found, name)] for name in _records()},
    }
    unset = [name for name in ONLY_IF_SET if not content[name] and not isinstance(content[name], Real)]
    kept = {name: value for name, value in content.items() if name not in unset}
    return json.dumps(kept, indent=1, allow_nan=False, default=_plain)


def from_text(text: str) -> dict[str, Any]:
    """The fields of the discovery that a text holds; errors do not say where the text is from."""
    from fedrcd.api.discovery import Discovery

    try:
        content = json.loads(text)
    except json.JSONDecodeError as problem:
        raise FileError(f"not a discovery: broken JSON in line {problem.lineno}") from None
    version = _version(content)
    for name in content:
        if BY_STEP.get(name, name) not in Discovery.__dataclass_fields__ or name == BY_STEP["lagged"]:
            raise FileError(f"it holds {name!r}, which this version of fedrcd does not know; upgrade fedrcd")
        if SINCE.get(name, 1) > version:
            raise FileError(f"it holds {name!r}, which files of format {FAMILY}/{version} do not have")
    try:
        content.setdefault("holdings", ())  # which older versions did not write
        content.setdefault("confounded", ())
        content.setdefault("rivals", ())
        content |= {name: tuple(make(**one) for one in content[name]) for name, make in _records().items()}
        content["B"] = _matrix(content["B"], nulls=version >= 2)
        content |= {
            name: _matrix(content[name], nulls=version >= 2)
            for name in (*MATRICES, "effects_before")
            if content.get(name) is not None
        }
        content |= {name: tuple(map(str, content[name])) for name in TEXTS}
        content |= {name: tuple(content[name]) for name in TUPLES if name in content}
        if "ancestors" in content:
            content["ancestors"] = tuple((str(cause), str(effect)) for cause, effect in content["ancestors"])
        for name in BY_STEP.keys() & content.keys():
            values = content.pop(name)
            content[BY_STEP[name]] = {int(step): _matrix(one) for step, one in values.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise FileError(f"not a complete discovery: {problem}") from None
    fields: dict[str, Any] = content
    return fields


def require_consistent(found: Discovery) -> None:
    """Raise unless the order is one of the variables and the effects that are identified follow it."""
    p = len(found.names)
    orders = [found.order, *filter(None, (found.start, found.standardised_order))]
    if any(sorted(order) != sorted(found.names) for order in orders) or found.B.shape != (p, p):
        raise FileError("not a discovery: its order or its effects are not those of its variables")
    open_effects = np.isnan(found.B)
    for name, most in MATRICES.items():
        values = getattr(found, name)
        if values is None:
            continue
        right = values.shape == found.B.shape and (open_effects | ((values >= 0) & (values <= most))).all()
        if not right:
            raise FileError(f"not a discovery: its {name} are not one number from 0 to {most} per pair of variables")
    if found.variances and not (len(found.variances) == p and all(v > 0 for v in found.variances)):
        raise FileError("not a discovery: its variances are not those of its variables")
    order = [found.names.index(name) for name in found.order]
    known = np.where(open_effects, 0.0, found.B)
    if not np.isfinite(known).all() or np.triu(known[np.ix_(order, order)]).any() or np.diagonal(open_effects).any():
        raise FileError("not a discovery: its effects do not follow its order")
    for values, least, what in (
        (found.lagged_effects, 1, "lagged effects"),
        (found.lagged_errors, 1, "errors of lagged effects"),
        (found.response_errors, 0, "errors of responses"),
    ):
        if any(step < least or one.shape != (p, p) or np.isinf(one).any() for step, one in values.items()):
            raise FileError(
                f"not a discovery: its {what} are not one matrix of its variables per lag of at least {least}"
            )
    if not all(isinstance(unit, str) for unit in found.units.values()) or not found.units.keys() <= set(found.names):
        raise FileError("not a discovery: its units are not texts by the names of its variables")
    if not all(isinstance(count, int) and count >= 0 for count in found.left_out.values()):
        raise FileError("not a discovery: what its sites left out is not a number of rows by site")
    _require_beside(found)
    _require_pairs(found)
    _require_share("epsilon", found.epsilon, math.inf)
    _require_share("delta", found.delta, 1.0)


def _require_beside(found: Discovery) -> None:
    """Raise unless what stands beside an order is about it, and what rivals find is about its variables."""
    sure = found.order_confidence
    if sure and not (
        len(sure) == len(found.names) - 1 and all(isinstance(one, Real) and 0 <= float(one) <= 1 for one in sure)
    ):
        raise FileError("not a discovery: how sure its order is are not numbers from 0 to 1 between its variables")
    for rival in found.rivals:
        named = {name for edge in rival.edges for name in edge}
        if sorted(rival.order) != sorted(found.names) or not named <= set(found.names):
            raise FileError("not a discovery: a rival's order or edges are not those of its variables")


def _require_pairs(found: Discovery) -> None:
    """Raise unless hidden causes and ancestors are about pairs of variables, and agree with the order."""
    place = {name: at for at, name in enumerate(found.order)}
    for pair in found.confounded:
        number = isinstance(pair.evidence, Real) and float(pair.evidence) >= 0 and math.isfinite(float(pair.evidence))
        if not {pair.one, pair.other} <= set(place) or pair.one == pair.other or not number:
            raise FileError("not a discovery: its hidden causes are not between pairs of its variables")
    if not all(
        cause in place and effect in place and place[cause] < place[effect] for cause, effect in found.ancestors
    ):
        raise FileError("not a discovery: its ancestors do not follow its order")


def read_text(source: str | Path) -> tuple[str, str]:
    """Text as it is, or the text of a file; and what messages say of where it is from."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source, ""
    try:
        return Path(source).read_text(encoding="utf-8"), f"{source}: "
    except ValueError:
        raise FileError(f"{source!s} is not a text file") from None
    except OSError as problem:
        raise FileError(f"cannot read {source}: {problem.strerror}") from None


def _records() -> Mapping[str, Callable[..., Any]]:
    """Fields that are tuples of records, and what makes one of its JSON object."""
    from fedrcd.api.discovery import ConfoundedPair, TraceStep

    return {"trace": TraceStep, "holdings": _holding, "confounded": ConfoundedPair, "rivals": _rival}


def _rival(*, method: str, order: Sequence[str], edges: Sequence[Sequence[str]]) -> Rival:
    """A rival from its record."""
    from fedrcd.api.discovery import Rival

    return Rival(method, tuple(order), tuple((str(cause), str(effect)) for cause, effect in edges))


def _holding(*, site: str, block: str, columns: Sequence[str], rows: int) -> Holding:
    """A holding from its record."""
    return Holding(site, block, tuple(columns), rows)


def _version(content: object) -> int:
    """The version of the format, if it is one that is read here; take the mark away."""
    said = content.pop("format", None) if isinstance(content, dict) else None
    family, _, number = str(said).partition("/")
    if family == FAMILY and number.isdecimal() and number == str(int(number)):
        if 1 <= int(number) <= VERSION:
            return int(number)
        raise FileError(
            f"a discovery of format {said}, written by a newer version of fedrcd; upgrade fedrcd, which reads {FORMAT}"
        )
    raise FileError(f"not a discovery of format {FORMAT}: fedrcd discover --out FILE.json writes one")


def _with_nulls(values: Matrix) -> list[list[float | None]]:
    """A matrix as JSON has it: null where an effect is not identified."""
    return [[None if math.isnan(value) else value for value in row] for row in values.tolist()]


def _matrix(content: Any, *, nulls: bool = True) -> Matrix:
    """A matrix from its JSON; with `nulls`, null is an effect that is not identified."""
    values = np.array(content, dtype=float)
    if not nulls and np.isnan(values).any():
        raise ValueError("a number is missing")
    return values


def _require_share(name: str, value: object, most: float) -> None:
    number = isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) <= most
    if value is not None and not (number and math.isfinite(float(value))):  # type: ignore[arg-type]
        raise FileError(f"not a discovery: its {name} is not a number of at least 0")


def _plain(value: object) -> object:
    """NumPy scalars among the options as numbers of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} does not go into JSON")
