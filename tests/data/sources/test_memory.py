"""A table several times larger than the memory that a run may take, in a process of its own."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

N, P = 3_000_000, 10
BOUND = 80
"""Megabytes: a third of the table."""

RUN = """
import json, resource, sys, warnings
import fedrcd
warnings.simplefilter("ignore")
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
frame = {f"x{j:02}": (0.0, 1.0) for j in range(10)}
fedrcd.discover(sys.argv[1], "fedrcd-ni", frame=frame)
before = peak()
found = fedrcd.discover(sys.argv[2], "fedrcd-ni", frame=frame)
print(json.dumps([found.rows, peak() - before]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory otherwise")
def test_a_folder_larger_than_the_bound_is_summed_within_it(tmp_path):
    rng = np.random.default_rng(0)
    levels = rng.laplace(size=(1000, P)).cumsum(axis=1)  # what repeats is quick to write and to read
    part = np.tile(levels, (N // 3000, 1))
    whole = tmp_path / "whole"
    whole.mkdir()
    table = pa.table({f"x{j:02}": part[:, j] for j in range(P)})
    for number in range(3):
        parquet.write_table(table, whole / f"{number}.parquet")
    parquet.write_table(table[:2000], tmp_path / "small.parquet")
    command = [sys.executable, "-c", RUN, str(tmp_path / "small.parquet"), str(whole)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, grown = json.loads(done.stdout)
    assert rows == N
    assert grown < BOUND < N * P * 8 / 1e6 / 2.9
