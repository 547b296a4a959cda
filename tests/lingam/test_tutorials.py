"""Flows of lingam's published tutorials, written anew; they run on its names here, and on lingam itself where it is."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

TRUE = {(0, 3): 3.0, (2, 3): 6.0, (1, 0): 3.0, (1, 2): 2.0, (5, 0): 4.0, (4, 0): 8.0, (4, 2): -1.0}


def test_fit_and_look_at_the_graph(lingam, frame):
    model = lingam.DirectLiNGAM()
    model.fit(frame)
    assert model.causal_order_[0] == 3
    for (to, start), weight in TRUE.items():
        assert model.adjacency_matrix_[to, start] == pytest.approx(weight, rel=0.05)
    source = lingam.utils.make_dot(model.adjacency_matrix_, labels=list(frame.columns)).source
    assert "x3" in source
    p_values = model.get_error_independence_p_values(frame)
    assert p_values.shape == (6, 6)
    assert (p_values[np.triu_indices(6, 1)] > 1e-4).all()


def test_bootstrap_and_its_queries(lingam, frame, capsys):
    model = lingam.DirectLiNGAM(random_state=0)
    result = model.bootstrap(frame.iloc[:, [0, 1, 2, 3]], n_sampling=5)
    counts = result.get_causal_direction_counts(
        n_directions=8, min_causal_effect=0.01, split_by_causal_effect_sign=True
    )
    assert set(counts) == {"from", "to", "count", "sign"}
    lingam.utils.print_causal_directions(counts, 5)
    assert "x0 <--- x3 (b>0) (100.0%)" in capsys.readouterr().out
    dags = result.get_directed_acyclic_graph_counts(n_dags=3, min_causal_effect=0.01, split_by_causal_effect_sign=True)
    lingam.utils.print_dagc(dags, 5)
    assert capsys.readouterr().out.startswith("DAG[0]: ")
    probabilities = result.get_probabilities(min_causal_effect=0.01)
    assert probabilities[0, 3] == probabilities[2, 3] == 1.0
    effects = pd.DataFrame(result.get_total_causal_effects(min_causal_effect=0.01))
    assert effects.loc[(effects["from"] == 3) & (effects["to"] == 1), "effect"].item() == pytest.approx(21, rel=0.05)
    paths = pd.DataFrame(result.get_paths(3, 1))
    assert [3, 0, 1] in paths["path"].tolist()


def test_prior_knowledge(lingam, frame):
    known = lingam.utils.make_prior_knowledge(6, sink_variables=[0, 1, 4], exogenous_variables=[3])
    model = lingam.DirectLiNGAM(prior_knowledge=known)
    model.fit(frame)
    assert model.causal_order_[0] == 3
    assert not model.adjacency_matrix_[:, [0, 1, 4]].any()
    paths = lingam.utils.make_prior_knowledge(6, paths=[[5, 0]], no_paths=[[3, 1]])
    assert paths[0, 5] == 1
    assert paths[1, 3] == 0
    turned = lingam.DirectLiNGAM(prior_knowledge=paths).fit(frame)
    assert turned.causal_order_.index(5) < turned.causal_order_.index(0)


def test_total_effect(lingam, frame):
    model = lingam.DirectLiNGAM()
    model.fit(frame)
    assert model.estimate_total_effect(frame, 3, 1) == pytest.approx(21, rel=0.05)
    assert lingam.utils.get_exo_variables(np.array([[0, 0], [1, 0]])) == [0]
    assert lingam.utils.get_sink_variables(np.array([[0, 0], [1, 0]])) == [1]


def test_draw_the_graph_with_a_model_of_prediction(lingam, frame):
    make_dot = lingam.utils.make_dot
    model = lingam.DirectLiNGAM().fit(frame)
    features = [1, 2, 3, 4, 5]
    regression = LinearRegression().fit(frame.iloc[:, features], frame.iloc[:, 0])
    told = {"prediction_feature_indices": features}
    for more in (
        {"prediction_coefs": regression.coef_},
        {"prediction_feature_importance": np.array([619, 205, 310, 957, 909])},
        {"prediction_target_label": "Y(pred)", "prediction_line_color": "#0000FF"},
    ):
        assert "Y(pred)" in make_dot(model.adjacency_matrix_, **told, **more).source


def test_draw_paths_and_cycles(lingam, frame):
    make_dot = lingam.utils.make_dot
    B = lingam.DirectLiNGAM().fit(frame).adjacency_matrix_
    assert make_dot(B, path=(3, 1)).source.count("penwidth") == 4
    B[0, 1] = B[3, 1] = 100
    source = make_dot(B, path=(3, 1), path_color="red", detect_cycle=True).source
    assert "red" in source
    assert "dashed" in source


def test_draw_what_replicates_have_in_common(lingam, frame):
    result = lingam.DirectLiNGAM(random_state=0).bootstrap(frame.iloc[:, :4], n_sampling=3)
    median = np.median(result.adjacency_matrices_, axis=0)
    assert "label" in lingam.utils.make_dot(median, lower_limit=0).source


def test_what_is_not_here_says_so():
    from fedrcd import lingam
    from fedrcd.errors import ConfigError

    with pytest.raises(ConfigError, match="measure must be 'pwling'"):
        lingam.DirectLiNGAM(measure="kernel")
    with pytest.raises(ConfigError, match="enforced here"):
        lingam.DirectLiNGAM(apply_prior_knowledge_softly=True)
    with pytest.raises(ConfigError, match="numbers from 0 to 2"):
        lingam.make_prior_knowledge(3, exogenous_variables=[3])
    with pytest.raises(ConfigError, match=r"numbers from 0 to 2, got 1\.7"):
        lingam.make_prior_knowledge(3, sink_variables=[1.7])
    with pytest.raises(ConfigError, match="n_variables must be a whole number of at least 1, got 'x'"):
        lingam.make_prior_knowledge("x")
    with pytest.raises(ConfigError, match=r"paths must be a list of pairs \(from, to\), got \(0, 1, 2\)"):
        lingam.make_prior_knowledge(3, paths=[(0, 1, 2)])
    with pytest.raises(ConfigError, match="exogenous_variables must be a list, got 1"):
        lingam.make_prior_knowledge(3, exogenous_variables=1)
    with pytest.raises(ConfigError, match="must be square"):
        lingam.make_dot(np.zeros((2, 3)))
    with pytest.raises(ConfigError, match="one entry per variable"):
        lingam.make_dot(np.zeros((2, 2)), labels=["a"])


def series(n=1000):
    """Five variables: each from itself before, some from others now."""
    rng = np.random.default_rng(0)
    now = np.zeros((5, 5))
    now[0, 1], now[2, 0], now[3, 1], now[4, 2] = -0.6, -0.41, -0.5, 0.7
    before = np.diag([0.5, 0.3, 0.4, 0.5, 0.6])
    X = np.zeros((n, 5))
    for t in range(1, n):
        X[t] = np.linalg.solve(np.eye(5) - now, before @ X[t - 1] + rng.uniform(size=5) - 0.5)
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(5)])


def test_var_lingam(lingam):
    X = series()
    model = lingam.VARLiNGAM()
    model.fit(X)
    assert model.causal_order_.index(1) < model.causal_order_.index(0) < model.causal_order_.index(2)
    assert model.adjacency_matrices_.shape == (2, 5, 5)
    labels = [f"x{k}(t)" for k in range(5)] + [f"x{k}(t-1)" for k in range(5)]
    matrices = np.hstack(model.adjacency_matrices_)
    source = lingam.utils.make_dot(matrices, lower_limit=0.05, ignore_shape=True, labels=labels).source
    assert "x2(t-1)" in source
    assert model.get_error_independence_p_values().shape == (5, 5)
    result = lingam.VARLiNGAM().bootstrap(X.iloc[:600], n_sampling=4)
    counts = result.get_causal_direction_counts(n_directions=8, min_causal_effect=0.2, split_by_causal_effect_sign=True)
    assert counts["count"][0] == 4
    lingam.utils.print_causal_directions(counts, 4, labels=labels)
    dags = result.get_directed_acyclic_graph_counts(n_dags=3, min_causal_effect=0.3, split_by_causal_effect_sign=True)
    lingam.utils.print_dagc(dags, 4, labels=labels)
    assert result.get_probabilities(min_causal_effect=0.1)[1][4, 4] == 1.0
    effects = pd.DataFrame(result.get_total_causal_effects(min_causal_effect=0.01))
    assert set(effects.columns) == {"from", "to", "effect", "probability"}
    paths = pd.DataFrame(result.get_paths(from_index=4, to_index=4, from_lag=1, to_lag=0))
    assert [9, 4] in paths["path"].tolist()
    assert model.estimate_total_effect(X, 0, 2) == pytest.approx(-0.41, abs=0.1)


def test_longitudinal_lingam(lingam):
    rng = np.random.default_rng(0)
    now = np.array([[0, 0, 0], [0.8, 0, 0], [0, -0.6, 0]])
    tables = [pd.DataFrame(rng.uniform(size=(500, 3)) - 0.5)]
    for _ in range(2):
        noise = rng.uniform(size=(500, 3)) - 0.5
        tables.append(pd.DataFrame((0.5 * tables[-1].to_numpy() + noise) @ np.linalg.inv(np.eye(3) - now).T))
    model = lingam.LongitudinalLiNGAM()
    model = model.fit(tables)
    assert list(model.causal_orders_[1]) == [0, 1, 2]
    assert model.adjacency_matrices_.shape == (3, 2, 3, 3)
    assert model.adjacency_matrices_[1, 0][1, 0] == pytest.approx(0.8, abs=0.1)
    assert model.get_error_independence_p_values().shape == (3, 3, 3)
    result = lingam.LongitudinalLiNGAM().bootstrap(tables, n_sampling=4)
    counts = result.get_causal_direction_counts(n_directions=12, min_causal_effect=0.2)
    assert len(counts) == 3
    assert counts[1]["count"][0] == 4
    dags = result.get_directed_acyclic_graph_counts(n_dags=3, min_causal_effect=0.2, split_by_causal_effect_sign=True)
    assert sum(dags[2]["count"]) <= 4
    assert result.get_probabilities(min_causal_effect=0.2).shape[0] == 3
    effects = pd.DataFrame(result.get_total_causal_effects(min_causal_effect=0.01))
    assert (effects["probability"] <= 1).all()
    paths = pd.DataFrame(result.get_paths(0, 2, 1, 2))
    assert [0, 1, 2, 5] in paths["path"].tolist()
