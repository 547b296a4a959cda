"""Rows with a past: what becomes of them, and orders and effects over time."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedrcd
from fedrcd.api.discovery import Discovery
from fedrcd.errors import ConfigError, DataError
from fedrcd.graphs.past_names import past_names

NAMES = ("a", "b", "c")
B0 = np.array([[0.0, 0.0, 0.0], [0.8, 0.0, 0.0], [0.0, -0.7, 0.0]])
B1 = np.array([[0.5, 0.0, 0.0], [0.0, 0.3, 0.2], [0.4, 0.0, 0.0]])
ALL_BEFORE = fedrcd.Knowledge(before=[("a", "b"), ("b", "c")])
FRAME = dict.fromkeys(NAMES, (0.0, 2.0))


def panel(subjects=200, visits=12, seed=0, lagged=(B1,)):
    """Subjects of a vector autoregression, from its stationary state."""
    rng, p, k = np.random.default_rng(seed), len(NAMES), len(lagged)
    mixing = np.linalg.inv(np.eye(p) - B0)
    X = np.zeros((subjects, visits + 20, p))
    for t in range(k, X.shape[1]):
        past = sum(X[:, t - lag] @ B.T for lag, B in enumerate(lagged, 1))
        X[:, t] = (past + rng.laplace(size=(subjects, p))) @ mixing.T
    rows = X[:, 20:].reshape(-1, p)
    who = np.repeat([f"s{k}" for k in range(subjects)], visits)
    return pd.DataFrame(rows, columns=list(NAMES)).assign(who=who, visit=np.tile(np.arange(visits), subjects))


def over_time(tables, **settings):
    return fedrcd.discover(tables, **{"lags": 1, "time": "visit", "subject": "who", "weights": "bic", **settings})


def stacked(frame, lags):
    """The rows with their past, now first, made by pandas."""
    parts = [frame.groupby("who", sort=False)[list(NAMES)].shift(lag) for lag in range(lags + 1)]
    return pd.concat(parts, axis=1).dropna().to_numpy()


def test_order_and_effects_of_now_and_before():
    found = over_time(panel())
    assert found.order == NAMES
    assert np.abs(found.B - B0).max() < 0.1
    assert np.abs(found.lagged[1].to_numpy() - B1).max() < 0.1
    assert found.rows == 200 * 11
    assert found.notes == ("the table: 2,200 rows of 200 series have their past; 200 open a series",)


@pytest.mark.parametrize("lags", [1, 2, 3])
def test_effects_are_regressions_on_all_before_and_the_whole_past(lags):
    frame = panel(subjects=60)
    found, rows = over_time(frame, lags=lags, weights="none"), stacked(frame, lags)
    p = len(NAMES)
    for place, name in enumerate(found.order):
        before = [*(NAMES.index(one) for one in found.order[:place]), *range(p, rows.shape[1])]
        centred = rows - rows.mean(axis=0)
        expected, *_ = np.linalg.lstsq(centred[:, before], centred[:, NAMES.index(name)], rcond=None)
        together = np.concatenate([found.B, *(found.lagged[lag] for lag in range(1, lags + 1))], axis=1)
        assert np.allclose(together[NAMES.index(name), before], expected, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_fed_direct_orders_the_residuals_given_the_past(seed):
    frame = panel(subjects=50, seed=seed, lagged=(B1, 0.3 * B1))
    rows = stacked(frame, 2)
    centred = rows - rows.mean(axis=0)
    now, past = centred[:, :3], centred[:, 3:]
    residuals = now - past @ np.linalg.lstsq(past, now, rcond=None)[0]
    found = over_time(frame, method="fed-direct", lags=2)
    assert found.order == fedrcd.discover(pd.DataFrame(residuals, columns=list(NAMES)), "fed-direct").order


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
@settings(max_examples=10, deadline=None)
def test_pooled_equals_stacked_over_any_split_of_subjects(seed, tables):
    frame, rng = panel(subjects=40), np.random.default_rng(seed)
    subjects = rng.permutation(frame["who"].unique())
    site_of = dict(zip(subjects, np.r_[np.arange(tables), rng.integers(0, tables, 40 - tables)], strict=True))
    shuffled = frame.sample(frac=1, random_state=rng.integers(2**31))  # rows come in any order
    parts = [shuffled[shuffled["who"].map(site_of) == site] for site in range(tables)]
    exact = {"arithmetic": "exact", "frame": {name: FRAME[name[0]] for name in past_names(NAMES, 1)}}
    whole, split = over_time(frame, **exact), over_time(parts, **exact)
    assert split.B.tobytes() == whole.B.tobytes()
    assert split.lagged_effects[1].tobytes() == whole.lagged_effects[1].tobytes()
    assert split.order == whole.order


def test_a_subject_that_is_left_out_was_never_there():
    frame = panel(subjects=41)
    rest = frame[frame["who"] != "s7"]
    exact = {"arithmetic": "exact", "frame": {name: FRAME[name[0]] for name in past_names(NAMES, 1)}}
    assert over_time(rest, **exact).B.tobytes() == over_time(rest.reset_index(drop=True), **exact).B.tobytes()
    assert over_time(rest, **exact).rows == 40 * 11


def test_knowledge_is_about_now():
    known = fedrcd.Knowledge(forbidden=[("a", "b")], before=[("b", "a")])
    found = over_time(panel(), knowledge=known)
    assert found.order.index("b") < found.order.index("a")
    assert found.adjacency.loc["b", "a"] == 0


def test_knowledge_is_about_effects_of_before_too():
    known = fedrcd.Knowledge(required=[("c[t-1]", "a")], forbidden=[("a[t-1]", "c")])
    for method in ("fedrcd-s", "fedrcd-se", "fed-direct"):
        found = over_time(panel(), method=method, knowledge=known).lagged[1]
        assert found.loc["a", "c"] != 0
        assert found.loc["c", "a"] == 0
    for stated, problem in (
        ({"required": [("a", "c[t-1]")]}, r"c\[t-1\]"),
        ({"required": [("b[t-1]", "c[t-1]")]}, "nothing acts on what was before"),
        ({"before": [("c[t-1]", "a")]}, r"c\[t-1\]"),
        ({"required": [("c[t-1]", "a")], "forbidden": [("c[t-1]", "a")]}, "both required and forbidden"),
        ({"required": [("c[t-2]", "a")]}, r"c\[t-2\]"),
    ):
        with pytest.raises(ConfigError, match=problem):
            over_time(panel(), knowledge=fedrcd.Knowledge(**stated))


@pytest.mark.parametrize("lags", [1, 2])
def test_the_number_of_lags_is_chosen_by_bic(lags):
    lagged = (B1, np.diag([0.4, -0.4, 0.3]))[:lags]
    frame = panel(subjects=300, lagged=lagged)
    found = over_time(frame, lags="auto")
    assert list(found.lagged) == list(range(1, lags + 1))
    assert f"lags={lags} because its BIC is least" in found.chosen
    assert found.rounds == fedrcd.discover(frame, lags=lags, time="visit", subject="who", weights="bic").rounds + 1


def test_a_series_without_times_or_subjects_is_read_in_its_order():
    frame = panel(subjects=1, visits=1500)
    found = fedrcd.discover(frame[list(NAMES)].to_numpy(), lags=1, weights="bic")
    assert found.B.tobytes() == over_time(frame.drop(columns="who"), subject="").B.tobytes()
    assert found.order == ("x1", "x2", "x3")


@pytest.mark.parametrize("times", ["dates", "text", "numbers", "timestamps"])
def test_times_of_any_kind(times, tmp_path):
    frame = panel(subjects=80)
    days = pd.Timestamp("2025-01-30") + pd.to_timedelta(frame["visit"], unit="D")
    kinds = {
        "dates": days.dt.date,
        "text": days.dt.strftime("%Y-%m-%d"),
        "numbers": frame["visit"] / 4,
        "timestamps": days,
    }
    given_times = frame.assign(visit=kinds[times])
    path = tmp_path / "table.parquet"
    given_times.to_parquet(path)
    assert over_time(path).B.tobytes() == over_time(given_times).B.tobytes() == over_time(frame).B.tobytes()


def test_rows_after_a_gap_are_left_out_and_counted():
    frame = panel()
    gaps = frame[frame["visit"] != 5]
    short = gaps[(gaps["who"] != "s3") | (gaps["visit"] == 0)]  # one visit only
    found = over_time(short)
    assert found.rows == 199 * 9
    assert found.notes == (
        "the table: 1,791 rows of 200 series have their past; 200 open a series and 199 follow a gap in time",
    )


def test_a_missing_value_leaves_out_every_row_that_needs_it():
    frame = panel()
    frame.loc[5, "b"] = np.nan  # s0, visit 5: missing now, and as the past of visit 6
    with pytest.warns(fedrcd.errors.CoverageWarning, match="2 of 2200 rows"):
        assert over_time(frame).rows == 200 * 11 - 2


def test_replicates_take_subjects_whole():
    found = fedrcd.bootstrap(panel(), lags=1, time="visit", subject="who", weights="bic", n_sampling=40, groups=20)
    assert found.adjacency_matrices_.shape == (40, 3, 3)
    assert sorted(set(found.orders[0].tolist())) == [0, 1, 2]
    edges = found.intervals(level=0.999).set_index(["cause", "effect"])
    assert edges.loc[("a", "b"), "low"] < 0.8 < edges.loc[("a", "b"), "high"]
    lagged = found.lagged_intervals(level=0.999).set_index(["cause", "lag", "effect"])
    for i, j in np.argwhere(B1):
        low, high = lagged.loc[(NAMES[j], 1, NAMES[i]), ["low", "high"]]
        assert low < B1[i, j] < high
    assert (found.lagged_probabilities()[1].to_numpy()[B1 != 0] > 0.9).all()
    assert found.impulse_responses(3)["low"].notna().all()
    chosen = found.select(0.9)
    assert ((chosen.lagged[1] != 0).to_numpy() == (B1 != 0)).all()
    assert chosen.options["weights"] == "bootstrap"
    with pytest.raises(ConfigError, match="single rows of a series are never drawn"):
        fedrcd.bootstrap(panel(), lags=1, time="visit", subject="who", n_sampling=5, resample="rows")


def test_edges_are_selected_by_bootstrap_over_time():
    found = over_time(panel(), weights="bootstrap", n_sampling=30, base="bic")
    assert ((found.lagged[1] != 0).to_numpy() == (B1 != 0)).all()


def test_responses_are_effects_along_all_paths_of_the_unrolled_graph():
    found = over_time(panel(), lags=2)
    steps = 4
    whole = found.unrolled(steps)
    assert whole.names[:6] == (*NAMES, "a[t-1]", "b[t-1]", "c[t-1]")
    totals = whole.total_effects()
    for row in found.impulse_responses(steps).itertuples():
        if row.step and row.cause != row.effect:
            expected = totals.loc[row.effect, f"{row.cause}[t-{row.step}]"]
            assert row.response == pytest.approx(expected, abs=1e-9)


def test_errors_of_responses_are_those_of_many_samples():
    frames = [panel(subjects=60, seed=seed) for seed in range(60)]
    runs = [over_time(frame, method="fedrcd-s", knowledge=ALL_BEFORE) for frame in frames]
    drawn = np.array([run.impulse_responses(3)["response"] for run in runs])
    said = np.mean([run.impulse_responses(3)["error"] for run in runs], axis=0)
    moving = said > 1e-3
    ratio = said[moving] / drawn.std(axis=0, ddof=1)[moving]
    assert 0.75 < np.median(ratio) < 1.33
    assert ((ratio > 0.55) & (ratio < 1.8)).all()


def test_exports_have_the_effects_of_earlier_values():
    found = over_time(panel())
    graph = found.to_networkx()
    assert graph["a[t-1]"]["c"]["weight"] == found.lagged[1].loc["c", "a"]
    assert set(graph.nodes) == {*NAMES, "a[t-1]", "b[t-1]", "c[t-1]"}
    assert '"a[t-1]" -> "c"' in found.to_dot()
    assert "a[t-1]" in found.to_gml()
    assert "a[t-1]" in found.unrolled().to_svg()
    assert "one step later" in str(found)
    strongest = found.lagged_edges()[0]
    assert (strongest.cause, strongest.lag, strongest.effect) == ("a", 1, "a")
    with pytest.raises(ConfigError, match="has no effects over time"):
        fedrcd.discover(panel()[list(NAMES)].sample(frac=1, random_state=0)).unrolled()
    with pytest.raises(ConfigError, match="steps must be a whole number"):
        found.impulse_responses(-1)


def test_the_estimator_goes_back_in_time():
    frame = panel()
    model = fedrcd.FedLiNGAM(lags=1, time="visit", subject="who", weights="bic").fit(frame)
    assert model.causal_order_ == [0, 1, 2]
    assert model.estimate_total_effect(frame, 0, 1) == pytest.approx(0.8, abs=0.1)
    assert len(model.bootstrap(frame, 10, random_state=0, groups=10).orders) == 10


def test_the_result_comes_back_from_its_file():
    found = over_time(panel(subjects=80))
    again = Discovery.from_json(found.to_json())
    assert again.lagged_effects[1].tobytes() == found.lagged_effects[1].tobytes()
    assert again.settings == {"lags": 1, "time": "visit", "subject": "who"}


def test_what_cannot_be_had_is_refused_in_one_line():
    frame = panel(subjects=20)
    twice = pd.concat([frame, frame.iloc[:3]])
    other_step = frame.assign(visit=frame["visit"] * 2, who="t" + frame["who"])
    text = frame.assign(visit=["soon"] * len(frame))
    for wrong, problem in (
        (lambda: over_time(twice), "3 rows have the time of another row of the same subject"),
        (lambda: over_time([frame, frame]), "20 subjects are in table 1 and in table 2"),
        (lambda: over_time([frame, other_step]), "a step of time of 1 and table 2 of 2"),
        (lambda: over_time(text), "'visit' does not hold times"),
        (lambda: over_time(frame.assign(visit=[None, *frame["visit"][1:]])), "lacks a time in 1 rows"),
        (lambda: over_time(frame, lags=12), "no row has 12 steps before it: the longest series has 12 rows"),
        (lambda: over_time(frame[frame["visit"] == 0]), "the longest series has 1 rows"),
    ):
        with pytest.raises(DataError, match=problem):
            wrong()
    for wrong, problem in (
        (lambda: over_time(frame, subject="patient"), "no column 'patient' for subject"),
        (lambda: over_time(frame, lags=0), "'visit' needs lags"),
        (lambda: over_time(frame, lags=-1), "lags must be a whole number"),
        (lambda: over_time(frame, lags=True), "lags must be a whole number"),
        (lambda: over_time(frame, method="fedrcd-ni"), "sums follow sources alone, and no past"),
        (lambda: fedrcd.discover(frame.to_numpy()[:, :3].astype(float), lags=1, time="t"), "an array has no columns"),
        (lambda: over_time(fedrcd.Table(frame, "A", id="who")), "name the column by subject"),
        (lambda: over_time(fedrcd.in_process(frame[list(NAMES)])), "lags is set where the transport is made"),
        (lambda: over_time(frame, lags="auto", masked=True), "masked runs ask once"),
    ):
        with pytest.raises(ConfigError, match=problem):
            wrong()


def test_var_lingam_refuses_what_is_no_series():
    from fedrcd.lingam import VARLiNGAM

    with pytest.raises(DataError, match="a table of finite numbers"):
        VARLiNGAM().fit([[1.0, np.nan], [2.0, 3.0]])
    with pytest.raises(DataError, match="5 rows of 2 columns do not determine 2 steps back"):
        VARLiNGAM(lags=2).fit(np.ones((5, 2)))
    with pytest.raises(ConfigError, match="criterion must be one of aic"):
        VARLiNGAM(criterion="best")


def test_longitudinal_lingam_refuses_what_it_cannot_order():
    from fedrcd.lingam import LongitudinalLiNGAM

    rows = np.random.default_rng(0).exponential(size=(400, 2))
    with pytest.raises(DataError, match="1 times do not have 1 times before them"):
        LongitudinalLiNGAM().fit([rows])
    with pytest.raises(DataError, match="for the same rows and columns at every time"):
        LongitudinalLiNGAM().fit([rows, rows[:40]])
    with pytest.raises(ConfigError, match="from_t must be at least 1"):
        LongitudinalLiNGAM().fit([rows, rows[::-1]]).estimate_total_effect([rows, rows], 0, 0, 1, 1)


def test_checks_are_of_what_the_past_leaves():
    found = fedrcd.check(panel(subjects=500, seed=3), lags=1, time="visit", subject="who", weights="bic")
    assert found.doubtful == []
    assert len(found.residuals()) == 3
    assert (found.residuals()["kurtosis"] > 2).all()  # of Laplace noise, whatever the rows are
    again = fedrcd.check(panel(subjects=500, seed=3), found.discovery)
    assert again["independence"].verdict == found["independence"].verdict != "doubtful"
    turned = fedrcd.Knowledge(before=[("c", "b"), ("b", "a")])
    wrong = fedrcd.check(panel(subjects=500, seed=3), lags=1, time="visit", subject="who", knowledge=turned)
    assert wrong["independence"].verdict == "doubtful"


def test_a_run_that_ignores_time_says_so():
    columns = panel(subjects=20)[list(NAMES)]
    with pytest.warns(fedrcd.errors.CoverageWarning, match="are like those before them"):
        found = fedrcd.discover(columns)
    assert any("lags=" in note for note in found.notes)
    assert not any("lags=" in note for note in fedrcd.discover(columns.sample(frac=1, random_state=0)).notes)
    assert not any("lags=" in note for note in fedrcd.discover(panel().drop(columns="visit"), subject="who").notes)


@pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
def test_subjects_stay_together_without_lags_too():
    table = panel(subjects=60).drop(columns="visit")
    table[list(NAMES)] += 3 * table.groupby("who")[list(NAMES)].transform("mean").to_numpy()  # what subjects differ by
    found = fedrcd.bootstrap(table, "fedrcd-s", subject="who", n_sampling=50, groups=10, random_state=0)
    assert found.names == NAMES
    wide = found.intervals()
    rows = fedrcd.bootstrap(table[list(NAMES)], "fedrcd-s", resample="rows", n_sampling=50, random_state=0)
    narrow = rows.intervals()
    assert (wide["high"] - wide["low"]).median() > (narrow["high"] - narrow["low"]).median()
    with pytest.raises(ConfigError, match="names a column of a DataFrame"):
        fedrcd.discover(table[list(NAMES)].to_numpy(), subject="who")


def waves(subjects=400, seed=0):
    """Three waves, of which the second has an effect of its own: b acts on a one wave later."""
    rng, rows = np.random.default_rng(seed), []
    a = rng.laplace(size=subjects)
    b = 0.8 * a + rng.laplace(size=subjects)
    for wave in (1, 2, 3):
        rows.append(pd.DataFrame({"a": a, "b": b, "who": [f"s{k}" for k in range(subjects)], "visit": wave}))
        a = 0.5 * a + (0.6 * b if wave == 1 else 0) + rng.laplace(size=subjects)
        b = 0.8 * a + 0.4 * b + rng.laplace(size=subjects)
    return pd.concat(rows).sample(frac=1, random_state=seed)


def test_waves_are_tiers_with_effects_from_wave_to_wave():
    found = fedrcd.discover(waves(), waves=True, time="visit", subject="who")
    assert found.names == ("a@1", "b@1", "a@2", "b@2", "a@3", "b@3")
    assert found.order == found.names
    assert found.rows == 400
    assert found.adjacency.loc["a@2", "b@1"] == pytest.approx(0.6, abs=0.15)
    assert abs(found.adjacency.loc["a@3", "b@2"]) < 0.15
    assert found.settings["waves"] is True


def test_waves_over_tables_are_those_of_one_table():
    table = waves()
    parts = [table[table["who"].str[-1].isin(list("01234"))], table[table["who"].str[-1].isin(list("56789"))]]
    frame = {f"{name}@{wave}": (0.0, 3.0) for wave in (1, 2, 3) for name in "ab"}
    how = {"waves": True, "time": "visit", "subject": "who", "arithmetic": "exact", "frame": frame}
    assert fedrcd.discover(parts, **how).B.tobytes() == fedrcd.discover(table, **how).B.tobytes()


def test_waves_that_cannot_be_are_refused():
    table = waves()
    how = {"waves": True, "time": "visit", "subject": "who"}
    with pytest.raises(ConfigError, match="waves=True needs time and subject"):
        fedrcd.discover(table, waves=True, subject="who")
    with pytest.raises(ConfigError, match="and no lags"):
        fedrcd.discover(table, lags=1, **how)
    with pytest.raises(DataError, match="waves must be 2 to 50"):
        fedrcd.discover(table[table["visit"] == 1], **how)
    with pytest.raises(ConfigError, match="makes tiers of its own"):
        fedrcd.discover(table, knowledge=fedrcd.Knowledge(tiers=[["a@1"], ["b@1"]]), **how)
    seen_once = table[(table["visit"] == 1) | (table["who"] != "s3")]
    with pytest.warns(fedrcd.errors.CoverageWarning, match="1 of 400 rows"):
        assert fedrcd.discover(seen_once, **how).rows == 399
