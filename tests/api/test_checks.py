import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd.data import random_model
from fedrcd.errors import ConfigError, FedrcdWarning

NAMES = ["a", "b", "c"]


def rows(rng, n=6000, *, noise="uniform", bend=0.0, hidden=0.0):
    draw = {"uniform": lambda: rng.uniform(-1, 1, n), "gaussian": lambda: rng.normal(size=n) / 2}[noise]
    common = hidden * (rng.exponential(size=n) - 1)
    a = draw()
    b = 0.8 * a + bend * a**2 + draw() + common
    c = 0.5 * b - 0.6 * a + draw() + common
    return pd.DataFrame({"a": a, "b": b, "c": c})


KNOWN = fedrcd.Knowledge(tiers=[["a"], ["b"], ["c"]])


def checked(frame, **settings):
    tables = [frame.iloc[: len(frame) // 2], frame.iloc[len(frame) // 2 :]]
    return fedrcd.check(tables, "fedrcd-s", knowledge=KNOWN, **settings)


def test_nothing_is_doubtful_where_all_holds_and_it_costs_one_round():
    found = checked(rows(np.random.default_rng(0)), level=0.001)
    assert found.doubtful == []
    assert found.rounds == 1
    assert found.bytes_sent > 0
    assert "independence: fine" in str(found)
    assert found.residuals().shape == (3, 5)
    assert list(found.independence_p_values().columns) == NAMES
    assert found.to_dict()["checks"][0]["name"] == "non-gaussian"


@pytest.mark.filterwarnings("ignore::fedrcd.errors.IdentifiabilityWarning")
@pytest.mark.parametrize(
    ("wrong", "name", "words"),
    [
        ({"noise": "gaussian"}, "non-gaussian", "cannot be told from Gaussian"),
        ({"hidden": 0.5}, "independence", "the residuals of 'b' and 'c'"),
        ({"bend": 0.4}, "linearity", "a quadratic part shows in a -> b"),
    ],
)
def test_what_is_wrong_is_seen_and_named(wrong, name, words):
    found = checked(rows(np.random.default_rng(1), **wrong))
    assert found[name].verdict == "doubtful"
    assert words in found[name].finding
    assert found[name].advice
    assert f"do:    {found[name].advice}" in str(found)


def test_sites_that_differ_are_named_with_what_to_do():
    frame = rows(np.random.default_rng(2))
    frame.iloc[:3000, 0] += 0.3
    found = checked(frame)
    assert found["sites alike"].verdict == "doubtful"
    assert "levels of 'a'" in found["sites alike"].finding
    assert found["sites alike"].advice == "run again with within='centre'"
    assert checked(frame, within="centre", level=0.001)["sites alike"].verdict == "fine"


def test_one_site_cannot_differ_from_itself():
    found = fedrcd.check(rows(np.random.default_rng(3)), "fedrcd-s")
    assert found["sites alike"].verdict == "cannot tell"


def test_scale_is_checked_by_running_on_standardised_sums():
    rng = np.random.default_rng(4)
    model = random_model(8, noise="laplace", density=0.5, rng=rng)
    X = model.sample(3000, rng)
    raw = fedrcd.check(X, "fedrcd-ni")["scale"]
    assert raw.verdict == "doubtful"
    assert fedrcd.check(X / X.std(axis=0), "fedrcd-ni")["scale"].finding.startswith("on standardised variables")
    assert "100% of pairs" in fedrcd.check(X / X.std(axis=0), "fedrcd-ni")["scale"].finding
    assert fedrcd.check(X, "fedrcd-x")["scale"].verdict == "cannot tell"
    assert fedrcd.check(X, "fedrcd-s")["scale"].verdict == "fine"


def test_a_discovery_made_before_is_checked_as_it_is():
    frame = rows(np.random.default_rng(5))
    found = fedrcd.discover(frame, "fedrcd-s", knowledge=fedrcd.Knowledge(tiers=[["c"], ["b"], ["a"]]))
    wrong, right = fedrcd.check(frame, found), fedrcd.check(frame, "fedrcd-s", level=0.001)
    assert wrong.discovery.order == ("c", "b", "a")
    assert wrong["independence"].verdict == "doubtful"
    assert right["independence"].verdict == "fine"


def test_a_discovery_is_checked_with_the_settings_it_was_made_with():
    frame = rows(np.random.default_rng(8))
    tables = [frame.iloc[:3000], frame.iloc[3000:] + 5.0]
    found = fedrcd.Discovery.from_json(fedrcd.discover(tables, "fedrcd-s", within="centre", knowledge=KNOWN).to_json())
    assert found.settings["within"] == "centre"
    assert found.settings["knowledge"] == {"tiers": [["a"], ["b"], ["c"]]}
    checked = fedrcd.check(tables, found)
    assert checked["sites alike"].verdict == "fine"
    assert checked.rounds == 2
    assert fedrcd.check(tables, found, within="none")["sites alike"].verdict == "doubtful"


@pytest.mark.parametrize("missing", ["expected", "available"])
def test_rows_with_gaps_are_left_out_of_checks(missing):
    frame = rows(np.random.default_rng(9))
    lacking = frame.copy()
    lacking.iloc[:2000, 2] = np.nan
    found = fedrcd.check([lacking.iloc[:3000], lacking.iloc[3000:]], "fedrcd-s", missing=missing)
    assert found["independence"].verdict != "cannot tell"
    assert np.isfinite(found.residuals().to_numpy()).all()


def test_heavy_tails_and_few_rows_withhold_verdicts():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(300, 3)) ** 5, columns=NAMES)
    found = fedrcd.check(frame, "fedrcd-s")
    assert found["independence"].verdict == "cannot tell"
    assert np.isnan(found.independence_p_values().to_numpy()[np.triu_indices(3, 1)]).all()


