"""Replayed rounds: the same questions on other processors, and faults of runs of several rounds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from tests.verification.claims import Claim, claims, counted

PROCESSORS = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "SkylakeX")
THREADS = (1, 2)
METHODS = ("fedrcd-x", "fedrcd-sx", "fed-direct", "fedrcd-r")

SCRIPT = """
import sys, warnings
import numpy as np
import fedrcd
from fedrcd.protocol.transport import InProcess
from fedrcd.protocol.wire import digest_of
warnings.simplefilter("ignore")
seed, method = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(seed)
p = 10
B = np.tril(rng.uniform(0.3, 1.0, size=(p, p)), -1) * (rng.random((p, p)) < 0.4)
X = np.linalg.inv(np.eye(p) - B) @ rng.laplace(size=(p, 3000))
asked = []
real = InProcess.pool
def pool(self, question):
    pooled = real(self, question)
    asked.append(digest_of(question) + digest_of(pooled))
    return pooled
InProcess.pool = pool
frame = {f"x{k}": (0.0, float(2.0 ** np.round(np.log2(X[k].std())))) for k in range(p)}
parts = enumerate(np.array_split(X.T.round(6), 3))
tables = [fedrcd.Table(part, f"s{k}", f"s{k}", columns=tuple(frame)) for k, part in parts]
found = fedrcd.discover(tables, method, arithmetic="exact", frame=frame)
print("".join(asked), *found.order)
"""


@claims(seed=74)
def processors(seed: int) -> Iterator[Claim]:
    """Questions and totals of replayed methods under other linear algebra, and with other numbers of threads."""
    cases = [(method, k) for method in METHODS for k in range(4)]
    different = 0
    for method, k in counted(cases, "processors"):
        found = {_asked(method, seed + k, processor, threads) for processor in PROCESSORS for threads in THREADS}
        different += len(found) > 1
    count = len(cases) * len(PROCESSORS) * len(THREADS)
    yield Claim(
        "methods that sites replay ask the same questions and have the same totals, to the bit, whichever kernels "
        f"OpenBLAS takes ({', '.join(PROCESSORS)}), with one thread or two",
        count,
        f"{different} of {len(cases)} runs differ",
        not different,
    )


def _asked(method: str, seed: int, processor: str, threads: int) -> str:
    """Digests of all questions and totals of a run, and its order."""
    environment = {**os.environ, "OPENBLAS_CORETYPE": processor, "OPENBLAS_NUM_THREADS": str(threads)}
    command = [sys.executable, "-c", SCRIPT, str(seed), method]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
