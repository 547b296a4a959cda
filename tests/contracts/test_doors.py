"""What one door of a site refuses, all refuse that would let the same sums out; rows that are out are out at all."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from fedrcd.data.federation import VariableFrame
from fedrcd.federation.refusals import WORDS, Refusal
from fedrcd.federation.site.log import ANSWERED
from fedrcd.statistics.frame import Frame
from tests.contracts.doors import DOORS, RUN, Place, table_of

ALL = ("pairs", "tensor", "groups", "checks")
Step = Callable[[Place], Any]


def flagged(p, n, *carriers):
    """A table whose first columns are flags with so many carriers each, spread over the rows."""
    table, rng = table_of(p, n), np.random.default_rng(5)
    for j, number in enumerate(carriers):
        flags = np.zeros(n)
        flags[rng.permutation(n)[:number]] = 1.0
        table[f"v{j}"] = flags
    return table


def four_flags(p, n):
    """Pairs of flags have no small cell, all four together have."""
    table = table_of(p, n)
    codes = np.arange(n) % 8
    bits = [(codes >> k & 1).astype(float) for k in range(3)]
    bits.append(np.bitwise_xor.reduce([codes >> k & 1 for k in range(3)]).astype(float))
    bits[3][:5] = 1 - bits[3][:5]
    return table.assign(**{f"v{k}": bit for k, bit in enumerate(bits)})


def served(sums, **options):
    return lambda place: place.serve(sums, **options)


def sent(sums, to="file", **options):
    return lambda place: place.contribute(sums, to=to, **options)


def erased(sums, **options):
    def step(place):
        place.contribute(sums, **options)
        return place.erase(sums, "--ids", place.listed("r8", "r9"), "--now", **options)

    return step


def touched(place):
    place.touch()


class Case(NamedTuple):
    """Rows, what happened before, how doors are opened, and by which rule each kind of sums is refused."""

    table: Callable[[], pd.DataFrame]
    refused: Mapping[str, Refusal]
    words: str = ""
    """What a preview says."""
    before: tuple[Step, ...] = ()
    options: Mapping[str, Any] = {}
    checked: bool = False
    """Whether `site check` knows of it."""
    framed: bool = True


def same(code, *kinds, **others):
    return {**dict.fromkeys(kinds or ALL, code), **others}


SPENDERS = {
    "serving": served("pairs"),
    "contributing to a ledger": sent("pairs", "ledger"),
    "contributing to a file": sent("pairs"),
}
TRIMMERS = {
    "serving": lambda **options: served("pairs", **options),
    "serving the tensor": lambda **options: served("tensor", **options),
    "contributing": lambda **options: sent("pairs", **options),
    "contributing to a ledger": lambda **options: sent("tensor", "ledger", **options),
    "erasing": lambda **options: erased("pairs", **options),
}

CASES = {
    "nothing": Case(lambda: table_of(3, 1500), {}),
    "nothing with a trim": Case(lambda: table_of(3, 1500), {}, options={"trim": 3.0}),
    "nothing in float": Case(lambda: table_of(3, 1500), {}, options={"arithmetic": "float"}),
    "rows": Case(
        lambda: table_of(3, 99), same(Refusal.ROWS, groups=Refusal.GROUPS), words="99 complete rows", checked=True
    ),
    "rows with gaps": Case(
        lambda: table_of(3, 1500).assign(v1=lambda t: t["v1"].where(t.index < 99)),
        same(Refusal.ROWS, groups=Refusal.GROUPS),
        words="99 complete rows",
        checked=True,
    ),
    "rows beyond the trim": Case(
        lambda: table_of(3, 105).assign(v1=lambda t: t["v1"].where(t.index > 10, 40.0)),
        same(Refusal.ROWS, groups=Refusal.GROUPS),
        options={"trim": 8.0},
        words="94 complete rows",
        checked=True,
    ),
    "tensor rows": Case(
        lambda: table_of(8, 123),
        {"tensor": Refusal.TENSOR_ROWS, "groups": Refusal.GROUPS, "preview checks": Refusal.BUDGET},
        words="the tensor of 8 columns needs 124",
        checked=True,
    ),
    "cells": Case(
        lambda: flagged(3, 300, 5),
        same(Refusal.CELLS, groups=Refusal.GROUPS),
        words="fewer than 11 rows share a combination of levels of 'v0'",
        checked=True,
    ),
    "cells of two": Case(
        lambda: flagged(3, 300, 40, 40),
        same(Refusal.CELLS, groups=Refusal.GROUPS),
        words="of 'v0', 'v1'",
        checked=True,
    ),
    "cells of four": Case(
        lambda: four_flags(5, 400),
        {"tensor": Refusal.CELLS, "groups": Refusal.GROUPS},
        words="of 'v0', 'v1', 'v2', 'v3'",
        checked=True,
    ),
    "cells of groups": Case(
        lambda: flagged(3, 1500, 60), {"groups": Refusal.GROUPS}, words="in one of 10 groups: fewer than 11 rows"
    ),
    "trust": Case(
        lambda: table_of(3, 1500), {"checks": Refusal.TRUST}, words=WORDS[Refusal.TRUST], options={"trust": False}
    ),
    "trusted": Case(lambda: table_of(3, 1500), {}, options={"trust": True}),
    "no frame": Case(
        lambda: table_of(3, 1500),
        same(Refusal.TRUST),
        words="declares no frame",
        options={"trust": False},
        framed=False,
    ),
    "frame": Case(
        lambda: table_of(3, 1500), same(Refusal.FRAME), options={"frame": Frame(np.zeros(3), np.full(3, 8.0))}
    ),
    **{
        f"budget spent by {name}": Case(
            lambda: table_of(6, 106),
            {"tensor": Refusal.BUDGET, "groups": Refusal.GROUPS, "checks": Refusal.BUDGET},
            words="115 numbers about block 'block-north' were released",
            before=(step,),
        )
        for name, step in SPENDERS.items()
    },
    **{
        f"budget spent on other rows by {name}": Case(
            lambda: table_of(6, 106),
            same(Refusal.BUDGET, groups=Refusal.GROUPS),
            words="210 numbers about block 'block-north' were released",
            before=(step, touched),
        )
        for name, step in {"serving": served("tensor"), "contributing": sent("tensor")}.items()
    },
    "budget spent on groups": Case(
        lambda: table_of(6, 1600),
        {"groups": Refusal.BUDGET},
        words="4,200 numbers about",
        before=(served("tensor groups"), touched, served("tensor groups"), touched),
    ),
    **{
        f"{way} after {name}": Case(
            lambda: table_of(3, 1500),
            same(Refusal.TRIM) if first != then else {},
            words=WORDS[Refusal.TRIM],
            before=(TRIMMERS[name](**first),),
            options=then,
            checked=first != then,
        )
        for way, name, first, then in (
            ("no trim", "serving", {"trim": 3.0}, {}),
            ("a trim", "serving the tensor", {}, {"trim": 3.0}),
            ("another trim", "contributing", {"trim": 3.0}, {"trim": 3.5}),
            ("no trim", "erasing", {"trim": 3.0}, {}),
            ("a trim", "contributing to a ledger", {}, {"trim": 3.0}),
            ("the same trim", "erasing", {"trim": 3.0}, {"trim": 3.0}),
            ("the same trim", "serving", {"trim": 3.0}, {"trim": 3.0}),
        )
    },
    **{
        f"{then} sums after {first} ones by {name}": Case(
            lambda: table_of(3, 1500),
            same(Refusal.FRAME),
            words="sums were released on a grid and are now asked for without, or the reverse",
            before=(TRIMMERS[name](arithmetic=first),),
            options={} if then == "exact" else {"arithmetic": then},
        )
        for name, first, then in (
            ("serving", "exact", "float"),
            ("contributing", "exact", "float"),
            ("erasing", "compact", "float"),
            ("serving the tensor", "float", "exact"),
            ("contributing to a ledger", "float", "exact"),
            ("erasing", "float", "exact"),
        )
    },
}
"""Every rule; a door that cannot be opened in a way, such as a preview in float64, is left out."""

BEFORE_THE_DOOR = {"no frame", "frame"}
"""What contributing and erasing refuse before they ask for sums: a ledger has one declared frame."""


def pairs_of_case_and_door():
    for name, case in CASES.items():
        for door, way in DOORS.items():
            to_a_ledger = "file" not in door and "where" not in door
            if set(case.options) - {"trust"} <= way.settings:
                yield name, door
            elif name == "frame" and door.startswith(("contribute", "erase")) and to_a_ledger:
                yield name, door


MATRIX = list(pairs_of_case_and_door())


def refusal_of(case, door):
    """By which rule a door refuses in a case."""
    refused = CASES[case].refused
    return refused.get(door, refused.get(DOORS[door].sums))


UNLOGGED = {
    (case, door)
    for case, door in MATRIX
    if case.startswith(("rows", "tensor rows")) and door.startswith(("contribute", "erase"))
    if DOORS[door].sums in CASES[case].refused
}
"""Too few rows are refused before the door there: nothing leaves, and nothing is logged."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Every case as it was before a door was tried, made once."""
    made = {}

    def find(name) -> Place:
        if name not in made:
            case = CASES[name]
            place = Place.of(tmp_path_factory.mktemp("case"), case.table(), framed=case.framed)
            for step in case.before:
                seen = step(place)
                assert seen is None or seen.left, seen.said
            made[name] = place
        return made[name]

    return find


