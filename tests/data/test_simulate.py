import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data import LinearModel, Noise, default_names, random_dag, random_model, random_weights, topology
from fedrcd.errors import ConfigError
from fedrcd.graphs import is_acyclic

seeds = st.integers(0, 2**32 - 1)


@given(st.integers(1, 15), st.floats(0, 1), seeds)
def test_random_graphs_are_acyclic(p, density, seed):
    assert is_acyclic(random_dag(p, density=density, rng=np.random.default_rng(seed)))


def test_density_is_the_share_of_joined_pairs():
    rng = np.random.default_rng(0)
    edges = [random_dag(20, density=0.2, rng=rng).sum() for _ in range(300)]
    assert np.mean(edges) == pytest.approx(0.2 * 190, rel=0.03)


def test_degree_is_the_number_of_edges_per_variable():
    rng = np.random.default_rng(0)
    edges = [random_dag(50, degree=2, rng=rng).sum() for _ in range(300)]
    assert np.mean(edges) == pytest.approx(2 * 50, rel=0.03)


def test_a_degree_beyond_the_possible_gives_the_complete_graph():
    assert random_dag(5, degree=9, rng=np.random.default_rng(0)).sum() == 10


def test_variables_come_in_no_particular_order():
    rng = np.random.default_rng(0)
    forward = np.mean([np.tril(random_dag(10, density=1.0, rng=rng)).sum() / 45 for _ in range(300)])
    assert forward == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("settings", [{}, {"density": 0.2, "degree": 2}])
def test_exactly_one_of_density_and_degree_is_needed(settings):
    with pytest.raises(ConfigError, match="exactly one"):
        random_dag(5, **settings, rng=np.random.default_rng(0))


@pytest.mark.parametrize("settings", [{"density": 1.2}, {"density": -0.1}, {"degree": -1}, {"degree": np.nan}])
def test_impossible_densities_are_refused(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        random_dag(5, **settings, rng=np.random.default_rng(0))


@given(seeds)
def test_weights_sit_on_the_edges_within_their_bounds(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(8, density=0.5, rng=rng)
    B = random_weights(dag, low=0.3, high=0.9, rng=rng)
    np.testing.assert_array_equal(B != 0, dag)
    assert np.all((np.abs(B[dag]) >= 0.3) & (np.abs(B[dag]) <= 0.9))


def test_weights_of_both_signs_occur():
    B = random_weights(np.tri(40, k=-1, dtype=bool), rng=np.random.default_rng(0))
    assert np.mean(B[B != 0] > 0) == pytest.approx(0.5, abs=0.06)


def test_weight_bounds_must_make_sense():
    with pytest.raises(ConfigError, match="0 < low <= high"):
        random_weights(np.zeros((2, 2), dtype=bool), low=0.0, rng=np.random.default_rng(0))


def test_rows_obey_the_structural_equations():
    model = random_model(6, noise="uniform", density=0.5, rng=np.random.default_rng(1))
    X = model.sample(50, np.random.default_rng(2))
    E = X - X @ model.B.T
    rng = np.random.default_rng(2)
    expected = [sd * law.draw(50, rng) for law, sd in zip(model.noise, model.noise_sd, strict=True)]
    np.testing.assert_allclose(E, np.array(expected).T, atol=1e-12)
    assert X.flags.c_contiguous


def test_the_mixing_matrix_inverts_the_structural_equations():
    model = random_model(7, density=0.5, rng=np.random.default_rng(1))
    np.testing.assert_allclose(model.mixing @ (np.eye(7) - model.B), np.eye(7), atol=1e-12)


def test_noise_cumulants_scale_with_the_noise():
    model = LinearModel(np.zeros((2, 2)), (Noise("exponential"), Noise("laplace")), np.array([2.0, 3.0]), ("a", "b"))
    variance, k3, k4 = model.noise_cumulants
    np.testing.assert_allclose(variance, [4, 9])
    np.testing.assert_allclose(k3, [2 * 8, 0])
    np.testing.assert_allclose(k4, [6 * 16, 3 * 81])


def test_the_covariance_of_many_rows_follows_from_the_model():
    model = random_model(5, noise="uniform", density=0.5, rng=np.random.default_rng(3))
    X = model.sample(200_000, np.random.default_rng(4))
    expected = model.mixing @ np.diag(model.noise_cumulants.variance) @ model.mixing.T
    np.testing.assert_allclose(np.cov(X.T, ddof=0), expected, rtol=0.05, atol=0.1)


def test_the_same_seed_gives_the_same_model_and_rows():
    first, second = (random_model(6, noise="mixed", rng=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first.B, second.B)
    assert first.noise == second.noise
    np.testing.assert_array_equal(first.sample(9, np.random.default_rng(0)), second.sample(9, np.random.default_rng(0)))


def test_a_model_may_have_a_given_graph_and_names():
    names, dag = topology("asia")
    model = random_model(len(names), dag=dag, names=names, noise=Noise("gamma", 3.0), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(model.B != 0, dag)
    assert model.names == names
    assert set(model.noise) == {Noise("gamma", 3.0)}


def test_a_given_graph_leaves_no_room_for_a_density():
    dag = np.zeros((3, 3), dtype=bool)
    with pytest.raises(ConfigError, match="dag"):
        random_model(3, dag=dag, density=0.2, rng=np.random.default_rng(0))


def test_a_graph_of_another_size_is_refused():
    with pytest.raises(ConfigError, match="p noises"):
        random_model(4, dag=np.zeros((3, 3), dtype=bool), rng=np.random.default_rng(0))


def test_a_cyclic_model_is_refused():
    with pytest.raises(ConfigError, match="cycle"):
        LinearModel(np.ones((2, 2)), (Noise("laplace"),) * 2, np.ones(2), ("a", "b"))


@pytest.mark.parametrize("noise_sd", [(0.0, 1.0), (2.0, 1.0)])
def test_noise_scales_must_be_positive_and_ordered(noise_sd):
    with pytest.raises(ConfigError, match="noise_sd"):
        random_model(3, noise_sd=noise_sd, rng=np.random.default_rng(0))


@given(st.integers(1, 2000))
def test_default_names_sort_as_they_count(p):
    assert list(default_names(p)) == sorted(default_names(p))
