r"""Replicates of a method: the same conversation with resampled sums, or with resampled rows.

**Groups.** One round asks every site for the sums of G secret groups of its rows (`protocol.groups`). Their total gives
the result itself; a replicate weighs the groups anew and runs the method on the weighted total. Weights of the groups
of a block are G times a Dirichlet vector with parameter :math:`\alpha = (G - 2) / G`: then every weight has mean 1 and
variance 1, and the variance of a weighted mean is, on average over which rows are in which group, exactly the sampling
variance. Whole numbers from a multinomial would make it (G - 1)/G of that, a tenth too small for ten groups, and would
leave a third of the groups out of each replicate.

**Rows.** On one machine rows themselves can be drawn with replacement, block by block, for any method.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from fedrcd.data.rows import count_rows
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError, StatisticError
from fedrcd.methods.auto import scale_free_default
from fedrcd.methods.card import Card
from fedrcd.methods.em_moments import ask_moments
from fedrcd.methods.registry import build
from fedrcd.methods.skeleton import Estimate, Parts
from fedrcd.protocol.blas import one_blas_thread
from fedrcd.protocol.driver import run
from fedrcd.protocol.groups import LEAST_GROUPS, GroupedQuestion
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.transport import Around, Setting, Traffic, Transport
from fedrcd.protocol.wire import most_bytes
from fedrcd.statistics.grouped_sums import GroupedSums, Stack
from fedrcd.typing import IntMatrix, IntVector, Matrix, Vector

ENOUGH_UNITS = 100
"""Groups over all sites beyond which more change little."""

Embed = Callable[[Sequence[Table]], Transport]
"""Makes a transport over blocks of rows."""


def one_round(card: Card, options: dict[str, Any]) -> Parts[Any]:
    """The method, or the one-round method with the same order: only that can be resampled by groups."""
    as_one = card.in_one_round
    if as_one is None:
        raise ConfigError(
            f"{card.name} asks {card.rounds} rounds of questions that depend on the answers, so its groups cannot be "
            f"resampled; take {scale_free_default()}, or resample='rows' where all rows are in this process"
        )
    return replace(build(as_one.method, **{**options, **as_one.options}), weights=build(card.name, **options).weights)


@dataclass(frozen=True, slots=True)
class GroupRecorder(Around):
    """A transport that asks for groups, remembers them, and answers with their total."""

    behind: Transport
    groups: int
    answers: list[GroupedSums] = field(default_factory=list)

    def pool(self, question: Question[S]) -> S:
        """The sum of all groups of all sites."""
        if self.answers or not question.groupable:
            raise ConfigError("a method of several rounds cannot be resampled by groups")
        asked: Any = question
        grouped: Any = self.behind.pool(GroupedQuestion(asked, self.groups))
        self.answers.append(grouped)
        total: S = grouped.total()
        return total


@dataclass(frozen=True, slots=True)
class Replica:
    """A transport that answers the one question of a method with weighted groups."""

    setting: Setting
    stack: Stack
    weights: Vector
    traffic: Traffic = field(default_factory=Traffic)

    def pool(self, question: Question[S]) -> S:  # noqa: ARG002 - there is one
        """The weighted total."""
        total: S = self.stack.combine(self.weights)
        return total


class Grouped(NamedTuple):
    """The result on all rows, and the groups that replicates are made of."""

    estimate: Estimate
    setting: Setting
    stack: Stack
    smallest: int
    """Rows of the smallest group."""


class Replicates(NamedTuple):
    """Orders, shape (replicates, p), and effects, shape (replicates, p, p), of replicates that had an answer."""

    orders: IntMatrix
    B: Matrix
    cov: Matrix
    """Covariance of each replicate, shape (replicates, p, p)."""
    failed: int
    """Replicates whose sums allowed no answer."""

    def edge_shares(self) -> Matrix:
        """Share of replicates that have each edge, shape (p, p)."""
        shares: Matrix = (~np.isnan(self.B) & (self.B != 0)).mean(axis=0)
        return shares


class Resampled(NamedTuple):
    """A result on all rows, with its replicates."""

    estimate: Estimate
    replicates: Replicates
    units: int
    """Groups of all blocks, which sites that share a block have in common; 0 where rows were resampled."""
    blocks: int
    """Blocks of rows they are of."""
    smallest: int
    """Rows of the smallest group."""
    without: Mapping[str, tuple[IntVector, Matrix] | str]
    """Order and effects without each site, or why there are none."""


def resample_groups(
    parts: Parts[Any],
    setting: Setting,
    transport: Transport,
    groups: int,
    replicates: int,
    seed: np.random.SeedSequence,
    *,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Resampled:
    """Ask for the sums of groups in one round, and run the method on them and on replicates of them."""
    grouped = ask_groups(parts, setting, transport, groups)
    weights = draw_weights(grouped.stack, replicates, np.random.default_rng(seed))
    drawn = group_replicates(parts, grouped, weights, jobs=jobs, progress=progress)
    without = leave_one_out(parts, grouped)
    units = {(block, k) for (_, block), k in zip(grouped.stack.origins, grouped.stack.number, strict=True)}
    blocks = {block for block, _ in units}
    return Resampled(grouped.estimate, drawn, len(units), len(blocks), grouped.smallest, without)


def groups_for(sizes: Sequence[int], rows: Sequence[int]) -> int:
    """Groups per block, for blocks of these sizes: enough over all, none with fewer rows than its block's `rows`.

    That may be fewer than `LEAST_GROUPS`: then there are too few rows for a bootstrap of groups that large.
    """
    typical = [least + 4 * math.sqrt(least) for least in rows]  # sizes of groups vary by chance
    room = min(int(size / one) for size, one in zip(sizes, typical, strict=True))
    return min(max(LEAST_GROUPS, math.ceil(ENOUGH_UNITS / len(sizes))), room)


def bytes_of_groups(
    parts: Parts[Any], setting: Setting, holdings: Sequence[tuple[str, str, int]], groups: int, *, gaps: bool = False
) -> dict[str, int]:
    """What each site will send at most, from the shape of the first question; no row is looked at.

    `holdings` are sites, blocks, and their numbers in the layout.
    """
    question = next(parts.rounds(replace(setting, fills_gaps=False)))
    sizes: dict[str, int] = {}
    for site, block, holding in holdings:
        share = question.share(setting.layout, holding)
        if share is not None:
            one_row = np.zeros((1, len(share.question.variables)))
            sums = share.finish(share.question.answer([one_row], gaps=gaps))
            sizes[site] = sizes.get(site, 0) + most_bytes(GroupedSums({(site, block): (sums,) * groups}))
    return sizes


@dataclass(frozen=True, slots=True)
class BootstrapPlan:
    """What a bootstrap will cost, before anything is sent."""

    method: str
    groups: int
    """Per block of rows."""
    bytes_by_site: Mapping[str, int]
    """At most; small exact sums take fewer."""
    rounds: int = 1

    def __str__(self) -> str:
        sizes = sorted(self.bytes_by_site.values())
        sites = f"{len(sizes)} site{'s' * (len(sizes) != 1)}"
        most = f"at most {sizes[-1] / 1e3:,.1f} kB a site"
        return f"{sites}, {self.groups} groups of rows each: {most} in {self.rounds} round"


def ask_groups(parts: Parts[Any], setting: Setting, transport: Transport, groups: int) -> Grouped:
    """Ask for the groups, in one round, and run the method on their total."""
    if setting.fills_gaps:  # gaps are filled by the moments of all rows, in every replicate
        setting = replace(setting, given=run(ask_moments(setting), transport), fills_gaps=False)
    recorder = GroupRecorder(transport, groups)
    estimate = run(parts.rounds(setting), recorder)
    (answer,) = recorder.answers
    answer.require_alike()
    return Grouped(estimate, setting, answer.stack(), answer.smallest)


def draw_weights(stack: Stack, replicates: int, rng: np.random.Generator) -> Matrix:
    """How often each group counts in each replicate, shape (replicates, units), block by block.

    Sites that hold columns of the same rows split them alike, and their groups get the same weights.
    """
    weights = np.ones((replicates, len(stack.origins)))
    blocks = np.array([block for _, block in stack.origins])
    number = np.array(stack.number)
    for block in sorted(set(blocks.tolist())):
        mine = blocks == block
        G = int(number[mine].max()) + 1
        if G < 3:
            raise ConfigError(f"a bootstrap needs at least 3 groups of block {block!r}, got {G}")
        drawn = G * rng.dirichlet(np.full(G, (G - 2) / G), size=replicates)
        weights[:, mine] = drawn[:, number[mine]]
    return weights


def group_replicates(
    parts: Parts[Any],
    grouped: Grouped,
    weights: Matrix,
    *,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Replicates:
    """Run the method once for every row of weights, shape (replicates, units)."""
    chunks = np.array_split(weights, max(1, min(len(weights), 20)))
    work = [(_run_groups, (parts, grouped.setting, grouped.stack, chunk)) for chunk in chunks]
    return _gather(work, jobs, progress)


def row_replicates(
    parts: Parts[Any],
    setting: Setting,
    blocks: Sequence[Table],
    embed: Embed,
    seeds: Sequence[np.random.SeedSequence],
    *,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Replicates:
    """Run the method on rows drawn with replacement, once per seed."""
    work = [(_run_rows, (parts, setting, blocks, embed, [seed])) for seed in seeds]
    return _gather(work, jobs, progress)


def draw_rows(n: int, rng: np.random.Generator) -> IntVector:
    """As many of n rows, with replacement, in the order of the table."""
    return np.sort(rng.integers(0, n, n))


def leave_one_out(parts: Parts[Any], grouped: Grouped) -> dict[str, tuple[IntVector, Matrix] | str]:
    """Order and effects without each site in turn, or why there are none; from the sums already there.

    With a single site there is nothing to leave out.
    """
    sites = sorted({site for site, _ in grouped.stack.origins})
    without: dict[str, tuple[IntVector, Matrix] | str] = {}
    for site in sites if len(sites) > 1 else ():
        try:
            replica = Replica(grouped.setting, grouped.stack, grouped.stack.without(site))
            estimate = run(parts.rounds(grouped.setting), replica)
            without[site] = estimate.order, estimate.marked
        except (StatisticError, DataError) as problem:
            without[site] = str(problem)
    return without


START_WORKERS = 6.0
"""Seconds of work left from which more processes are started; each takes a second or two to import what it needs."""

Drawn = list[tuple[Any, Matrix, Matrix] | None]


def _run_groups(parts: Parts[Any], setting: Setting, stack: Stack, weights: Matrix) -> Drawn:
    with one_blas_thread():
        return [_outcome(parts, Replica(setting, stack, one)) for one in weights]


def _run_rows(
    parts: Parts[Any], setting: Setting, blocks: Sequence[Table], embed: Embed, seeds: Sequence[Any]
) -> Drawn:
    drawn: Drawn = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        chosen: dict[str, Any] = {}  # sites that share a block hold the same rows
        for block in blocks:
            chosen.setdefault(block.block, draw_rows(count_rows(block), rng))
        transport = embed([block.keep(chosen[block.block]) for block in blocks])
        frame = replace(setting, frame=transport.setting.frame, layout=transport.setting.layout)
        drawn.append(_outcome(parts, transport, frame))
    return drawn


def _outcome(parts: Parts[Any], transport: Transport, setting: Setting | None = None) -> Any:
    try:
        estimate = run(parts.rounds(setting or transport.setting), transport)
    except (StatisticError, DataError):  # collinear, or too few rows
        return None
    return estimate.order, estimate.marked, estimate.marginals.cov


def _results(work: Sequence[Any], jobs: int) -> Iterator[Drawn]:
    """What each piece of work gives, in order."""
    begin = time.perf_counter()
    for number, (function, arguments) in enumerate(work):
        left = (time.perf_counter() - begin) / number * (len(work) - number) if number else 0.0
        if jobs > 1 and left > START_WORKERS:
            from joblib import Parallel, delayed

            parallel = Parallel(n_jobs=jobs, return_as="generator")
            yield from parallel(delayed(one)(*given) for one, given in work[number:])
            return
        yield function(*arguments)


def _gather(work: Sequence[Any], jobs: int, progress: Callable[[int], None] | None) -> Replicates:
    """Results of all pieces of work in order; on several processors once starting them is worth it."""
    done: Drawn = []
    for part in _results(work, jobs):
        done += part
        if progress:
            progress(len(done))
    kept = [one for one in done if one is not None]
    if not kept:
        raise StatisticError("no replicate had an answer; there are too few rows to resample")
    orders, B, cov = (np.stack(arrays) for arrays in zip(*kept, strict=True))
    return Replicates(orders, B, cov, len(done) - len(kept))