def walked(prepared, folder, name, door):
    """A door tried in a case: what was seen, what was logged before and meanwhile."""
    case, way = CASES[name], DOORS[door]
    place = prepared(name).copied(folder)
    before = place.log()
    options = {key: value for key, value in case.options.items() if key in way.settings}
    if name == "frame" and not options:
        declared = {key: VariableFrame(0.0, 8.0, "unit") for key in place.federation.variables}
        typed_frame = replace(place.federation, frame=declared)
        place.contribute(way.sums, to="ledger")  # makes the ledger, in the first frame
        before = place.log()
        place.declare(typed_frame)
    return way.walk(place, options), before, place.log()


@pytest.mark.parametrize(("name", "door"), MATRIX)
def test_what_is_refused_at_one_door_is_refused_at_all(prepared, tmp_path, name, door):
    case, way = CASES[name], DOORS[door]
    seen, before, after = walked(prepared, tmp_path, name, door)
    code = refusal_of(name, door)
    refused = case.checked if door == "check" else code is not None
    assert seen.refused == refused, seen.said
    fresh = after[len(before) :]
    assert after[: len(before)] == before
    if not way.run:
        assert fresh == []  # those who only look leave no trace
        words = {Refusal.GROUPS: "10 groups", Refusal.BUDGET: "more asked for"}
        assert not refused or door == "check" or any(one in seen.said for one in (case.words, words.get(code, "?")))
    elif not refused:
        assert set(seen.left) == {way.sums}
        assert fresh[-1].outcome == ANSWERED
        assert fresh[-1].run.startswith(way.run)
    else:
        assert seen.left == {}
        # an erasure is tried after a contribution, which may be of other rows, and allowed
        assert fresh == [] or fresh[-1].outcome != ANSWERED
        if (name, door) in UNLOGGED or (name in BEFORE_THE_DOOR and way.run != RUN):
            return
        assert fresh[-1].outcome == code
        assert fresh[-1].run.startswith(way.run)
        assert fresh[-1].detail
