"""Exact sums as vectors, in a shape that the question and the layout alone fix: no size tells anything about rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedrcd.errors import ProtocolError, StatisticError
from fedrcd.federation.masking.ring import Ring, Words, ring_of
from fedrcd.protocol.questions import Question
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.grouped_sums import GroupedSums
from fedrcd.typing import BoolMatrix

POOLED = ("", "")
"""In place of a site and a block: groups that are added over all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """How the answers to a question are laid out as vectors."""

    template: ExactSums
    """Sums of no rows, in the arrangement of every site's answer."""
    groups: int
    ring: Ring

    @classmethod
    def of(cls, question: Question[Any], layout: Layout | None) -> Shape:
        """The shape of answers to a question, over sites that hold what a layout says."""
        if not question.maskable:
            raise ProtocolError("this question cannot be answered under masks: its sums are not whole numbers")
        answers = list(_of_rows(question, layout, 0))
        if not answers:
            raise ProtocolError("no site can answer: none holds all columns of complete rows")
        return cls(answers[0][1], question.groups, ring_of(question.grid))

    @property
    def length(self) -> int:
        """Numbers of a vector, counts included."""
        return self._length_of_one * max(self.groups, 1)

    @property
    def _length_of_one(self) -> int:
        low = self.template.low
        counts = low.own_counts
        arrays = [*low.arrays().values(), *([] if counts is None else [counts])]
        return sum(int(values.size) for values in arrays)

    def vector(self, answers: Iterable[Any]) -> Words:
        """The sum of what a site answers for each of its blocks, as a vector; None is nothing."""
        total = self.ring.zeros(self.length)
        for answer in answers:
            if answer is not None:
                total = self.ring.add(total, np.concatenate([self._one(part) for part in self._parts(answer)]))
        return total

    def pooled(self, vector: Words) -> ExactSums | GroupedSums:
        """The sums in a vector; groups are those of nobody in particular."""
        parts = [self._restored(part) for part in np.split(vector, max(self.groups, 1))]
        return GroupedSums({POOLED: tuple(parts)}) if self.groups else parts[0]

    def _parts(self, answer: Any) -> Sequence[ExactSums]:
        if not self.groups:
            return (answer,)
        [parts] = answer.groups.values()
        if len(parts) != self.groups:
            raise StatisticError(f"{len(parts)} groups were summed, not {self.groups}")
        return tuple(parts)

    def _one(self, sums: ExactSums) -> Words:
        """Sums of one block, or one group of it."""
        mine, wanted = (list(_arrays(one)) for one in (sums, self.template))
        if sums.grid != self.template.grid or [one.shape for one, _ in mine] != [one.shape for one, _ in wanted]:
            raise StatisticError("the sums are not of the shape that was asked for")
        return np.concatenate([self.ring.of_halves(low, high) for low, high in mine])

    def _restored(self, vector: Words) -> ExactSums:
        low, high = self.ring.halves(vector)
        template, lows, highs, at = self.template, [], [], 0
        for wanted, _ in _arrays(template):
            part = slice(at, at + wanted.size)
            lows.append(low[part].reshape(wanted.shape))
            highs.append(high[part].reshape(wanted.shape))
            at = part.stop
        planes = [template.low, template.high]
        if template.low.own_counts is not None:
            counts, beyond = lows.pop(), highs.pop()
            if beyond.any():
                raise StatisticError("the masks do not cancel: there are more rows than can be")
            planes = [plane.with_own_counts(own) for plane, own in zip(planes, (counts, beyond), strict=True)]
        halves = [plane.with_arrays(values) for plane, values in zip(planes, (lows, highs), strict=True)]
        return ExactSums(template.grid, halves[0], halves[1], None)


def covering(question: Question[Any], layout: Layout) -> dict[tuple[str, str], BoolMatrix]:
    """Which numbers of an answer each holding of a layout has a share in, in one row of flags."""
    return {origin: np.concatenate(list(_counts(sums))) > 0 for origin, sums in _of_rows(question, layout, 1)}


def _of_rows(question: Question[Any], layout: Layout | None, rows: int) -> Iterator[tuple[tuple[str, str], ExactSums]]:
    """What holdings would answer of so many rows of zeros; without a layout all would answer the same."""
    origins = [(one.site, one.block) for one in layout.holdings] if layout else [POOLED]
    for number, origin in enumerate(origins):
        share = question.each.share(layout, number)
        if share is not None:
            zeros = np.zeros((rows, len(share.question.variables)))
            yield origin, replace(share.finish(share.question.answer([zeros] if rows else [])), clipped=None)


def _arrays(sums: ExactSums) -> Iterator[tuple[Any, Any]]:
    """Low and high halves of all numbers, the counts last where they are kept apart."""
    yield from zip(sums.low.arrays().values(), sums.high.arrays().values(), strict=True)
    if sums.low.own_counts is not None:
        yield sums.low.own_counts, np.zeros_like(sums.low.own_counts)


def _counts(sums: ExactSums) -> Iterator[Any]:
    """Rows behind every number, in the order of the vector."""
    arrays = sums.low.arrays().values()
    for values, counts in zip(arrays, sums.low.counts_by_array(), strict=True):
        yield np.broadcast_to(counts, values.shape).ravel()
