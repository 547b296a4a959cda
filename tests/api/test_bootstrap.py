import json

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd.api.bootstrap import default_groups
from fedrcd.data import random_model
from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.protocol.in_process import embed

RNG = np.random.default_rng(0)
MODEL = random_model(4, noise="laplace", density=0.7, rng=RNG)
X = pd.DataFrame(MODEL.sample(3000, RNG), columns=list(MODEL.names))
TABLES = [X.iloc[:1500], X.iloc[1500:]]


@pytest.fixture(scope="module")
def found():
    return fedrcd.bootstrap(TABLES, "fedrcd-s", n_sampling=20, random_state=7, n_jobs=1)


def test_the_discovery_is_that_of_all_rows_in_one_round_with_confidence(found):
    plain = fedrcd.discover(TABLES, "fedrcd-s")
    assert found.discovery.order == plain.order
    np.testing.assert_allclose(found.discovery.B, plain.B, rtol=1e-8)
    assert found.discovery.rounds == 1
    np.testing.assert_array_equal(found.discovery.confidence, found.get_probabilities())


def test_the_same_seed_gives_the_same_replicates_and_another_others(found):
    again = fedrcd.bootstrap(TABLES, "fedrcd-s", n_sampling=20, random_state=7, n_jobs=2)
    other = fedrcd.bootstrap(TABLES, "fedrcd-s", n_sampling=20, random_state=8, n_jobs=1)
    np.testing.assert_array_equal(found.adjacency_matrices_, again.adjacency_matrices_)
    assert not np.array_equal(found.adjacency_matrices_, other.adjacency_matrices_)


def test_probabilities_are_shares_of_replicates(found):
    edges, order = found.edge_probabilities(), found.order_probabilities()
    assert list(edges.columns) == list(MODEL.names)
    np.testing.assert_allclose(order + order.T, 1 - np.eye(4))
    assert (found.path_probabilities().to_numpy() >= edges.to_numpy()).all()
    assert 0.5 < found.order_stability() <= 1
    assert len(found) == 20


def test_intervals_hold_the_estimate_and_grow_with_the_level(found):
    for kind in ("direct", "total"):
        narrow, wide = found.intervals(kind, 0.5), found.intervals(kind, 0.99)
        assert ((narrow["low"] < narrow["estimate"]) & (narrow["estimate"] < narrow["high"])).all()
        assert (wide["low"] < narrow["low"]).all()
        assert (narrow["estimate"].abs().diff().dropna() <= 0).all()


def test_intervals_of_groups_and_of_the_delta_method_are_alike(found):
    groups, delta = found.intervals(), found.discovery.intervals()
    ratio = (groups["high"] - groups["low"]) / (delta["high"] - delta["low"])
    assert 0.6 < ratio.median() < 1.6


def test_selection_keeps_what_is_probable_along_the_order(found):
    chosen = found.select(0.9)
    place = [chosen.order.index(name) for name in chosen.names]
    expected = (found.get_probabilities() >= 0.9) & np.greater.outer(place, place)
    np.testing.assert_array_equal(chosen.B != 0, expected)
    assert chosen.options["threshold"] == 0.9


def test_weights_by_bootstrap_are_the_same_selection():
    by_discover = fedrcd.discover(TABLES, "fedrcd-s", weights="bootstrap", threshold=0.9, n_sampling=20, random_state=7)
    assert by_discover.options["weights"] == "bootstrap"
    chosen = fedrcd.bootstrap(TABLES, "fedrcd-s", n_sampling=20, random_state=7).select(0.9)
    np.testing.assert_array_equal(by_discover.B, chosen.B)
    assert fedrcd.check(TABLES, by_discover).discovery is by_discover


def test_the_selection_within_replicates_can_be_another():
    by_discover = fedrcd.discover(TABLES, "fedrcd-s", weights="bootstrap", base="bic", n_sampling=5, random_state=7)
    chosen = fedrcd.bootstrap(TABLES, "fedrcd-s", weights="bic", n_sampling=5, random_state=7).select(0.5)
    np.testing.assert_array_equal(by_discover.B, chosen.B)
    assert by_discover.options["base"] == "bic"


def test_a_selection_by_bootstrap_can_be_checked_for_scale():
    found = fedrcd.discover(TABLES, "fedrcd-x", weights="bootstrap", n_sampling=2, check_scale=True)
    assert sorted(found.standardised_order) == sorted(found.names)


