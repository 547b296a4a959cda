import numpy as np
import pytest
from hypothesis import given, settings

from fedrcd.errors import StatisticError
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.packed_tensor import unpack_symmetric
from fedrcd.statistics.pair_cumulants import pair_cumulants
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.tensor_cumulants import tensor_cumulants
from fedrcd.statistics.tensor_sums import tensor_sums
from tests.statistics.test_pair_cumulants import assert_cumulants_close, joint_cumulant
from tests.strategies import proposed, random_frame, seeds, sums_of


def tensors_of(X, frame=None, estimator="plug-in"):
    frame = frame or Frame.identity(X.shape[1])
    return tensor_cumulants(tensor_sums([frame.express(X)], X.shape[1]), frame, estimator)


def rows(seed, n=25, p=3):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=p)


def assert_tensors_close(left, right, tolerance):
    """Equal up to `tolerance` in standard deviations of the variables."""
    unit = 1 / np.sqrt(np.diagonal(right.cov))
    left, right = left.scaled(unit), right.scaled(unit)
    for name in ("mean", "cov", "third", "fourth"):
        np.testing.assert_allclose(getattr(left, name), getattr(right, name), rtol=0, atol=tolerance, err_msg=name)


@settings(max_examples=20)
@given(seeds)
def test_tensors_follow_from_all_partitions(seed):
    X = rows(seed)
    k, index, even = tensors_of(X), pair_index(3), np.full(len(X), 1 / len(X))
    fourth = unpack_symmetric(3, k.fourth)
    for one, (i, j) in enumerate(zip(index.first, index.second, strict=True)):
        for m in range(3):
            expected = joint_cumulant([X[:, i], X[:, j], X[:, m]], even)
            assert k.third[i, j, m] == pytest.approx(expected, abs=1e-8)
        for two, (a, b) in enumerate(zip(index.first, index.second, strict=True)):
            expected = joint_cumulant([X[:, i], X[:, j], X[:, a], X[:, b]], even)
            assert fourth[one, two] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("estimator", ["plug-in", "unbiased"])
@given(seed=seeds)
def test_the_pairs_of_tensors_are_pair_cumulants(estimator, seed):
    X = rows(seed, p=4)
    identity = Frame.identity(4)
    assert_cumulants_close(
        tensors_of(X, estimator=estimator).pairs(), pair_cumulants(sums_of(X), identity, estimator), 1e-9
    )


@pytest.mark.parametrize("estimator", ["plug-in", "unbiased"])
@given(seed=seeds)
def test_tensors_do_not_depend_on_the_frame(estimator, seed):
    X, frame = rows(seed), random_frame(3, np.random.default_rng(seed))
    assert_tensors_close(tensors_of(X, frame, estimator), tensors_of(X, estimator=estimator), 1e-8)


def test_a_mean_of_a_million_costs_no_digits():
    shifted = 1e6 + np.random.default_rng(0).laplace(size=(20_000, 3))
    found, expected = tensors_of(shifted, proposed([shifted])), tensors_of(shifted - 1e6)
    for name in ("cov", "third", "fourth"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-9)


@given(seeds)
def test_removing_variables_gives_the_tensors_of_residuals(seed):
    rng = np.random.default_rng(seed)
    X = rows(seed, n=60, p=5)
    k, left = tensors_of(X), list(range(5))
    Z = X - X.mean(axis=0)
    while len(left) > 1:
        at = int(rng.integers(len(left)))
        k = k.remove(at)
        left.pop(at)
        gone = [j for j in range(5) if j not in left]
        residuals = Z[:, left] - Z[:, gone] @ np.linalg.lstsq(Z[:, gone], Z[:, left], rcond=None)[0]
        expected = tensors_of(residuals)
        unit = 1 / residuals.std(axis=0)
        found, expected = k.scaled(unit), expected.scaled(unit)
        for name in ("cov", "third", "fourth"):
            size = max(1.0, np.abs(Z[:, left].std(axis=0) * unit).max()) ** 4  # digits that residuals cost
            np.testing.assert_allclose(
                getattr(found, name), getattr(expected, name), rtol=0, atol=1e-7 * size, err_msg=name
            )


@given(seeds)
def test_cumulants_of_combinations_are_those_of_the_combined_rows(seed):
    X, W = rows(seed), np.random.default_rng([seed, 1]).normal(size=(4, 3))
    third, fourth = tensors_of(X).of_combinations(W)
    expected = tensors_of(X @ W.T).pairs()
    sd = (X @ W.T).std(axis=0)
    np.testing.assert_allclose(third / sd**3, expected.k3[:, 0] / sd**3, atol=1e-6)
    np.testing.assert_allclose(fourth / sd**4, expected.k4[:, 0] / sd**4, atol=1e-6)


@given(seeds)
def test_scaling_tensors_is_scaling_the_columns(seed):
    X, factor = rows(seed), np.random.default_rng(seed).uniform(0.1, 10, 3)
    assert_tensors_close(tensors_of(X).scaled(factor), tensors_of(X * factor), 1e-8)


def test_removing_leaves_its_argument_alone():
    k = tensors_of(rows(0))
    before = {name: getattr(k, name).copy() for name in ("mean", "cov", "third", "fourth")}
    k.remove(1)
    for name, values in before.items():
        np.testing.assert_array_equal(getattr(k, name), values)


def test_tensors_need_four_rows():
    with pytest.raises(StatisticError, match="at least 4 rows"):
        tensors_of(np.ones((3, 2)))
