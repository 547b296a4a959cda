"""Hidden common causes: what a search claims, in the population, in samples, and where nothing can be told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd import lingam
from fedrcd.errors import ConfigError, FedrcdError, IdentifiabilityWarning
from fedrcd.graphs.dag import ancestry, identified_total_effects
from fedrcd.typing import Matrix
from tests.verification.hidden import oracle_faults

NAMES = ("a", "b", "c", "d")


def confounded(rows: int, seed: int = 0) -> Matrix:
    """a -> b, c -> d, and a hidden cause of b and c."""
    rng = np.random.default_rng(seed)
    e, hidden = rng.exponential(size=(rows, 4)) - 1, rng.exponential(size=rows) - 1
    X = np.empty((rows, 4))
    X[:, 0] = e[:, 0]
    X[:, 1] = 0.8 * X[:, 0] + e[:, 1] + hidden
    X[:, 2] = e[:, 2] - hidden
    X[:, 3] = 0.9 * X[:, 2] + e[:, 3]
    return X


def table(X: Matrix) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list(NAMES[: X.shape[1]]))


@pytest.fixture(scope="module")
def found() -> fedrcd.Discovery:
    return fedrcd.discover(table(confounded(5000)), hidden=True)


@pytest.mark.parametrize("seed", range(2))
def test_population_of_a_random_model(seed: int) -> None:
    assert oracle_faults(seed) == []


def test_pair_ancestors_and_open_effects(found: fedrcd.Discovery) -> None:
    assert [{pair.one, pair.other} for pair in found.confounded] == [{"b", "c"}]
    assert found.confounded[0].sure
    assert set(found.ancestors) == {("a", "b"), ("c", "d")}
    assert {(edge.cause, edge.effect) for edge in found.edges()} == {("a", "b"), ("c", "d")}
    assert set(found.not_identified()) == {("b", "c"), ("c", "b")}
    assert found.rounds == 1


def test_total_effects_over_an_open_effect_are_open(found: fedrcd.Discovery) -> None:
    totals = found.total_effects()
    assert np.isnan(totals.loc["d", "b"])
    assert np.isnan(totals.loc["c", "a"])
    assert totals.loc["b", "a"] == pytest.approx(0.8, abs=0.1)
    B = np.array([[0, np.nan, 0], [np.nan, 0, 0], [0, 2.0, 0]])
    assert np.array_equal(np.isnan(identified_total_effects(B)), [[0, 1, 0], [1, 0, 0], [1, 0, 0]])


def test_saved_and_exported(found: fedrcd.Discovery) -> None:
    again = fedrcd.Discovery.from_json(found.to_json())
    assert (again.confounded, again.ancestors) == (found.confounded, found.ancestors)
    graph = found.to_networkx()
    assert graph["b"]["c"] == graph["c"]["b"] == {"kind": "hidden cause"}
    assert 'dir="both"' in found.to_dot()
    assert found.to_gml().count("hidden cause") == 2
    assert 'class="hidden"' in found.to_svg()
    assert "<->" in str(found)


def test_same_bits_however_rows_are_split(found: fedrcd.Discovery) -> None:
    X = confounded(5000)
    whole = fedrcd.discover(table(X), hidden=True, arithmetic="exact")
    parts = [table(part) for part in np.array_split(X, [700, 900, 3000])]
    for split in (
        fedrcd.discover(parts, hidden=True, arithmetic="exact"),
        fedrcd.discover(parts, hidden=True, masked=True),
    ):
        assert np.array_equal(split.B, whole.B, equal_nan=True)
        assert (split.confounded, split.ancestors) == (whole.confounded, whole.ancestors)
    assert [pair.one for pair in whole.confounded] == [pair.one for pair in found.confounded]


def test_bootstrap_of_the_claims() -> None:
    drawn = fedrcd.bootstrap(table(confounded(5000)), n_sampling=10, random_state=0, hidden=True)
    shares = drawn.hidden_probabilities()
    assert shares.loc["b", "c"] == shares.loc["c", "b"] > 0.7
    assert shares.loc["a", "d"] < 0.4
    assert drawn.path_probabilities().loc["d", "c"] > 0.7


def test_screen_flags_what_alarm_leaves() -> None:
    rng = np.random.default_rng(1)
    flagged = {"screen": 0, "alarm": 0}
    for _ in range(6):
        X = rng.laplace(size=(500, 6))
        X[:, 3:] += X[:, :3]
        for caution in flagged:
            flagged[caution] += len(fedrcd.discover(X, hidden=True, caution=caution).confounded)
    assert flagged["alarm"] <= 1 < flagged["screen"] <= 12


def test_gaussian_errors_claim_nothing() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 4))
    X[:, 2] += X[:, 0]
    X[:, 3] += 2 * X[:, 2]
    with pytest.warns(IdentifiabilityWarning):
        found = fedrcd.discover(X, hidden=True)
    assert (found.ancestors, found.confounded, found.edges()) == ((), (), [])
    assert len(found.not_identified()) == 4


@pytest.mark.parametrize(
    ("rows", "columns", "more", "said"),
    [
        (80, 3, {}, "too few to tell hidden causes"),
        (500, 3, {"method": "fedrcd-x"}, "has no option 'hidden'"),
        (500, 3, {"lags": 1}, "without time"),
        (500, 3, {"weights": "bic"}, "selects effects by itself"),
        (500, 3, {"hidden": "yes"}, "hidden must be True or False"),
        (500, 3, {"knowledge": np.array([[-1, -1, -1], [1, -1, -1], [-1, -1, -1]])}, "not require paths"),
    ],
)
def test_one_clear_line(rows: int, columns: int, more: dict[str, object], said: str) -> None:
    X = np.random.default_rng(3).laplace(size=(rows, columns))
    with pytest.raises(FedrcdError, match=said) as refusal:
        fedrcd.discover(X, **{"hidden": True, **more})
    assert "\n" not in str(refusal.value)


def test_collinear_columns_and_two_variables() -> None:
    X = confounded(1000)
    with pytest.raises(FedrcdError):
        fedrcd.discover(np.column_stack([X, X[:, 0] + X[:, 1]]), hidden=True)
    two = fedrcd.discover(table(X[:, :2]), hidden=True)
    assert set(two.ancestors) <= {("a", "b")}


def test_knowledge_is_kept() -> None:
    known = fedrcd.Knowledge(forbidden=[("a", "b")])
    found = fedrcd.discover(table(confounded(3000)), hidden=True, knowledge=known)
    assert ("a", "b") not in {(edge.cause, edge.effect) for edge in found.edges()}
    assert ("a", "b") not in found.ancestors


def test_ancestors_follow_from_claims(found: fedrcd.Discovery) -> None:
    closure = ancestry(np.nan_to_num(found.B))
    pairs = {(found.names[j], found.names[i]) for i, j in np.argwhere(closure)}
    assert pairs <= set(found.ancestors)


def test_options_of_a_wrong_kind() -> None:
    with pytest.raises(ConfigError, match="caution must be one of alarm, screen"):
        fedrcd.discover(confounded(500), hidden=True, caution="loud")


def test_names_of_lingam(found: fedrcd.Discovery) -> None:
    rcd = lingam.RCD().fit(table(confounded(5000)))
    assert rcd.ancestors_list_ == [set(), {0}, set(), {2}]
    assert np.array_equal(rcd.adjacency_matrix_, found.B, equal_nan=True)
    blocks = lingam.BottomUpParceLiNGAM().fit(table(confounded(5000))).causal_order_
    assert any(isinstance(block, list) and {1, 2} <= set(block) for block in blocks)
    assert blocks[-1] == 3
