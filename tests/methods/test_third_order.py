from dataclasses import replace

import numpy as np
import pytest

from fedrcd.data import LinearModel, Noise, random_model
from fedrcd.graphs import topological_order
from fedrcd.methods.deflations.third_order import deflate_third_order
from fedrcd.methods.scores.tau import tau3, tau4
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import PairCumulants, pair_cumulants
from fedrcd.statistics.residual_maps import residual_map
from tests.strategies import estimate, population, sums_of

BETA = 0.7
CHOICES = [(coefficient, update) for coefficient in ("published", "corrected") for update in ("all", "marginal")]


def population_cumulants(model, residuals=None):
    frame = Frame.identity(len(model.B) if residuals is None else len(residuals))
    question = PairQuestion(model.names, Frame.identity(len(model.B)), 4, residuals)
    return pair_cumulants(population(model).pool(question), frame)


def two_variables():
    """x1 -> x2 with effect BETA and skewed noise."""
    B = np.array([[0.0, 0.0], [BETA, 0.0]])
    return population_cumulants(LinearModel(B, (Noise("exponential"),) * 2, np.array([1.5, 0.8]), ("x1", "x2")))


def coefficient_used(k, coefficient, update):
    """The coefficient alpha of x2, from what deflation takes away: alpha^3 k3(s)."""
    deflated = deflate_third_order(k, 0, coefficient, update)
    return np.cbrt((k.k3 - deflated.k3)[1, 0] / k.k3[0, 0])


@pytest.mark.parametrize("update", ["all", "marginal"])
def test_the_corrected_coefficient_is_the_effect(update):
    assert coefficient_used(two_variables(), "corrected", update) == pytest.approx(BETA, rel=1e-9)


@pytest.mark.parametrize("update", ["all", "marginal"])
def test_the_published_coefficient_is_the_effect_squared(update):
    assert coefficient_used(two_variables(), "published", update) == pytest.approx(BETA**2, rel=1e-9)


