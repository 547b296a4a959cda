import importlib
import sys

import numpy as np
import pandas as pd
import pytest

MODULES = [
    pytest.param("fedrcd.lingam", id="fedrcd"),
    pytest.param("lingam", id="lingam", marks=pytest.mark.reference),
]


@pytest.fixture(params=MODULES)
def lingam(request):
    """The names of lingam: ours, and its own where it is."""
    np.random.seed(0)  # noqa: NPY002 - lingam draws rows from numpy's global state, whatever its random_state
    module = importlib.import_module(request.param)
    module.utils = importlib.import_module(f"{request.param}.utils")
    return module


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(100)
    n = 1000
    x3 = rng.uniform(size=n)
    x0 = 3.0 * x3 + rng.uniform(size=n)
    x2 = 6.0 * x3 + rng.uniform(size=n)
    x1 = 3.0 * x0 + 2.0 * x2 + rng.uniform(size=n)
    x5 = 4.0 * x0 + rng.uniform(size=n)
    x4 = 8.0 * x0 - 1.0 * x2 + rng.uniform(size=n)
    return pd.DataFrame(np.array([x0, x1, x2, x3, x4, x5]).T, columns=["x0", "x1", "x2", "x3", "x4", "x5"])


PROGRAM = """\
import sys
arguments = sys.argv[1:]
kind = next(one[2:] for one in arguments if one.startswith("-T"))
if kind == "wrong":
    sys.exit('Format: "wrong" not recognized.')
source = arguments[-1] if not arguments[-1].startswith("-") else None
text = open(source).read() if source else sys.stdin.read()
picture = kind + " of " + text
if "-O" in arguments:
    open(source + "." + kind, "w").write(picture)
elif "-o" in arguments:
    open(arguments[arguments.index("-o") + 1], "w").write(picture)
else:
    sys.stdout.write(picture)
"""


@pytest.fixture
def graphviz(tmp_path_factory, monkeypatch):
    """A program `dot` that copies its text, alone on the path."""
    folder = tmp_path_factory.mktemp("graphviz")
    (folder / "dot").write_text(f"#!{sys.executable}\n{PROGRAM}")
    (folder / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
def no_graphviz(monkeypatch):
    monkeypatch.setenv("PATH", "")
