"""Exact sums of 40,000 rows: however they are split and ordered, every method gives the same bits.

Also by the command line over the files of a federation, which is what its sites give as machines.
"""

import json
from functools import cache

import numpy as np
import pytest
from typer.testing import CliRunner

import fedrcd
from fedrcd.cli.main import app as command
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.methods.registry import METHODS
from fedrcd.methods.settings import Settings
from tests.contracts.federations import FEDERATED, simulated
from tests.federation.sites import horizontal

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own

ROWS, P, SEED = 40_000, 5, 11
NAMES = tuple(f"x{j}" for j in range(1, P + 1))
SITES = (2, 7, 40)
FRAMES = {"declared": {name: (0.3 * j, 0.7 + j) for j, name in enumerate(NAMES)}, "proposed": None}
LOGARITHMS = [name for name in FEDERATED if METHODS[name].score == "pairwise entropies"]
"""Entropies are sums of logarithms, which no grid makes exact: order and effects have the same bits, scores do not."""


@cache
def rows():
    _, X = simulated(P, ROWS, SEED)
    return X


@cache
def split(sites):
    """The rows in a random order, cut at random places into so many tables of at least 40 rows."""
    rng = np.random.default_rng(sites)
    cuts = np.sort(rng.choice(ROWS // 40 - 1, sites - 1, replace=False) + 1) * 40
    return tuple(np.split(rows()[rng.permutation(ROWS)], cuts))


@cache
def over(sites, arithmetic, frame):
    """The transport over a split; what one method asked does not matter to another."""
    tables = [rows()] if sites == 1 else list(split(sites))
    return fedrcd.in_process(tables, arithmetic=arithmetic, frame=FRAMES[frame])


@cache
def of_sites(arithmetic, within, *, shuffled):
    """The transport over three tables that differ in level and unit, their rows in another order if `shuffled`."""
    rng = np.random.default_rng(5)
    parts = [part * (1 + k) + 10.0 * k for k, part in enumerate(np.array_split(rows(), 3))]
    tables = [part[rng.permutation(len(part))] if shuffled else part for part in parts]
    return fedrcd.in_process(tables, arithmetic=arithmetic, within=within)


def assert_same_bits(one, other):
    assert one.order == other.order
    assert one.B.tobytes() == other.B.tobytes()
    assert one.rows == other.rows == ROWS
    if one.method not in LOGARITHMS:
        assert one.trace == other.trace
        return
    for mine, others in zip(one.trace, other.trace, strict=True):
        assert mine.chosen == others.chosen
        assert mine.scores == pytest.approx(others.scores, rel=1e-9)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("arithmetic", ["exact", "compact"])
@pytest.mark.parametrize("method", FEDERATED)
def test_splits_and_orders_change_no_bit(method, arithmetic, frame):
    whole = fedrcd.discover(over(1, arithmetic, frame), method)
    # Few enough to be quick: a method meets every number of tables, though not in every arithmetic and frame.
    turn = FEDERATED.index(method) + 2 * (arithmetic == "exact") + (frame == "declared")
    assert_same_bits(fedrcd.discover(over(SITES[turn % len(SITES)], arithmetic, frame), method), whole)


@pytest.mark.parametrize(("within", "arithmetic"), [("centre", "exact"), ("standardise", "compact")])
@pytest.mark.parametrize("method", FEDERATED)
def test_the_order_of_rows_inside_sites_changes_no_bit_of_sites_that_express_them_by_their_own(
    method, within, arithmetic
):
    ordered, shuffled = (
        fedrcd.discover(of_sites(arithmetic, within, shuffled=shuffled), method) for shuffled in (False, True)
    )
    assert_same_bits(shuffled, ordered)


@pytest.mark.parametrize("arithmetic", ["exact", "compact"])
def test_tables_and_the_transport_over_them_give_the_same_bits(arithmetic):
    how = {"arithmetic": arithmetic, "frame": FRAMES["declared"]}
    found = fedrcd.discover(list(split(7)), "fedishc", **how)
    assert_same_bits(found, fedrcd.discover(over(1, arithmetic, "declared"), "fedishc"))
    assert_same_bits(found, fedrcd.discover(list(reversed(split(2))), "fedishc", **how))


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return horizontal(tmp_path_factory.mktemp("federation"), p=4, rows=(1500, 1600, 1700))


@pytest.mark.parametrize(
    ("method", "arithmetic"),
    [("fedrcd-s", "exact"), ("fedrcd-x", "exact"), ("fedishc", "exact"), ("fedishc", "compact")],
)
def test_the_command_over_the_files_of_a_federation_gives_the_bits_of_its_machines(disk, tmp_path, method, arithmetic):
    flower = pytest.importorskip("fedrcd.federation.flower.local_grid")
    from fedrcd.federation.flower.server import conduct

    files = [disk.data(site.name) for site in disk.federation.sites]
    options = ["--federation", disk.file, "--method", method, "--arithmetic", arithmetic, "--json"]
    done = CliRunner().invoke(command, [str(one) for one in ("discover", *files, *options)])
    assert done.exit_code == 0, done.output
    content, found = json.loads(done.stdout), fedrcd.Discovery.from_json(done.stdout)

    plan = RunPlan(
        run="r1",
        federation=str(disk.file),
        folder=str(tmp_path),
        settings=Settings(method=method, arithmetic=arithmetic),
        by_key=False,
        wait=0.0,
    )
    apart = disk.apart(tmp_path / "sites")
    estimate = conduct(plan, flower.LocalGrid(apart.settings_files())).estimate
    assert content["order"] == [disk.federation.variables[k] for k in estimate.order]
    assert found.B.tobytes() == estimate.B.tobytes()