@pytest.mark.parametrize("coefficient", ["corrected", "published"])
def test_updating_all_changes_the_cross_cumulants_too(coefficient):
    k, s = random_third_order(4, 1.0, seed=3), 2
    deflated = deflate_third_order(k, s, coefficient, "all")
    alpha = [(k.k12[j, s] if coefficient == "corrected" else k.k12[s, j]) / k.k3[s, 0] for j in range(4)]
    for i in range(4):
        for j in range(4):
            expected = k.k12[i, j] - alpha[i] * alpha[j] ** 2 * k.k3[s, 0]
            assert deflated.k12[i, j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("coefficient", ["corrected", "published"])
def test_the_marginal_update_leaves_the_cross_cumulants_alone(coefficient):
    k = two_variables()
    np.testing.assert_array_equal(deflate_third_order(k, 0, coefficient, "marginal").k12, k.k12)


@pytest.mark.parametrize(("coefficient", "update"), CHOICES)
def test_nothing_of_fourth_order_changes(coefficient, update):
    k = two_variables()
    deflated = deflate_third_order(k, 0, coefficient, update)
    for name in ("cov", "k4", "k13", "k22"):
        np.testing.assert_array_equal(getattr(deflated, name), getattr(k, name))


@pytest.mark.parametrize("seed", range(10))
def test_the_corrected_deflation_is_exact_in_population(seed):
    """Sources taken in true order leave the third-order cumulants of the residuals."""
    model = random_model(6, noise="exponential", density=0.5, rng=np.random.default_rng(seed))
    order = topological_order(model.B).tolist()
    k, left = population_cumulants(model), list(range(6))
    cov = k.cov
    for step in range(1, 5):
        at = left.index(order[step - 1])
        rest = [position for position in range(len(left)) if position != at]
        k = deflate_third_order(k, at, "corrected", "all").keep(rest)
        left.pop(at)
        R, kept = residual_map(cov, tuple(order[:step]))
        expected = population_cumulants(model, R)
        assert left == list(kept)
        sd = np.sqrt(np.diagonal(cov))[left]
        np.testing.assert_allclose(k.k12 / np.outer(sd, sd**2), expected.k12 / np.outer(sd, sd**2), atol=1e-9)
        np.testing.assert_allclose(k.k3[:, 0] / sd**3, expected.k3[:, 0] / sd**3, atol=1e-9)


def order_by_hand(k, score, deflate):
    """Indices in the order in which they are taken, by a plain loop."""
    left, order = list(range(k.p)), []
    while len(left) > 1:
        at = int(np.argmax(score(k)))
        order.append(left.pop(at))
        k = deflate(k, at).keep([position for position in range(k.p) if position != at])
    return [*order, *left]


@pytest.mark.parametrize(("coefficient", "update"), CHOICES)
def test_fedishc_is_score_and_deflation_in_turn(coefficient, update):
    X = random_model(7, noise="gamma", density=0.5, rng=np.random.default_rng(0)).sample(500, np.random.default_rng(1))
    k = pair_cumulants(sums_of(X - X.mean(axis=0), 3), Frame.identity(7))
    expected = order_by_hand(k, tau3, lambda k, s: deflate_third_order(k, s, coefficient, update))
    assert estimate("fedishc", [X], coefficient=coefficient, update=update).order.tolist() == expected


@pytest.mark.parametrize(("coefficient", "update"), CHOICES)
def test_the_ablation_picks_by_fourth_order_scores_among_those_left(coefficient, update):
    X = random_model(7, noise="gamma", density=0.5, rng=np.random.default_rng(2)).sample(500, np.random.default_rng(3))
    k = pair_cumulants(sums_of(X - X.mean(axis=0)), Frame.identity(7))
    expected = order_by_hand(k, tau4, lambda k, _: k)
    assert estimate("fedishc-tau4", [X], coefficient=coefficient, update=update).order.tolist() == expected


def random_third_order(p, size, seed):
    """Third-order arrays of random entries, whose skewnesses have the given size."""
    rng = np.random.default_rng(seed)
    k12 = rng.normal(size=(p, p))
    np.fill_diagonal(k12, size * rng.normal(size=p))
    cov = np.eye(p)
    return PairCumulants(
        np.full((1, 1), 100), np.ones((p, 1)), cov, np.diagonal(k12)[:, None].copy(), k12, *[np.zeros((p, p))] * 3
    )


@pytest.mark.parametrize(("coefficient", "update"), CHOICES)
@pytest.mark.parametrize("size", [1e-3, 1e-12, 1e-100, 1e-300, 0.0])
def test_long_iterations_with_hardly_any_skewness_stay_finite(coefficient, update, size):
    k = random_third_order(60, size, seed=0)
    while k.p > 1:
        at = int(np.argmax(tau3(k)))
        k = deflate_third_order(k, at, coefficient, update).keep([i for i in range(k.p) if i != at])
        assert np.isfinite(k.k3).all()
        assert np.isfinite(k.k12).all()
        assert np.isfinite(tau3(k)).all()


@pytest.mark.parametrize(("coefficient", "update"), CHOICES)
def test_scaling_arrays_down_changes_no_choice(coefficient, update):
    """Arrays near the bound are divided by a power of two at once, others never; both must be ordered alike."""
    small = random_third_order(12, 1.0, seed=1)
    large = replace(small, k3=small.k3 * 2.0**99, k12=small.k12 * 2.0**99)

    def deflate(k, s):
        return deflate_third_order(k, s, coefficient, update)

    assert order_by_hand(large, tau3, deflate) == order_by_hand(small, tau3, deflate)


@pytest.mark.parametrize(("coefficient", "update"), CHOICES)
def test_without_any_skewness_there_is_nothing_to_take_out(coefficient, update):
    k = random_third_order(4, 1.0, seed=2)
    k.k3[1] = 0.0
    deflated = deflate_third_order(k, 1, coefficient, update)
    np.testing.assert_array_equal(deflated.k3, k.k3)
    np.testing.assert_array_equal(deflated.k12, k.k12)
