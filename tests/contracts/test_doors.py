"""What one door of a site refuses, all refuse that would let the same sums out; rows that are out are out at all."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame
from fedrcd.federation.messages.refusals import WORDS, Refusal
from fedrcd.federation.messages.requests import pack_request, unpack_reply
from fedrcd.federation.site.disclosure import allowance
from fedrcd.federation.site.log import ANSWERED
from fedrcd.federation.site.service import SiteService
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.moment_questions import ExpectationQuestion, SiteMomentsQuestion
from fedrcd.protocol.questions import Basis
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid, rounded_map
from fedrcd.statistics.residual_maps import residual_map
from tests.contracts.doors import (
    BLOCK,
    DOORS,
    RUN,
    SITE,
    Place,
    disk_that,
    failing,
    out_of_reach,
    read_only,
    table_of,
    typed,
)

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


def rewritten(place):
    """All values of a column are corrected: other rows, of the same persons."""
    table = place.table()
    place.put(table.assign(v0=table["v0"] + 0.25))


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
            before=(step, rewritten),
        )
        for name, step in {"serving": served("tensor"), "contributing": sent("tensor")}.items()
    },
    "budget spent on groups": Case(
        lambda: table_of(6, 1600),
        {"groups": Refusal.BUDGET},
        words="4,200 numbers about",
        before=(served("tensor groups"), rewritten, served("tensor groups"), rewritten),
    ),
    **{
        f"{way} after {name}": Case(
            lambda: table_of(3, 1500),
            same(Refusal.TRIM) if first != then else {},
            words="its rows were summed with",
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
            by_ledger = way.run == "contribution" and "file" not in door and "where" not in door
            if set(case.options) - {"trust"} <= way.settings or (name == "frame" and by_ledger):
                yield name, door


MATRIX = list(pairs_of_case_and_door())


def some(matrix):
    """Every door with one case of every set of rules, and every case with every fourth door; `make verify` has all."""
    cases, doors, met = list(CASES), list(DOORS), set()
    for name, door in matrix:
        pair = (frozenset(CASES[name].refused.items()), door)
        if pair not in met or (cases.index(name) + doors.index(door)) % 4 == 0:
            yield name, door
        met.add(pair)


def refusal_of(case, door):
    """By which rule a door refuses in a case."""
    refused = CASES[case].refused
    return refused.get(door, refused.get(DOORS[door].sums))


UNLOGGED = {
    (case, door)
    for case, door in MATRIX
    if case in {"rows", "rows with gaps", "tensor rows"} and door.startswith(("contribute", "erase"))
    if DOORS[door].sums in CASES[case].refused
}
"""Too few rows are refused before the door there: nothing leaves, and nothing is logged."""


def cases_in(new_folder):
    """Finds every case as it was before a door was tried, made once."""
    made = {}

    def find(name) -> Place:
        if name not in made:
            case = CASES[name]
            place = Place.of(new_folder(), case.table(), framed=case.framed)
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


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return cases_in(lambda: tmp_path_factory.mktemp("case"))


@pytest.mark.parametrize(("name", "door"), list(some(MATRIX)))
def test_what_is_refused_at_one_door_is_refused_at_all(prepared, tmp_path, name, door):
    require_refusal(prepared, tmp_path, name, door)


def require_refusal(prepared, folder, name, door):
    """A door refuses in a case by its rule, or answers, and the log says so."""
    case, way = CASES[name], DOORS[door]
    seen, before, after = walked(prepared, folder, name, door)
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


# rows that are struck out

N, BATCH = 400, 30


def ids(*numbers):
    return [f"r{number}" for number in numbers]


def erasing(*numbers, now=False):
    return lambda place: place.erase("pairs", "--ids", place.listed(*ids(*numbers)), *(["--now"] if now else []))


def aged(place):
    place.age()
    return place.erase("pairs", "--due")


HISTORIES: dict[str, tuple[tuple[Step, ...], int]] = {
    "nothing was erased": ((), 0),
    "one waits": ((erasing(5),), 1),
    "some wait by a condition": ((lambda place: place.erase("pairs", "--where", "ward < 3"),), 6),
    "one is out now": ((erasing(5, now=True),), 1),
    "some are out by a condition": ((lambda place: place.erase("pairs", "--where", "ward < 3", "--now"),), 6),
    "a batch is out at once": ((erasing(*range(BATCH)),), BATCH),
    "a batch is out by a condition": ((lambda place: place.erase("pairs", "--where", "ward < 20"),), 40),
    "one was due, and left among others": ((erasing(5), aged), BATCH),
    "one waited and left with another": ((erasing(5), erasing(6, now=True)), 2),
    "one waited until a contribution": ((erasing(5), lambda place: place.contribute("pairs", to="ledger")), 1),
    "some are out and others wait": ((erasing(5, 6, now=True), erasing(7, 8)), 4),
}
"""What was done about rows of a site that has contributed, and how many take no part afterwards."""


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """Every history, made once; whoever served the site was started before it."""
    made = {}

    def find(name) -> Place:
        if name not in made:
            place = Place.of(tmp_path_factory.mktemp("history"), table_of(3, N))
            for step in (sent("pairs", "ledger"), *HISTORIES[name][0]):
                assert not step(place).refused
            made[name] = place
        return made[name]

    return find


def hold(place, gone):
    """The table still has all rows."""


def drop(place, gone):
    table = place.table()
    place.put(table[~table["id"].isin(gone)])


def shuffle(place, gone):
    place.put(place.table().sample(frac=1.0, random_state=3))


def bring_back(place, gone):
    """They were deleted, and others came under their identifiers."""
    table = place.table()
    back = table[table["id"].isin(gone)].assign(v0=9.0, v1=-9.0)
    place.put(pd.concat([table[~table["id"].isin(gone)], back], ignore_index=True))


TABLES = {"still there": hold, "deleted": drop, "in another order": shuffle, "there again": bring_back}


@pytest.mark.parametrize("change", TABLES)
@pytest.mark.parametrize("history", HISTORIES)
def test_all_doors_speak_of_the_same_rows(lived, tmp_path, history, change):
    place = lived(history).copied(tmp_path)
    gone = place.gone()
    assert len(gone) == HISTORIES[history][1]
    TABLES[change](place, gone)
    rows, waits = N - len(gone), place.waits()
    assert waits == ("wait" in history and "waited" not in history)
    for sums in ("pairs", "tensor"):
        seen = place.serve(sums)
        assert seen.left == ({} if waits else {sums: place.reference(sums, gone)})
        assert waits or place.answered()[-1].rows == rows
    for sums in ("pairs", "tensor", "checks"):
        seen, counted = place.preview(sums)
        assert (seen.refused, counted) == (waits, rows)
    seen, counted = place.check()
    assert (seen.refused, counted) == (waits, rows)
    again = place.contribute("pairs", patient=True)
    assert again.left == ({} if waits else {"pairs": place.reference("pairs", gone)})
    assert place.gone() == (set() if change == "deleted" else gone)


def test_groups_are_of_the_same_rows(tmp_path):
    place = Place.of(tmp_path, table_of(3, 3000))
    place.contribute("pairs")
    assert not place.serve("groups").refused
    erasing(*range(40))(place)
    assert place.serve("groups").refused  # about four of them are gone from each group
    erasing(*range(40, 640))(place)
    assert not place.serve("groups").refused
    assert [entry.rows for entry in place.answered() if entry.groups] == [3000, 2360]
    assert place.preview("groups")[1] == 2360


@pytest.mark.parametrize("door", DOORS)
def test_a_table_that_lost_its_identifiers_is_refused(lived, tmp_path, door):
    place = lived("one is out now").copied(tmp_path)
    for trust in (False, True):
        place.settings(trust=trust)  # the site was started before
    table = place.table()
    place.put(table.drop(columns="id"))
    before = place.log()
    seen = DOORS[door].walk(place, {})
    assert (seen.refused, dict(seen.left)) == (True, {})
    fresh = place.log()[len(before) :]
    assert all(entry.outcome == Refusal.DATA for entry in fresh)
    assert bool(fresh) == (DOORS[door].run == RUN)  # others refuse before they ask for anything


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["wait", "now", "contribute", "serve"]), st.sets(st.integers(0, 39), min_size=1, max_size=4)
    ),
    min_size=1,
    max_size=5,
)


@given(steps=STEPS, deleting=st.booleans(), door=st.sampled_from(["serve", "preview", "check", "contribute"]))
@settings(max_examples=8)
def test_rows_are_out_at_every_door_once_they_are_out_at_one(tmp_path_factory, steps, deleting, door):
    """Whether or not the table loses them as well."""
    place = Place.of(tmp_path_factory.mktemp("life"), table_of(3, N))
    place.contribute("pairs")
    out, waits = set(), False
    for what, numbers in steps:
        chosen = set(ids(*numbers)) - out
        if what == "serve":
            assert place.serve("pairs").left == ({} if waits else {"pairs": place.reference("pairs", out)})
        elif what == "contribute":
            assert place.contribute("pairs").left == {"pairs": place.reference("pairs", out)}
            waits = False
        elif chosen:
            seen = place.erase("pairs", "--ids", place.listed(*sorted(chosen)), *(["--now"] if what == "now" else []))
            out, waits = out | chosen, what == "wait"
            assert seen.left == ({} if waits else {"pairs": place.reference("pairs", out)})
        assert place.waits() == waits
        if deleting:
            drop(place, out)
    if door == "serve":
        assert place.serve("tensor").left == ({} if waits else {"tensor": place.reference("tensor", out)})
        assert waits or place.answered()[-1].rows == N - len(out)
    elif door == "contribute":
        assert place.contribute("tensor").left == {"tensor": place.reference("tensor", out)}
    else:
        assert (place.preview("pairs") if door == "preview" else place.check())[1] == N - len(out)


# a log that cannot be written

FAULTS = {
    "out of reach": out_of_reach,
    "read-only": read_only,
    "full when the log is written": failing("INSERT INTO log"),
    "full when all is finished": failing("COMMIT"),
}
LETTING_OUT = [name for name, way in DOORS.items() if way.run]


def remembered(place):
    """All that a site remembers of what left."""
    with place.store() as store:
        return store.entries(), store.sent.all(), store.sent.outbox(BLOCK), store.editions.editions()


@pytest.fixture(scope="module")
def contributed(tmp_path_factory):
    """A site that contributed once and is served."""
    place = Place.of(tmp_path_factory.mktemp("contributed"), table_of(3, 1500))
    assert place.contribute("pairs", to="ledger").left
    for trust in (False, True):
        place.settings(trust=trust)
    return place


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("door", LETTING_OUT)
def test_nothing_leaves_when_the_log_cannot_be_written(contributed, tmp_path, door, fault):
    place = contributed.copied(tmp_path)
    before = remembered(place)
    with disk_that(FAULTS[fault]):
        seen = DOORS[door].walk(place, {})
    assert (seen.refused, dict(seen.left)) == (True, {})
    assert remembered(place) == before  # neither the log nor what would be recorded with it
    sums = DOORS[door].sums  # and all goes on when the disk does; rows that were to be erased waited for it
    assert (place.serve(sums) if DOORS[door].run == RUN else place.contribute(sums)).left


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """A site that is served, with cells too small for any sums."""
    place = Place.of(tmp_path_factory.mktemp("refusing"), flagged(3, 300, 5))
    for trust in (False, True):
        place.settings(trust=trust)
    return place


@pytest.mark.parametrize("door", LETTING_OUT)
def test_a_refusal_stays_one_when_it_cannot_be_logged(refusing, tmp_path, door):
    place = refusing.copied(tmp_path)
    with disk_that(failing("INSERT INTO log")):
        seen = DOORS[door].walk(place, {})
    assert (seen.refused, dict(seen.left), place.log()) == (True, {}, [])


def test_a_store_whose_folder_cannot_take_a_log_lets_nothing_out(contributed, tmp_path):
    place = contributed.copied(tmp_path)
    (place.state / "site.db-wal").mkdir()  # whoever one is, no file of this name can be written
    for door in LETTING_OUT:
        if DOORS[door].sums != "checks":
            seen = DOORS[door].walk(place, {})
            assert (seen.refused, dict(seen.left)) == (True, {}), door
    (place.state / "site.db-wal").rmdir()
    assert len(place.log()) == 1


# attacks


def of_order(place, order):
    """What no honest coordinator can make."""
    question = asked(place)
    object.__setattr__(question, "order", order)
    return question


def asked(place, **changes):
    return replace(place.question("pairs"), **changes)


def residuals(place, *sources):
    moments = place.question("checks").basis.moments
    R, _ = residual_map(moments.cov, sources)
    return asked(place, residuals=rounded_map(R), basis=Basis(moments, sources))


def basis_alone(place, *sources):
    return asked(place, basis=Basis(place.question("checks").basis.moments, sources))


def turned(place):
    question = place.question("pairs")
    return replace(question, variables=question.variables[::-1])


def some_of_them(place):
    question = place.question("pairs")
    return replace(question, variables=question.variables[1:], frame=question.frame.keep([1, 2]))


def in_groups(place, number, **changes):
    return GroupedQuestion(asked(place, **changes), number)


def other_moments(place):
    return place.question("checks").basis.moments


FORBIDDEN: dict[str, tuple[Callable[[Place], Any], bool, Refusal]] = {
    "variables in another order": (turned, True, Refusal.QUESTION),
    "some of the variables": (some_of_them, True, Refusal.QUESTION),
    "an order that is none": (lambda p: of_order(p, 5), True, Refusal.MESSAGE),
    "no order": (lambda p: of_order(p, 0), True, Refusal.MESSAGE),
    "a grid of one's own": (lambda p: asked(p, grid=Grid(2, 64)), True, Refusal.FRAME),
    "a grid that clips sooner": (lambda p: asked(p, grid=Grid(21, 1)), True, Refusal.FRAME),
    "another frame": (lambda p: asked(p, frame=Frame(np.ones(3), np.ones(3))), True, Refusal.FRAME),
    "gaps filled": (lambda p: asked(p, given=other_moments(p)), True, Refusal.GAPS),
    "gaps filled in groups": (lambda p: in_groups(p, 10, given=other_moments(p)), True, Refusal.GAPS),
    "one group": (lambda p: in_groups(p, 1), True, Refusal.GROUPS),
    "nine groups": (lambda p: in_groups(p, 9), True, Refusal.GROUPS),
    "groups of a row": (lambda p: in_groups(p, 1500), True, Refusal.GROUPS),
    "more groups than anything": (lambda p: in_groups(p, 2**53), True, Refusal.GROUPS),
    "any map": (lambda p: asked(p, residuals=np.eye(3)), True, Refusal.MAP),
    "any map without trust": (lambda p: asked(p, residuals=np.eye(3)), False, Refusal.TRUST),
    "any map in groups": (lambda p: in_groups(p, 10, residuals=np.eye(3)), False, Refusal.TRUST),
    "residuals given two at once": (lambda p: residuals(p, 0, 1), True, Refusal.PREFIX),
    "residuals without trust": (lambda p: residuals(p, 0), False, Refusal.TRUST),
    "a basis without residuals": (lambda p: basis_alone(p, 0), True, Refusal.MAP),
    "a basis without residuals or trust": (lambda p: basis_alone(p, 0), False, Refusal.TRUST),
    "an order of some": (lambda p: replace(p.question("checks"), basis=residuals(p, 0).basis), True, Refusal.MAP),
    "expectations": (
        lambda p: ExpectationQuestion(p.federation.variables, asked(p).frame, other_moments(p)),
        True,
        Refusal.QUESTION,
    ),
}


@pytest.mark.parametrize("attack", FORBIDDEN)
def test_a_question_that_is_not_allowed_is_refused_and_logged(contributed, tmp_path, attack):
    make, trust, code = FORBIDDEN[attack]
    place = contributed.copied(tmp_path)
    before = place.log()
    reply = place.respond(make(place), trust=trust)
    assert (reply.refusal, reply.blocks) == (code, ())
    [fresh] = place.log()[len(before) :]
    known = "" if code is Refusal.MESSAGE else RUN  # of what is not understood, nothing is
    assert (fresh.outcome, fresh.run[: len(RUN)]) == (code, known)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("complete", [False, True])
def test_what_follows_from_other_sums_costs_nothing_and_nothing_else_does(tmp_path, order, complete):
    place = Place.of(tmp_path, table_of(3, N))
    place.serve("pairs")
    assert place.respond(asked(place, order=order, complete=complete)).refusal is None
    follows = order == 4 or not complete  # complete rows are all rows here, but nobody reckons with that below order 4
    [version] = {entry.version for entry in place.answered()}
    assert allowance(place.log(), [], version, 10**6).spent == 31 + (0 if follows else place.answered()[-1].numbers)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"cohort": ("south",)}, Refusal.MESSAGE),
        ({"cohort": ()}, Refusal.MESSAGE),
        ({"cohort": ("south", SITE)}, Refusal.MESSAGE),
        ({"cohort": (SITE, SITE)}, Refusal.MESSAGE),
        ({"cohort": (SITE, "east")}, Refusal.MESSAGE),
        ({"site": "south"}, Refusal.NAME),
        ({"federation": "another"}, Refusal.FEDERATION),
    ],
)
def test_circumstances_that_cannot_be_are_refused(contributed, tmp_path, changes, code):
    place = contributed.copied(tmp_path)
    assert place.respond(place.question("pairs"), **changes).refusal is code
    assert (place.log()[-1].outcome, place.log()[-1].run[: len(RUN)]) == (code, RUN)


@pytest.mark.parametrize("number", [0, -1, -10, 1.5, None, "10", True])
def test_groups_that_are_no_number_are_no_message(contributed, tmp_path, number):
    place = contributed.copied(tmp_path)
    packet = pack_request(place.request(place.question("groups")))
    packet.header["question"]["fields"]["groups"] = number
    reply = unpack_reply(SiteService(place.settings()).respond(packet))
    assert (reply.refusal, reply.blocks) == (Refusal.MESSAGE, ())


@pytest.mark.parametrize("kind", ["groups", "checks", "moments"])
def test_only_pairs_and_tensors_are_asked_in_groups(contributed, tmp_path, kind):
    place = contributed.copied(tmp_path)
    each = place.question("groups") if kind == "groups" else place.question("checks")
    if kind == "moments":
        each = SiteMomentsQuestion(each.variables, each.frame)
    assert place.respond(GroupedQuestion(each, 10), trust=True).refusal is Refusal.MESSAGE


def test_a_store_is_no_other_sites(contributed, tmp_path):
    place = contributed.copied(tmp_path)
    federation = place.federation
    renamed = tuple(replace(one, name="renamed") if one.name == SITE else one for one in federation.sites)
    place.declare(replace(federation, sites=renamed))
    done = typed(
        *("contribute", place.data, "--federation", place.file, "--site", "renamed", "--state", place.state),
        *("--out", tmp_path / "renamed.parcel"),
    )
    assert "is the store of site 'north'" in str(done.problem)
    assert not (tmp_path / "renamed.parcel").exists()


# what was open once


def test_a_block_that_was_taken_out_is_out_at_every_door(contributed, tmp_path):
    place = contributed.copied(tmp_path)
    assert place.erase("pairs", "--all", to="ledger").refused is False
    assert place.contribute("pairs", to="ledger").refused  # without --rejoin
    assert place.serve("pairs").refused


@pytest.mark.parametrize(("case", "door"), sorted(UNLOGGED))
def test_too_few_rows_are_refused_with_their_code_where_sums_are_sent(prepared, tmp_path, case, door):
    _, before, after = walked(prepared, tmp_path, case, door)
    assert after[len(before) :][-1].outcome == refusal_of(case, door)


@pytest.mark.parametrize("value", [np.nan, 1e3])
def test_rows_that_are_not_summed_hide_nobody(tmp_path, value):
    place = Place.of(tmp_path, table_of(3, N))
    place.contribute("pairs", trim=8.0)
    arrivals = table_of(3, BATCH - 1, first=N, seed=9).assign(v1=value)
    place.put(pd.concat([place.table(), arrivals], ignore_index=True))
    assert place.erase("pairs", "--ids", place.listed("r5"), trim=8.0).left == {}


def test_a_row_waits_where_its_sums_were_served_before(tmp_path):
    place = Place.of(tmp_path, table_of(3, N))
    assert not place.serve("pairs").refused
    assert place.erase("pairs", "--ids", place.listed("r5")).left == {}


def test_erased_rows_stay_out_when_identifiers_are_written_otherwise(tmp_path):
    table = table_of(3, N).assign(id=range(N))
    place = Place.of(tmp_path, table)
    place.contribute("pairs")
    place.erase("pairs", "--ids", place.listed("5"), "--now")
    place.put(table.assign(id=table["id"].astype(float)))
    assert "other identifiers" in place.check()[0].said
    assert place.serve("pairs").refused
    assert "other identifiers" in place.check()[0].said  # though their values are not kept any more


def test_a_person_approves_what_leaves_now_and_not_of_other_rows(tmp_path):
    place = Place.of(tmp_path, table_of(3, N))
    service = SiteService(replace(place.settings(), approve=True))
    packet = pack_request(place.request(place.question("pairs")))
    assert unpack_reply(service.respond(packet)).refusal is Refusal.WAITING
    with place.store() as store:
        digest = store.approvals.held()[0].digest
    assert typed("site", "approve", "--state", place.state, digest[:10]).code == 0
    assert unpack_reply(service.respond(packet)).refusal is None
    assert unpack_reply(service.respond(packet)).refusal is None  # the same again
    more = table_of(3, BATCH, first=N, seed=9)
    place.put(pd.concat([place.table(), more], ignore_index=True))
    later = pack_request(place.request(place.question("pairs")))
    assert unpack_reply(service.respond(later)).refusal is Refusal.WAITING


def test_a_question_that_cannot_be_told_is_logged(contributed, tmp_path):
    place = contributed.copied(tmp_path)
    before = place.log()
    assert place.respond(asked(place, residuals=np.array(1.0))).refusal is not None
    assert len(place.log()) == len(before) + 1


def test_only_what_follows_from_ones_own_share_is_free(tmp_path):
    """Asked together with the site before it, a site tells what only it knows; alone it tells all that it has."""
    table = table_of(6, 106)
    place = Place.of(tmp_path, table.drop(columns="v0"))
    variables = ("v0", "v1", "v2", "v3", "v4", "v5")
    sites = (SiteEntry("first", variables[:5], (BLOCK,)), SiteEntry(SITE, variables[1:], (BLOCK,)))
    frame = {name: VariableFrame(0.0, 4.0, "unit") for name in variables}
    place.declare(Federation(variables, sites, (BlockEntry(BLOCK, 106),), frame))
    assert place.respond(place.question("tensor"), cohort=("first", SITE)).refusal is None
    share = place.answered()[-1].numbers
    reply = place.respond(place.question("pairs"), cohort=(SITE,))
    version = place.answered()[0].version
    assert reply.refusal is Refusal.BUDGET or allowance(place.log(), [], version, 10**6).spent > share
