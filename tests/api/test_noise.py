"""Discoveries under noise, on tables in this process."""

import numpy as np
import pytest

import fedrcd
from fedrcd.data import random_model
from fedrcd.errors import ConfigError, DataError
from fedrcd.graphs import ancestral_accuracy
from fedrcd.methods.registry import METHODS, PRIVATE, build, find

P = 6
NAMES = tuple(f"x{j + 1}" for j in range(P))
FRAME = dict.fromkeys(NAMES, (0.0, 2.0))


@pytest.fixture(scope="module")
def simulated():
    rng = np.random.default_rng(4)
    model = random_model(P, noise="laplace", rng=rng)
    return model, model.sample(20_000, rng)


def accuracy(found, model):
    return ancestral_accuracy([found.names.index(name) for name in found.order], model.B)


def test_epsilon_takes_the_method_with_noise(simulated):
    model, X = simulated
    found = fedrcd.discover([X[:8000], X[8000:]], epsilon=3.0, frame=FRAME)
    assert found.method == "fedrcd-dp"
    assert (found.epsilon, found.delta, found.rounds) == (3.0, 1e-6, 4)
    assert accuracy(found, model) > 0.95
    assert "under noise: epsilon 3 at delta 1e-06" in str(found)
    np.testing.assert_allclose(found.B, model.B, atol=0.15)


def test_nothing_of_the_rows_is_told_beside_the_noisy_sums(simulated):
    """Not how many there are, who holds them, or what stands far apart in them."""
    X = simulated[1].copy()
    X[0, 0] = 1e6
    first, second = (fedrcd.discover(X, epsilon=1.0, frame=FRAME) for _ in range(2))
    assert first.holdings == ()
    assert not any("far apart" in note for note in first.notes)
    assert first.rows != second.rows
    assert first.rows == pytest.approx(20_000, abs=500)
    assert not (first.B == second.B).all()


def test_intervals_widen_with_the_noise(simulated):
    X = simulated[1]

    def largest(epsilon):
        return np.max(fedrcd.discover(X, epsilon=epsilon, frame=FRAME, weights="none").errors)

    exact = np.max(fedrcd.discover(X, "fedrcd-r", weights="none").errors)
    assert np.mean([largest(0.1) for _ in range(5)]) > 2 * largest(1000.0)
    assert largest(1000.0) == pytest.approx(exact, rel=0.5)


def test_sites_of_one_process_add_the_noise_together(simulated):
    """Ten tables have no more noise than one."""
    X = simulated[1]
    spread = []
    for tables in ([X], np.array_split(X, 10)):
        rows = [fedrcd.discover(tables, epsilon=1.0, frame=FRAME).rows for _ in range(7)]
        spread.append(np.std(rows))
    assert 0.2 < spread[1] / spread[0] < 5


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"epsilon": 0, "frame": FRAME}, "epsilon must be a number above 0, got 0"),
        ({"epsilon": "1", "frame": FRAME}, "epsilon must be a number above 0"),
        ({"epsilon": 1, "delta": 0.2, "frame": FRAME}, "delta must lie above 0"),
        ({"epsilon": 1}, "epsilon needs a declared frame"),
        ({"epsilon": 1, "frame": FRAME, "trim": 8}, "epsilon does not go with trim"),
        ({"epsilon": 1, "frame": FRAME, "within": "centre"}, "epsilon does not go with within"),
        ({"epsilon": 1, "frame": FRAME, "missing": "available"}, "epsilon does not go with missing"),
        ({"epsilon": 1, "frame": FRAME, "lags": 1}, "epsilon does not go with lags"),
        ({"epsilon": 1, "frame": FRAME, "weights": "bootstrap"}, "not for a bootstrap"),
        ({"epsilon": 1, "frame": FRAME, "refine": "none"}, "fedrcd-dp has no option 'refine'"),
        ({"method": "fedrcd-s", "epsilon": 1, "frame": FRAME}, "fedrcd-s adds no noise"),
        ({"method": "fedrcd-dp", "frame": FRAME}, "fedrcd-dp adds noise"),
    ],
)
def test_what_noise_does_not_go_with_is_refused_before_anything_is_spent(simulated, settings, reason):
    with pytest.raises(ConfigError, match=reason):
        fedrcd.discover(simulated[1], **settings)


@pytest.mark.parametrize("function", [fedrcd.bootstrap, fedrcd.check])
def test_sums_without_noise_are_refused_beside_it(simulated, function):
    with pytest.raises(ConfigError, match="epsilon is for fedrcd"):
        function(simulated[1], epsilon=1.0, frame=FRAME)


def test_checks_of_a_result_under_noise_are_refused(simulated):
    found = fedrcd.discover(simulated[1], epsilon=3.0, frame=FRAME)
    with pytest.raises(ConfigError, match="epsilon is for fedrcd"):
        fedrcd.check(simulated[1], found)


def test_a_transport_without_noise_is_refused(simulated):
    transport = fedrcd.in_process(simulated[1], frame=FRAME)
    with pytest.raises(ConfigError, match="epsilon is for fedrcd"):
        fedrcd.discover(transport, epsilon=1.0, frame=FRAME)
    with pytest.raises(ConfigError, match="epsilon is for fedrcd"):
        fedrcd.in_process(simulated[1], epsilon=1.0, frame=FRAME)


@pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
def test_noise_that_drowns_everything_is_an_error_of_one_line(simulated):
    told = set()
    for _ in range(20):
        try:
            fedrcd.discover(simulated[1][:150], epsilon=1e-4, frame=FRAME)
        except DataError as problem:
            told.add(str(problem))
    assert told
    assert not any("\n" in text for text in told)


def test_methods_under_noise_are_reached_by_an_epsilon_alone():
    assert list(PRIVATE) == ["fedrcd-dp"]
    assert "fedrcd-dp" not in METHODS
    assert build("fedrcd-dp").deflation.epsilon == 1.0
    with pytest.raises(ConfigError, match="epsilon"):
        find("fedrcd-dp")
