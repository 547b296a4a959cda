"""Editions after random lives: what all answers of a site tell together."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.harness.parallel import as_done

from tests.federation.edition_crashes import crash, crashes, problems_after
from tests.federation.edition_histories import Ending, live
from tests.verification.claims import Claim, claims, counted
from tests.verification.ledgers import fast_folder

MOST_SHOWN = 10
"""Problems that a claim tells of."""


@claims(seed=63)
def lives_tell_nobody(seed: int) -> Iterator[Claim]:
    """Random histories of five sites, judged by a checker that knows nothing of editions."""
    releases, count, problems = 0, 1000, []
    lived = as_done(_live, range(seed * count, seed * count + count))
    for (k, ending), _ in zip(lived, counted(range(count), "histories"), strict=True):
        releases += ending.releases
        problems += [f"history {k}: {problem}" for problem in ending.problems]
    yield Claim(
        "no answers of a site, pairwise or combined, tell fewer persons than a batch, erased persons are in none, and "
        "the ledger is that of a fresh federation (5 sites; arrivals, corrections back and forth, deletions, gaps, "
        "erasures, renames, moved rows, duplicated identifiers, refreshes, runs)",
        count,
        f"{releases} answers, {len(problems)} problems" + "".join(f"; {problem}" for problem in problems[:MOST_SHOWN]),
        not problems,
    )


def _live(seed: int) -> Ending:
    with tempfile.TemporaryDirectory(dir=fast_folder()) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tables with gaps
        return live(Path(folder), seed)


@claims(seed=64)
def crashes_lose_no_edition(seed: int) -> Iterator[Claim]:
    """Kill -9, torn writes and a full disk at every write point of the store of a site that makes editions."""
    del seed  # nothing is drawn
    with tempfile.TemporaryDirectory(dir=fast_folder()) as name:
        [whole] = crashes(Path(name), (), lambda _: ())
        points = range(1, whole["writes"] + 1)
        for mode, words in (("kill", "killed before"), ("tear", "killed in the middle of"), ("full", "disk full from")):
            tried = as_done(_crashed, [(name, mode, point, whole) for point in points])
            problems = [
                problem for (_, found), _ in zip(tried, counted(points, mode), strict=True) for problem in found
            ]
            yield Claim(
                f"{words} any write of a site's store: no edition is answered that is not recorded, none is recorded "
                "twice, and the same commands lead to the same editions",
                len(points),
                f"{len(problems)} problems" + "".join(f"; {problem}" for problem in problems[:MOST_SHOWN]),
                not problems,
            )


def _crashed(job: tuple[str, str, int, dict[str, Any]]) -> list[str]:
    """What is wrong after one fault, and after the same commands were given once more."""
    folder, mode, point, whole = job
    report = crash(Path(folder), mode, point)
    problems = problems_after(report, whole)
    shutil.rmtree(report["folder"])
    return problems