def test_a_wrong_threshold_is_refused_before_anything_is_asked():
    with pytest.raises(ConfigError, match="threshold must be a number above 0 and at most 1, got 2"):
        fedrcd.discover(["nowhere.csv"], weights="bootstrap", threshold=2)


def test_few_rows_are_resampled_by_a_method_of_one_round():
    found = fedrcd.bootstrap([X.iloc[:100], X.iloc[100:200]], n_sampling=2, random_state=0)
    assert found.discovery.method == "fedrcd-s"


def test_too_few_rows_for_groups_are_refused_with_a_way_out():
    with pytest.raises(ProtocolError, match="resample='rows' draws rows"):
        fedrcd.bootstrap([X.iloc[k * 30 : (k + 1) * 30] for k in range(12)], "fedrcd-s", n_sampling=2, random_state=0)


def test_rows_that_sites_share_are_counted_once():
    pairs = [["x1", "x2"], ["x2", "x3"], ["x1", "x3"], ["x1", "x4"], ["x2", "x4"], ["x3", "x4"]]
    tables = [fedrcd.Table(X[pair], site=f"s{k}", block="all") for k, pair in enumerate(pairs)]
    found = fedrcd.bootstrap(tables, "fedrcd-sp", n_sampling=3, groups=10, random_state=0)
    assert (found.units, found.freedom) == (10, 9.0)
    assert found.leave_one_site_out().empty
    assert list(found.cannot_be_spared()) == [f"s{k}" for k in range(6)]


def with_gaps():
    lacking = X.copy()
    lacking.iloc[::3, 1] = np.nan
    return lacking


def test_there_are_no_intervals_where_gaps_were_filled():
    found = fedrcd.bootstrap(with_gaps(), "fedrcd-s", n_sampling=3, random_state=0, missing="expected")
    assert found.discovery.errors is None
    assert not found.effects().empty
    for intervals in (found.intervals, found.discovery.intervals):
        with pytest.raises(ConfigError, match="missing values were filled"):
            intervals()
    assert found.select(0.5).errors is None
    complete = fedrcd.discover(X, "fedrcd-s", missing="expected")
    assert complete.errors is not None  # nothing was missing


def test_pairs_from_different_rows_have_intervals_by_bootstrap_only():
    found = fedrcd.bootstrap(with_gaps(), "fedrcd-s", n_sampling=3, random_state=0, missing="available")
    assert found.discovery.errors is None
    assert (found.intervals()["low"] < found.intervals()["high"]).all()


def test_one_replicate_has_no_intervals():
    found = fedrcd.bootstrap(TABLES, "fedrcd-s", n_sampling=1, random_state=0)
    with pytest.raises(ConfigError, match="at least 2 replicates"):
        found.intervals()


def test_the_plan_is_told_before_anything_is_sent_and_is_what_is_sent():
    plans = []
    found = fedrcd.bootstrap(TABLES, "fedrcd-s", n_sampling=2, groups=12, random_state=0, announce=plans.append)
    (plan,) = plans
    assert sum(plan.bytes_by_site.values()) == found.discovery.bytes_sent
    assert (
        str(plan)
        == f"2 sites, 12 groups of rows each: at most {found.discovery.bytes_sent / 2e3:,.1f} kB a site in 1 round"
    )


def test_knowledge_is_kept_in_every_replicate_and_in_the_selection():
    first, last = MODEL.names[3], MODEL.names[0]
    known = fedrcd.Knowledge(tiers=[[name] for name in reversed(MODEL.names)], required=[(first, last)])
    found = fedrcd.bootstrap(TABLES, "fedrcd-s", n_sampling=10, random_state=0, knowledge=known)
    for order, B in zip(found.orders, found.adjacency_matrices_, strict=True):
        assert known.violations(B, [MODEL.names[k] for k in order], MODEL.names) == []
    chosen = found.select(1.0)
    assert known.violations(chosen.B, chosen.order, chosen.names) == []


def test_sites_are_left_out_at_no_further_round(found):
    table = found.leave_one_site_out()
    assert len(table) == 2
    alone = fedrcd.discover(TABLES[1], "fedrcd-s")
    order, B = found.without["table 1"]
    assert order == alone.order
    np.testing.assert_allclose(B, alone.B, rtol=1e-6)


def test_rows_can_be_resampled_on_one_machine_by_any_method():
    found = fedrcd.bootstrap(X, "direct-lingam", n_sampling=4, random_state=1, resample="rows", n_jobs=1)
    again = fedrcd.bootstrap(X, "direct-lingam", n_sampling=4, random_state=1, resample="rows", n_jobs=1)
    np.testing.assert_array_equal(found.adjacency_matrices_, again.adjacency_matrices_)
    assert found.units == 0
    assert found.leave_one_site_out().empty


