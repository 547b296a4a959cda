"""Directions of rows, and the tensors of them that tell errors from mixtures."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrcd.errors import ProtocolError
from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.statistics.directions import FAR, SPHERE, Whitening, directions, sharpened, spread_of
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.statistics.spherical_tensors import spherical_cumulants, traceless_fourth, traceless_third
from fedrcd.statistics.tensor_sums import tensor_sums
from tests.strategies import seeds

GRIDS = [Grid(21, 64), Grid(11, 64)]


def drawn(seed, p=None, n=60):
    rng = np.random.default_rng(seed)
    p = p or int(rng.integers(2, 6))
    whitening = Whitening(rng.normal(size=p), rng.normal(size=(p, p)) + 2 * np.eye(p))
    return rng.laplace(size=(n, p)) @ rng.normal(size=(p, p)), whitening


def questions(whitening, grid=None):
    p = len(whitening.centre)
    names, frame = tuple(f"x{i}" for i in range(p)), Frame.identity(p)
    return [one(names, frame, whitening.on_grid(grid), grid) for one in (DirectionQuestion, DirectionTensorQuestion)]


def settled(z, whitening, rounds=60):
    for _ in range(rounds):
        whitening = sharpened(whitening, pair_sums(directions([z], whitening, lifted=True), z.shape[1] + 1, 2))
    return whitening


@given(seeds, st.sampled_from([None, *GRIDS]), st.booleans())
def test_directions_have_length_one(seed, grid, lifted):
    z, whitening = drawn(seed)
    (u,) = directions([z], whitening.on_grid(grid), grid, lifted=lifted)
    np.testing.assert_allclose((u**2).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("value", [1e3, 1e80, 1e200, 1.7e308, -1e308])
def test_the_direction_of_a_row_far_out_is_still_a_direction(value):
    z, whitening = drawn(1, p=3)
    z[0, 1] = value
    for lifted in (False, True):
        (u,) = directions([z], whitening, lifted=lifted)
        assert np.isfinite(u).all()
        assert (u[0] ** 2).sum() == pytest.approx(1)


def test_a_row_at_the_centre_counts_with_zeros():
    whitening = Whitening(np.ones(2), np.eye(2))
    sums = tensor_sums(directions([np.ones((3, 2))], whitening, lifted=False), 2)
    assert sums.count == 3
    assert not sums.packed[1:].any()


@given(seeds, st.sampled_from(GRIDS), st.data())
def test_exact_sums_have_the_same_bits_however_rows_are_split(seed, grid, data):
    z, whitening = drawn(seed)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(z) - 1), max_size=4)))
    for question in questions(whitening, grid):
        whole = question.answer([z.copy()])
        parts = [question.answer([part.copy()]) for part in np.split(z, cuts)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        assert total == whole
        assert whole - parts[-1] == total - parts[-1]
        assert question.accepts(whole, ("", ""))
        whole.check(question.variables)


@given(seeds, st.sampled_from(GRIDS))
def test_whitened_rows_are_exact_before_they_are_projected(seed, grid):
    """The same numbers in another order of additions, and in whole numbers of any size."""
    z, whitening = drawn(seed, n=8)
    on_grid, z = whitening.on_grid(grid), grid.snapped(z * 20)
    w = on_grid.of_rows(z)
    backwards = on_grid.matrix[:, ::-1] @ (z - on_grid.centre)[:, ::-1].T
    assert np.array_equal(w, backwards)
    unit = np.abs(on_grid.matrix[on_grid.matrix != 0]).min()
    steps = [[int(one) for one in row] for row in np.rint((z - on_grid.centre) / grid.step).astype(np.int64)]
    scale = 2.0**-60
    whole = [
        [sum(int(m / scale) * q for m, q in zip(row, one, strict=True)) for one in steps] for row in on_grid.matrix
    ]
    np.testing.assert_array_equal(w, np.array(whole, dtype=object).astype(float) * scale * grid.step)
    assert unit > scale


@given(seeds, st.sampled_from(GRIDS))
def test_the_grid_of_whitenings_keeps_what_is_on_it(seed, grid):
    _, whitening = drawn(seed)
    once = whitening.on_grid(grid)
    once.require(len(once.centre), grid)
    np.testing.assert_allclose(once.matrix, whitening.matrix, atol=1e-5 * np.abs(whitening.matrix).max())


@pytest.mark.parametrize(
    "wrong",
    [
        Whitening(np.full(2, 1e-9), np.eye(2)),
        Whitening(np.zeros(2), np.array([[1.0, 0.0], [0.0, 1 + 2.0**-45]])),
        Whitening(np.zeros(3), np.eye(2)),
        Whitening(np.zeros(2), np.zeros((2, 2))),
        Whitening(np.zeros(2), np.full((2, 2), np.nan)),
    ],
    ids=["centre", "matrix", "shape", "nothing", "nan"],
)
def test_a_whitening_that_is_not_on_the_grid_is_refused(wrong):
    question = DirectionQuestion(("a", "b"), Frame.identity(2), wrong, GRIDS[0])
    with pytest.raises(ProtocolError, match="whitening"):
        question.answer([np.zeros((3, 2))])


def test_sums_that_no_directions_have_are_not_accepted():
    z, whitening = drawn(3)
    pairs, tensor = questions(whitening)
    of_pairs, of_tensor = (question.answer([z.copy()]) for question in (pairs, tensor))
    assert pairs.accepts(of_pairs, ("", ""))
    assert tensor.accepts(of_tensor, ("", ""))
    assert not pairs.accepts(of_tensor, ("", ""))
    assert not tensor.accepts(of_pairs, ("", ""))
    assert not pairs.accepts(of_pairs.with_arrays([1.1 * one for one in of_pairs.arrays().values()]), ("", ""))
    count, rest = of_tensor.packed[:1], of_tensor.packed[1:]
    assert not tensor.accepts(of_tensor.with_arrays([np.concatenate([count, 1.1 * rest])]), ("", ""))


def test_no_row_weighs_more_than_another():
    """However far out a row is, it moves a sum by at most 1."""
    z, whitening = drawn(4)
    for question in questions(whitening, GRIDS[0]):
        before = question.answer([z.copy()]).floats()
        moved = z.copy()
        moved[0] *= 1e6
        after = question.answer([moved]).floats()
        for one, other in zip(before.arrays().values(), after.arrays().values(), strict=True):
            assert np.abs(one - other).max() <= 2 * (1 + SPHERE.step)


@settings(max_examples=25)
@given(seeds)
def test_whitening_ends_where_it_began_in_other_units(seed):
    """Tyler's estimator: for rows A z + b it is that for z, carried over."""
    z, whitening = drawn(seed, n=300)
    rng = np.random.default_rng(seed + 1)
    A, b = rng.normal(size=(z.shape[1],) * 2) + 2 * np.eye(z.shape[1]), rng.normal(size=z.shape[1])
    one, other = settled(z, whitening), settled(z @ A.T + b, whitening)
    np.testing.assert_allclose(other.covariance(), A @ one.covariance() @ A.T, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(other.centre, A @ one.centre + b, atol=1e-6)


def test_whitened_directions_are_spread_evenly():
    z, whitening = drawn(7, n=500)
    done = settled(z, whitening)
    spread = spread_of(pair_sums(directions([z], done, lifted=True), z.shape[1] + 1, 2))
    np.testing.assert_allclose(spread, np.eye(len(spread)), atol=1e-9)


def test_gross_errors_hardly_move_the_scatter():
    rng = np.random.default_rng(2)
    z = rng.laplace(size=(4000, 4)) @ rng.normal(size=(4, 4))
    clean = settled(z, Whitening(np.zeros(4), np.eye(4))).covariance()
    z[:200] = 1e6 * rng.normal(size=(200, 4))
    dirty = settled(z, Whitening(np.zeros(4), np.eye(4))).covariance()
    assert np.abs(np.linalg.eigvals(np.linalg.solve(clean, dirty)) - 1).max() < 0.6
    assert np.abs(np.linalg.eigvals(np.linalg.solve(clean, np.cov(z.T))) - 1).max() > 1e9


def full(third, fourth):
    """Tensors with all indices of their own."""
    p = third.shape[1]
    number = pair_index(p).number
    return third[number], fourth[np.ix_(number.ravel(), number.ravel())].reshape(p, p, p, p)


@given(seeds)
def test_traceless_tensors_have_no_trace_and_the_values_they_should(seed):
    z, whitening = drawn(seed)
    p = z.shape[1]
    (u,) = directions([z], whitening, lifted=False)
    means = tensor_sums([u.copy()], p).mean_moments()
    index = pair_index(p + 1)
    inner = index.number[1:, 1:][np.triu_indices(p)]
    third, fourth = means[np.ix_(inner, index.number[0, 1:])], means[np.ix_(inner, inner)]
    T3, T4 = full(third, fourth)
    H3, H4 = full(traceless_third(third), traceless_fourth(fourth))
    np.testing.assert_allclose(np.einsum("iik->k", H3), 0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("iikl->kl", H4), 0, atol=1e-12)
    a = np.random.default_rng(seed).normal(size=p)
    L, K = a @ a, np.einsum("iikl->kl", T4)
    h3 = np.einsum("ijk,i,j,k", T3, a, a, a) - 3 * L * np.einsum("iik->k", T3) @ a / (p + 2)
    h4 = np.einsum("ijkl,i,j,k,l", T4, a, a, a, a) - 6 * L * (a @ K @ a) / (p + 4)
    h4 += 3 * L**2 * np.trace(K) / ((p + 2) * (p + 4))
    assert np.einsum("ijk,i,j,k", H3, a, a, a) == pytest.approx(h3, abs=1e-10)
    assert np.einsum("ijkl,i,j,k,l", H4, a, a, a, a) == pytest.approx(h4, abs=1e-10)


@pytest.mark.parametrize("p", [2, 3, 8])
def test_elliptical_rows_have_no_tensors_beyond_chance(p):
    """Whatever their lengths: those of the cumulants' scale, 6 / N and 24 / N."""
    rng = np.random.default_rng(p)
    third, fourth = [], []
    for _ in range(200):
        z = rng.normal(size=(500, p)) * rng.standard_cauchy(size=(500, 1))
        sums = tensor_sums(directions([z], Whitening(np.zeros(p), np.eye(p)), lifted=False), p)
        tensors = spherical_cumulants(sums, Whitening(np.zeros(p), np.eye(p)), Frame.identity(p))
        k3, k4 = tensors.of_combinations(np.eye(p))
        third.append(k3)
        fourth.append(k4)
    assert np.var(third) * 500 == pytest.approx(6, rel=0.2)
    assert np.var(fourth) * 500 == pytest.approx(24, rel=0.2)


def test_tensors_follow_the_units_of_the_variables():
    z, whitening = drawn(5, p=3, n=400)
    factor = np.array([2.0, 0.1, 30.0])
    plain = spherical_cumulants(
        tensor_sums(directions([z], whitening, lifted=False), 3), whitening, Frame(np.zeros(3), np.ones(3))
    )
    scaled = spherical_cumulants(
        tensor_sums(directions([z], whitening, lifted=False), 3), whitening, Frame(np.zeros(3), factor)
    )
    expected = plain.scaled(factor)
    for name in ("cov", "third", "fourth", "mean"):
        np.testing.assert_allclose(getattr(scaled, name), getattr(expected, name), rtol=1e-9, atol=1e-12)


@given(seeds, st.sampled_from([None, *GRIDS]), st.booleans())
def test_rows_far_from_all_others_count_less(seed, grid, lifted):
    """By their length alone, against a public multiple of what is usual: half is left there, and nothing far beyond."""
    z, whitening = drawn(seed)
    on_grid = whitening.on_grid(grid)
    z[::7] *= 50
    z = z if grid is None else grid.snapped(z)
    (all_rows,) = directions([z.copy()], on_grid, grid, lifted=lifted)
    (near,) = directions([z.copy()], on_grid, grid, lifted=lifted, near=True)
    far = ((on_grid.of_rows(z) ** 2).sum(axis=0) + lifted) / (FAR * z.shape[1])
    np.testing.assert_allclose(near, all_rows / (1 + far**4)[:, None], rtol=1e-9)


@given(seeds, st.sampled_from(GRIDS), st.data())
def test_which_rows_are_far_does_not_depend_on_the_split(seed, grid, data):
    z, whitening = drawn(seed)
    z[::5] *= 20
    cuts = sorted(data.draw(st.sets(st.integers(1, len(z) - 1), max_size=4)))
    for question in (replace(one, near=True) for one in questions(whitening, grid)):
        parts = [question.answer([part.copy()]) for part in np.split(z, cuts)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        assert total == question.answer([z.copy()])
        assert question.accepts(total, ("", ""))
        assert question.needs_trust


def test_rows_that_count_with_zeros_leave_the_spread_as_it_is():
    z, whitening = drawn(9, n=200)
    points = np.concatenate(list(directions([z], whitening, lifted=True)))
    more = np.concatenate([points, np.zeros((100, points.shape[1]))])
    np.testing.assert_allclose(
        spread_of(pair_sums([more], points.shape[1], 2)), spread_of(pair_sums([points], points.shape[1], 2)), rtol=1e-12
    )
