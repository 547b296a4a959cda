"""All doors of a site in all cases: what one refuses, all refuse."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.contracts.test_doors import MATRIX, cases_in, require_refusal
from tests.verification.claims import WITH_FLOWER, Claim, claims, counted
from tests.verification.ledgers import fast_folder


@claims(seed=65)
def doors_refuse_alike(seed: int) -> Iterator[Claim]:
    """Every case at every door; the tests try some of these pairs."""
    told = subprocess.run([WITH_FLOWER, "-m", "tests.verification.doors"], stdout=subprocess.PIPE, check=True).stdout
    problems = json.loads(told)
    yield Claim(
        "what is refused at one door of a site, by rows, cells, frame, trim, trust or budget, is refused at every "
        "door that would let the same sums out, and logged",
        len(MATRIX),
        f"{len(problems)} problems" + "".join(f"; {problem}" for problem in problems),
        not problems,
    )


def all_problems() -> list[str]:
    """Doors that did not refuse what they should, and why."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory(dir=fast_folder()) as name:
        prepared = cases_in(lambda: Path(tempfile.mkdtemp(dir=name)))
        for case, door in counted(MATRIX, "doors"):
            folder = Path(tempfile.mkdtemp(dir=name))
            try:
                require_refusal(prepared, folder, case, door)
            except AssertionError as problem:
                problems.append(f"{door} where {case}: {problem}")
            shutil.rmtree(folder)
    return problems


if __name__ == "__main__":
    json.dump(all_problems(), sys.stdout)