def test_groups_are_as_many_as_the_rows_allow():
    assert default_groups(embed([np.zeros((100_000, 3))], ("a", "b", "c"))) == 100
    assert default_groups(embed([np.zeros((2000, 3))] * 4, ("a", "b", "c"))) == 14
    assert default_groups(embed([np.zeros((500, 3))] * 4, ("a", "b", "c"))) == 10


def test_a_result_tells_how_its_replicates_were_drawn(found):
    drawn = {"n_sampling": 20, "random_state": 7, "resample": "groups", "groups": 10}
    assert found.discovery.settings == {"bootstrap": drawn}
    selected = found.select(0.9)
    assert selected.settings == {"bootstrap": drawn}
    again = fedrcd.discover(TABLES, "fedrcd-s", threshold=0.9, weights="bootstrap", **drawn)
    assert again.B.tobytes() == selected.B.tobytes()
    assert fedrcd.check(TABLES, selected)["linearity"].verdict == "fine"


def test_a_seed_that_nobody_gave_is_told():
    one = fedrcd.bootstrap(TABLES, "fedrcd-ni", n_sampling=3, n_jobs=1, progress=True)
    seed = one.discovery.settings["bootstrap"]["random_state"]
    again = fedrcd.bootstrap(TABLES, "fedrcd-ni", n_sampling=3, n_jobs=1, random_state=seed)
    np.testing.assert_array_equal(one.adjacency_matrices_, again.adjacency_matrices_)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_sampling": 0}, "n_sampling must be a whole number of at least 1, got 0"),
        ({"n_sampling": 2.5}, "n_sampling must be a whole number"),
        ({"groups": 9}, "groups must be a whole number of at least 10, got 9"),
        ({"random_state": "seven"}, "random_state must be a whole number of at least 0 or None, got 'seven'"),
        ({"random_state": True}, "random_state must be a whole number"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"resample": "columns"}, "resample must be groups or rows"),
        ({"resample": "rows", "groups": 20}, "with resample='rows' there are none"),
        ({"replicated": True}, "replicated must be a function, got True"),
        ({"announce": 3}, "announce must be a function, got 3"),
        ({"progress": 3}, "progress must be a function, got 3"),
        ({"variables": 4}, "variables must be a list of names, got 4"),
        ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1"),
        ({"method": "fed-direct"}, "cannot be resampled; take fedrcd-s"),
        ({"resample": "rows", "missing": "expected"}, "take resample='groups'"),
        ({"knowledge": fedrcd.Knowledge(exogenous=["nobody"])}, "'nobody', which is not a variable"),
        ({"knowledge": 3}, "knowledge must be a fedrcd.Knowledge"),
        ({"colour": "red"}, "has no option 'colour'"),
    ],
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ConfigError) as problem:
        fedrcd.bootstrap(TABLES, **{"n_sampling": 2, **settings})
    assert words in str(problem.value)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (lambda b: b.intervals(level=1.0), "level must be a number between 0 and 1"),
        (lambda b: b.intervals("indirect"), "kind must be direct or total"),
        (lambda b: b.select(0), "threshold must be a number above 0"),
        (lambda b: b.get_probabilities(-1), "min_causal_effect must be a number above 0"),
        (lambda b: b.get_causal_direction_counts(0), "n_directions must be a whole number"),
        (lambda b: b.get_paths(0, 9), "to_index must be the number of a variable, 0 to 3"),
        (lambda b: b.discovery.intervals(level=2), "level must be a number between 0 and 1"),
    ],
)
def test_wrong_queries_are_refused(found, query, words):
    with pytest.raises(ConfigError) as problem:
        query(found)
    assert words in str(problem.value)


def test_confidence_and_errors_survive_json(found):
    text = found.discovery.to_json()
    back = fedrcd.Discovery.from_json(text)
    for name in ("confidence", "errors", "total_errors"):
        np.testing.assert_array_equal(getattr(back, name), getattr(found.discovery, name))
    content = json.loads(text)
    for name in ("confidence", "errors", "total_errors"):
        del content[name]
    assert fedrcd.Discovery.from_json(json.dumps(content)).confidence is None
    content["confidence"] = [[2.0] * 4] * 4
    with pytest.raises(OSError, match="confidence are not one number from 0 to 1"):
        fedrcd.Discovery.from_json(json.dumps(content))