def test_without_complete_rows_residuals_are_not_tested():
    frame = rows(np.random.default_rng(7), 3000)
    tables = [
        fedrcd.Table(frame.iloc[k * 1000 : (k + 1) * 1000][pair], site=f"s{k}")
        for k, pair in enumerate((["a", "b"], ["a", "c"], ["b", "c"]))
    ]
    found = fedrcd.check(tables, "fedrcd-sp")
    assert found["independence"].verdict == "cannot tell"
    assert found["scale"].verdict == "fine"
    with pytest.raises(ConfigError, match="no site holds complete rows"):
        found.residuals()


@pytest.mark.parametrize("level", [0, 1, "low", True])
def test_levels_out_of_range_are_refused(level):
    with pytest.raises(ConfigError, match="level must be a number between 0 and 1"):
        fedrcd.check(rows(np.random.default_rng(8), 100), level=level)


def test_an_unknown_check_is_refused():
    with pytest.raises(ConfigError, match="there is no check 'colour'"):
        checked(rows(np.random.default_rng(9), 500))["colour"]


def test_the_estimator_speaks_as_lingam_does():
    frame = rows(np.random.default_rng(10))
    model = fedrcd.FedLiNGAM("fedrcd-s", prior_knowledge=KNOWN, random_state=3).fit(frame)
    assert model.causal_order_ == [0, 1, 2]
    assert model.estimate_total_effect(frame, 0, 2) == pytest.approx(-0.2, abs=0.06)
    assert model.get_error_independence_p_values(frame).shape == (3, 3)
    with pytest.warns(FedrcdWarning, match="'a' comes before 'c'"):
        model.estimate_total_effect(frame, 2, 0)
    for arguments, words in (((0, 7), "to_index must be"), ((1, 1), "must be two variables")):
        with pytest.raises(ConfigError, match=words):
            model.estimate_total_effect(frame, *arguments)
    one, two = (model.bootstrap([frame[:3000], frame[3000:]], 5, n_jobs=1) for _ in range(2))
    np.testing.assert_array_equal(one.adjacency_matrices_, two.adjacency_matrices_)
    assert one.units > 0
    assert model.bootstrap(frame, 3, random_state=1, n_jobs=1).units == 0
    with pytest.raises(ConfigError, match="not fitted yet"):
        fedrcd.FedLiNGAM().estimate_total_effect(frame, 0, 1)


def test_a_bar_may_be_asked_for():
    asked = fedrcd.check(rows(np.random.default_rng(0)), "fedrcd-s", progress=True)
    assert len(asked.checks) == 5
    with pytest.raises(ConfigError, match="progress must be a function"):
        fedrcd.check(rows(np.random.default_rng(0)), "fedrcd-s", progress="yes")
