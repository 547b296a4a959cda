import numpy as np
import pytest
from hypothesis import given, settings

from fedrcd.data import NOISE_FAMILIES, random_model
from fedrcd.errors import ProtocolError
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.population_oracle import ORACLE_ROWS
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.protocol.wire import to_bytes
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.packed_tensor import unpack_symmetric
from fedrcd.statistics.pair_cumulants import pair_cumulants
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.residual_maps import residual_map
from fedrcd.statistics.tensor_cumulants import tensor_cumulants
from tests.strategies import population, population_sd, random_frame, seeds

PATTERNS = {
    "cov": ("im,jm,m->ij", 0),
    "k12": ("im,jm,jm,m->ij", 1),
    "k21": ("im,im,jm,m->ij", 1),
    "k13": ("im,jm,jm,jm,m->ij", 2),
    "k22": ("im,im,jm,jm,m->ij", 2),
    "k31": ("im,im,im,jm,m->ij", 2),
}
"""Each array as a sum over errors, and which cumulant of the errors it takes."""


def random_case(seed):
    rng = np.random.default_rng(seed)
    noise = NOISE_FAMILIES[rng.integers(len(NOISE_FAMILIES))]
    return random_model(int(rng.integers(2, 7)), noise=noise, density=0.5, rng=rng), rng


def assert_cumulants_of(k, A, noise):
    """The cumulants `k` are those of A e, up to rounding of the fourth moments."""
    sd = np.sqrt(np.einsum("im,im,m->i", A, A, noise[0]))
    for name, (pattern, which) in PATTERNS.items():
        expected = np.einsum(pattern, *[A] * (pattern.count("m") - 1), noise[which])
        a, b = pattern.count("i") - 1, pattern.count("j") - 1
        unit = np.outer(sd**a, sd**b)
        size = np.maximum(1, np.abs(expected / unit))
        np.testing.assert_allclose(getattr(k, name) / unit / size, expected / unit / size, atol=1e-9, err_msg=name)


@settings(max_examples=25)
@given(seeds)
def test_the_oracle_gives_back_the_cumulants_of_the_population(seed):
    model, rng = random_case(seed)
    frame = random_frame(len(model.B), rng)
    sums = population(model, frame=frame).pool(PairQuestion(model.names, frame, 4))
    assert_cumulants_of(pair_cumulants(sums, frame), model.mixing, model.noise_cumulants)


@settings(max_examples=25)
@given(seeds)
def test_the_oracle_gives_back_the_cumulants_of_residuals(seed):
    model, rng = random_case(seed)
    p = len(model.B)
    frame = random_frame(p, rng)
    A = model.mixing
    cov = (A * model.noise_cumulants.variance) @ A.T
    given_ = tuple(rng.permutation(p)[: rng.integers(1, p)].tolist())
    R, rest = residual_map(cov / np.outer(frame.scale, frame.scale), given_)
    sums = population(model, frame=frame).pool(PairQuestion(model.names, frame, 4, R))
    in_units, kept = residual_map(cov, given_)
    k = pair_cumulants(sums, Frame(frame.centre[list(kept)], frame.scale[list(kept)]))
    assert rest == kept
    assert_cumulants_of(k, in_units @ A, model.noise_cumulants)


@settings(max_examples=25)
@given(seeds)
def test_the_oracle_gives_back_the_tensors_of_the_population(seed):
    model, rng = random_case(seed)
    frame = random_frame(len(model.B), rng)
    sums = population(model, frame=frame).pool(TensorQuestion(model.names, frame))
    sd = population_sd(model)
    k, A, index = tensor_cumulants(sums, frame).scaled(1 / sd), model.mixing / sd[:, None], pair_index(len(sd))
    _, third, fourth = model.noise_cumulants
    expected_third = np.einsum("im,jm,km,m->ijk", A, A, A, third)
    expected_fourth = np.einsum("im,jm,km,lm,m->ijkl", A, A, A, A, fourth)
    expected_fourth = expected_fourth[index.first, index.second][:, index.first, index.second]
    np.testing.assert_allclose(k.third, expected_third, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(unpack_symmetric(k.p, k.fourth), expected_fourth, rtol=1e-9, atol=1e-9)


@settings(max_examples=25)
@given(seeds)
def test_the_sums_of_the_oracle_are_possible(seed):
    model, _ = random_case(seed)
    sums = population(model, standardised=True).pool(PairQuestion(model.names, Frame.identity(len(model.B)), 4))
    sums.check()
    sums.check_possible()


def test_variables_may_be_asked_for_in_any_order():
    model, _ = random_case(0)
    p = len(model.B)
    backwards = model.names[::-1]
    straight = population(model).pool(PairQuestion(model.names, Frame.identity(p), 4))
    reverse = population(model).pool(PairQuestion(backwards, Frame.identity(p), 4))
    np.testing.assert_allclose(reverse.at(3, 1), straight.at(3, 1)[::-1, ::-1])


@pytest.mark.parametrize("order", [2, 3, 4])
def test_nothing_beyond_the_order_is_answered(order):
    model, _ = random_case(0)
    sums = population(model).pool(PairQuestion(model.names, Frame.identity(len(model.B)), order))
    assert max(a + b for a, b in sums.sums) == order


def test_the_oracle_counts_rounds_and_bytes():
    model, _ = random_case(0)
    oracle = population(model)
    answer = oracle.pool(PairQuestion(model.names, oracle.setting.frame, 4))
    assert (oracle.traffic.rounds, oracle.traffic.bytes_sent) == (1, len(to_bytes(answer)))


def test_the_oracle_pretends_to_very_many_rows():
    model, _ = random_case(0)
    oracle = population(model)
    assert run(build("fedrcd-ni").rounds(oracle.setting), oracle).marginals.rows == ORACLE_ROWS


def test_the_oracle_refuses_entropies():
    model, _ = random_case(0)
    oracle = population(model)
    with pytest.raises(ProtocolError, match="EntropyQuestion"):
        run(build("fed-direct").rounds(oracle.setting), oracle)


@pytest.mark.parametrize("estimator", ["plug-in", "unbiased"])
def test_very_many_rows_leave_nothing_to_correct(estimator):
    model, _ = random_case(1)
    oracle = population(model)
    sums = oracle.pool(PairQuestion(model.names, oracle.setting.frame, 4))
    k = pair_cumulants(sums, oracle.setting.frame, estimator)
    assert_cumulants_of(k, model.mixing, model.noise_cumulants)
