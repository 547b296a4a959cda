import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrcd.statistics.frame import Frame
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.statistics.residual_tensors import ResidualTensors
from fedrcd.statistics.tensor_cumulants import tensor_cumulants
from fedrcd.statistics.tensor_sums import tensor_sums
from tests.strategies import seeds


def case(seed, p):
    """Cumulants of standardised variables, an order of them, and the tensors along it."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(60, p)) @ (np.eye(p) + rng.normal(size=(p, p)) / p)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    cumulants = tensor_cumulants(tensor_sums([X], p), Frame.identity(p))
    return rng, cumulants, ResidualTensors(cumulants, rng.permutation(p))


def along(cumulants, order):
    """The same from the definition: rows of residuals, contracted with the tensors of the variables."""
    return cumulants.of_combinations(residual_rows(cumulants.cov, order))


@settings(deadline=None, max_examples=15)
@given(seeds, st.integers(1, 7))
def test_residuals_have_the_cumulants_of_their_combinations_whatever_has_moved(seed, p):
    rng, cumulants, tensors = case(seed, p)
    for _ in range(4):
        np.testing.assert_allclose(tensors.cumulants, along(cumulants, tensors.order), atol=1e-8)
        tensors.move(int(rng.integers(p)), int(rng.integers(p)))


@settings(deadline=None, max_examples=15)
@given(seeds, st.integers(2, 6))
def test_every_place_of_a_variable_has_the_cumulants_of_the_whole_order(seed, p):
    rng, cumulants, tensors = case(seed, p)
    tensors.move(int(rng.integers(p)), int(rng.integers(p)))
    v = int(rng.integers(p))
    found, rest = tensors.insertions(v), [u for u in tensors.order if u != v]
    for place in range(p):
        expected = np.array(along(cumulants, [*rest[:place], v, *rest[place:]]))
        np.testing.assert_allclose(np.array(found.own)[:, place], expected[:, place], atol=1e-8)
        np.testing.assert_allclose(np.array(found.before)[:, :place], expected[:, :place], atol=1e-8)
        np.testing.assert_allclose(np.array(found.after)[:, place:], expected[:, place + 1 :], atol=1e-8)
