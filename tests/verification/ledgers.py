"""Ledgers after random lives and after crashes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from fedrcd.federation.ledger.ledger import Ledger
from tests.federation.crashes import crashed, problems_after, secrets_of
from tests.federation.histories import live
from tests.verification.claims import Claim, claims, counted


@claims(seed=61)
def lives_leave_no_trace(seed: int) -> Iterator[Claim]:
    """Random histories of a federation against fresh ones of what remains, to the bit."""
    differences: dict[str, list[int]] = {"states": [], "orders": [], "weights": [], "runs": [], "records": []}
    entries, count = 0, 1000
    for k in counted(range(count), "histories"):
        with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
            ending = live(Path(folder), seed * count + k)
        entries += ending.entries
        outcomes = (ending.lived == ending.fresh, ending.orders, ending.weights, ending.embedded, ending.sound)
        for differs, same in zip(differences.values(), outcomes, strict=True):
            if not same:
                differs.append(k)
    words = {
        "states": "the state digest after a random life (join, grow, replace, erase, leave; 5 sites, p = 8; float64, "
        "float32, int and Parquet tables; 1 and 2 threads; rows and sites in another order) is that of a fresh start",
        "orders": "so are the orders of fedrcd-s and fedrcd-ni",
        "weights": "so are their effects, to the bit",
        "runs": "and those of a run over the sites without any ledger",
        "records": "every record of the ledger verifies afterwards",
    }
    for name, claim in words.items():
        differs = differences[name]
        result = f"{count - len(differs)} of {count} identical" + "".join(f"; differs: history {k}" for k in differs)
        yield Claim(claim, count, result, not differs)
    yield Claim("entries written in these histories", entries, "all verified", not differences["records"])


@claims(seed=62)
def crashes_lose_nothing(seed: int) -> Iterator[Claim]:
    """Kill -9, torn writes and a full disk at every write point of ledger and site logs."""
    with tempfile.TemporaryDirectory(dir=fast_folder()) as name:
        folder = Path(name)
        whole, *reports = crashed(folder, "--all")
        old = secrets_of(folder / "start")
        with Ledger.open(Path(whole["folder"]) / "ledger.db") as ledger:
            final = ledger.state_id
        for mode, words in (("kill", "killed before"), ("tear", "killed in the middle of"), ("full", "disk full from")):
            tried = [report for report in reports if report["mode"] == mode]
            problems = [problem for report in tried for problem in problems_after(report, final, old)]
            result = f"{len(problems)} problems" + "".join(f"; {problem}" for problem in problems)
            claim = f"{words} any write: nothing acknowledged is lost, old bytes are gone, the work goes on"
            yield Claim(claim, len(tried), result, not problems and len(tried) == whole["writes"])


def fast_folder() -> str | None:
    """Where many small files are written quickly, if there is such a place."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
