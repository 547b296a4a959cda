"""With exact sums nothing depends on how rows are split: not one bit of the order's evidence or of the effects."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedrcd
from fedrcd.data.simulate.partition import row_parts, split_rows
from fedrcd.errors import ConfigError, OutlierWarning
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import in_process
from fedrcd.protocol.site import LocalSite
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from tests.contracts.federations import FEDERATED, blocks_of, rows_together, simulated, some_split

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
seeds = st.integers(0, 10_000)
GRIDS = [name for name, grid in ARITHMETIC.items() if grid is not None]
WHOLLY_EXACT = [name for name in FEDERATED if METHODS[name].score != "pairwise entropies"]
"""Entropies are sums of logarithms, which no grid makes exact."""


def federation(X, names, parts, arithmetic):
    frame = Frame(np.full(len(names), 0.25), np.full(len(names), 2.0))
    return in_process(blocks_of(X, names, parts), names, frame=frame, grid=ARITHMETIC[arithmetic])


def estimate(method, transport):
    return run(build(method).rounds(transport.setting), transport)


@pytest.mark.parametrize("arithmetic", GRIDS)
@pytest.mark.parametrize("method", WHOLLY_EXACT)
def test_every_split_of_the_rows_gives_the_same_bits(method, arithmetic):
    model, X = simulated(5, 300, 3)
    rng = np.random.default_rng(8)
    whole = estimate(method, federation(X, model.names, row_parts([np.arange(300)], model.names), arithmetic))
    for sites in (2, 5):
        shuffled = split_rows(300, sites, scheme="unequal", minimum=2, rng=rng)
        split = estimate(method, federation(X, model.names, row_parts(shuffled, model.names)[::-1], arithmetic))
        assert split.B.tobytes() == whole.B.tobytes()
        assert split.order.tolist() == whole.order.tolist()
        for one, two in zip(split.steps, whole.steps, strict=True):
            assert one.scores.tobytes() == two.scores.tobytes()


@settings(max_examples=30)
@given(seeds, st.sampled_from(GRIDS))
def test_vertical_and_hybrid_splits_pool_to_the_bits_of_the_rows_they_hold_together(seed, arithmetic):
    rng = np.random.default_rng(seed)
    model, X = simulated(4, 40, seed)
    parts = some_split(rng, 40, model.names)
    transport = federation(X, model.names, parts, arithmetic)
    pooled = transport.pool(transport.setting.pairs(4))
    for i in range(4):
        for j in range(4):
            rows = rows_together(40, model.names, parts, {i, j})
            alone = LocalSite.of("all", X[rows], model.names).answer(transport.setting.pairs(4))
            for power in pooled.low.sums:
                for half in ("low", "high"):
                    split, whole = (np.broadcast_to(getattr(s, half).sums[power], (4, 4)) for s in (pooled, alone))
                    assert split[i, j] == whole[i, j]


@pytest.mark.parametrize("arithmetic", GRIDS)
@pytest.mark.parametrize("ask", ["pairs", "tensor"])
def test_threads_and_types_of_numbers_change_no_bit(arithmetic, ask):
    X = np.random.default_rng(1).integers(-50, 50, (20_000, 3))
    names = ("a", "b", "c")
    setting = federation(X.astype(float), names, row_parts([np.arange(len(X))], names), arithmetic).setting
    question = setting.pairs(4) if ask == "pairs" else setting.tensor()
    answers = [
        LocalSite.of("s", np.asarray(X, dtype=kind).astype(float), names, threads=threads).answer(question)
        for kind in (np.int64, np.float32, np.float64)
        for threads in (1, 2)
    ]
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-x"])
def test_the_fine_grid_gives_the_effects_of_float64_but_for_its_steps(method):
    model, X = simulated(6, 2000, 5)
    frame = pd.DataFrame(X, columns=list(model.names))
    exact, plain = (fedrcd.discover(frame, method, arithmetic=name) for name in ("exact", "float"))
    assert exact.order == plain.order
    assert pytest.approx(plain.B, abs=1e-4) == exact.B


def test_clipped_values_are_counted_coarsely_and_said():
    _, X = simulated(4, 500, 2)
    X[:3, 1] = 1e6
    with pytest.warns(OutlierWarning, match="< 11 values lie more than 64 scales"):
        fedrcd.discover(X, "fedrcd-ni", arithmetic="exact")


def test_what_cannot_be_exact_is_refused():
    with pytest.raises(ConfigError, match="needs arithmetic='float'"):
        fedrcd.discover(np.zeros((5, 2)), arithmetic="exact", missing="expected")
    with pytest.raises(ConfigError, match="arithmetic must be one of float, exact, compact"):
        fedrcd.discover(np.zeros((5, 2)), arithmetic="wide")
