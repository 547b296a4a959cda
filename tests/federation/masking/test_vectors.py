"""Sums as vectors: what goes in comes out, whatever the question, and adding vectors is adding sums."""

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.errors import ProtocolError, StatisticError
from fedrcd.federation.masking.ring import RINGS, ring_of
from fedrcd.federation.masking.vectors import POOLED, Shape
from fedrcd.protocol.groups import GroupedQuestion, Grouping
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.exact_sums import MOST_ROWS
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC, Grid

NAMES = ("x", "y", "z")


def whole(ring):
    return st.integers(-(2 ** (ring.bits - 11)), 2 ** (ring.bits - 11))


@given(data=st.data())
@pytest.mark.parametrize("ring", RINGS.values(), ids=RINGS)
def test_numbers_are_added_modulo_the_ring_and_read_with_their_signs(ring, data):
    numbers = data.draw(st.lists(st.tuples(whole(ring), whole(ring)), min_size=1, max_size=8))
    halves = [[(n & (2**56 - 1), n >> 56) for n in several] for several in zip(*numbers, strict=True)]
    one, two = (ring.of_halves(*np.array(part, dtype=np.int64).T) for part in halves)
    sums, differences = (ring.halves(change(one, two)) for change in (ring.add, ring.subtract))
    value = lambda part: [int(low) + (int(high) << 56) for low, high in zip(*part, strict=True)]  # noqa: E731
    assert value(sums) == [a + b for a, b in numbers]
    assert value(differences) == [a - b for a, b in numbers]
    assert (ring.from_bytes(ring.to_bytes(one), len(one)) == one).all()


def test_the_sums_of_as_many_rows_as_may_be_fit():
    for name, ring in RINGS.items():
        most = ARITHMETIC[name].largest ** 4 * ring.most_rows
        assert most < 2 ** (ring.bits - 1)
        assert ring_of(ARITHMETIC[name]) is ring
    assert RINGS["exact"].most_rows == MOST_ROWS


def test_a_grid_that_is_not_known_has_no_ring():
    for grid in (None, Grid(21, 32)):
        with pytest.raises(ProtocolError, match="exact sums on a grid that is known"):
            ring_of(grid)


def questions(grid):
    frame = Frame(np.zeros(3), np.ones(3))
    pairs = [PairQuestion(NAMES, frame, order, grid=grid) for order in (1, 2, 3, 4)]
    tensor = TensorQuestion(NAMES, frame, grid=grid)
    return [*pairs, replace(pairs[-1], complete=True), tensor, GroupedQuestion(tensor, 3), GroupedQuestion(pairs[3], 3)]


LAYOUT = Layout(
    NAMES,
    (
        Holding("a", "1", NAMES, 40),
        Holding("b", "2", ("x", "y"), 40),
        Holding("c", "2", ("y", "z"), 40),
        Holding("d", "3", NAMES, 40),
    ),
)


@pytest.mark.parametrize("layout", [None, LAYOUT], ids=["rows of their own", "shared"])
@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("arithmetic", RINGS)
def test_adding_vectors_is_adding_sums(arithmetic, number, layout):
    question = questions(ARITHMETIC[arithmetic])[number]
    rng, sites = np.random.default_rng(number), []
    for holding in LAYOUT.holdings if layout else [replace(LAYOUT.holdings[0], site=s, block=s) for s in "abcd"]:
        values = rng.standard_t(3, size=(40, len(holding.columns)))
        grouping = Grouping(b"secret of block " + holding.block.encode())
        sites.append(replace(LocalSite.of(holding.site, values, holding.columns, holding.block), grouping=grouping))
    answers = [site.answer(question, layout) for site in sites]
    shape = Shape.of(question, layout)
    total = shape.pooled(reduce(shape.ring.add, [shape.vector([one]) for one in answers]))
    there = [one for one in answers if one is not None]
    if question.groups:
        clear = [
            reduce(lambda a, b: a + b, parts)
            for parts in zip(*(p for a in there for p in a.groups.values()), strict=True)
        ]
        assert list(total.groups[POOLED]) == clear
    else:
        assert total == reduce(lambda a, b: a + b, there)


def test_a_shape_tells_nothing_of_the_rows():
    for question in questions(ARITHMETIC["exact"]):
        for layout in (None, LAYOUT):
            shape = Shape.of(question, layout)
            assert shape.vector([]).shape == shape.vector([None]).shape == (shape.length, 2)


def test_sums_of_another_shape_are_refused():
    one, other = questions(ARITHMETIC["exact"])[1], questions(ARITHMETIC["exact"])[3]
    site = LocalSite.of("a", np.random.default_rng(1).normal(size=(20, 3)), NAMES)
    with pytest.raises(StatisticError, match="shape"):
        Shape.of(other, None).vector([site.answer(one)])


@pytest.mark.parametrize("arithmetic", ["exact"])
def test_masks_that_do_not_cancel_are_noticed(arithmetic):
    shape = Shape.of(questions(ARITHMETIC[arithmetic])[5], None)
    noise = np.random.default_rng(1).integers(0, 2**64, (shape.length, shape.ring.words), dtype=np.uint64)
    with pytest.raises(StatisticError, match="do not cancel"):
        shape.pooled(noise)
