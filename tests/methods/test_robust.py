"""What fedrcd-r promises alone: that no row, and no site of ten, turns its order."""

from dataclasses import replace

import numpy as np
import pytest

import fedrcd
from fedrcd.confidence.standard_errors import effect_errors
from fedrcd.data import NOISE_FAMILIES, random_model
from fedrcd.errors import ConfigError, DataError, StatisticError
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.weights import refit
from tests.strategies import estimate

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own

P, N = 10, 2000


def sets(noises=NOISE_FAMILIES, p=P, n=N, seed=0):
    """A model of every family with its rows, standardised."""
    for noise in noises:
        rng = np.random.default_rng([seed, p, n, NOISE_FAMILIES.index(noise)])
        model = random_model(p, noise=noise, rng=rng)
        X = model.sample(n, rng)
        yield model, X / X.std(axis=0), rng


def accuracy(method, spoil, **how):
    """Mean share of ancestral pairs in their order, over all families."""
    found = [ancestral_accuracy(estimate(method, spoil(X, m, rng)).order, m.B) for m, X, rng in sets(**how)]
    return np.mean(found)


def gross_errors(share):
    def spoil(X, _model, rng):
        X = X.copy()
        X[rng.random(X.shape) < share] *= 30
        return [X]

    return spoil


def a_lying_site(X, model, rng):
    """Nine sites, and a tenth with rows of the graph with every edge turned, ten times as large."""
    lies = replace(model, B=model.B.T.copy()).sample(len(X) // 9, rng)
    return [*np.array_split(X, 9), 10 * lies / lies.std(axis=0)]


@pytest.mark.parametrize("share", [0.001, 0.01, 0.03])
def test_gross_errors_turn_others_and_not_this(share):
    assert accuracy("fedrcd-s", gross_errors(share)) < 0.8
    assert accuracy("fedrcd-r", gross_errors(share)) > 0.99


def test_one_site_of_ten_turns_others_and_not_this():
    assert accuracy("fedrcd-s", a_lying_site) < 0.6
    assert accuracy("fedrcd-r", a_lying_site) > 0.96


def test_clean_rows_are_ordered_as_well_as_by_others():
    assert accuracy("fedrcd-r", lambda X, *_: [X]) > 0.99


@pytest.mark.parametrize("value", [1e3, 1e30, 1e300])
def test_one_cell_changes_next_to_nothing(value):
    model, X, _ = next(sets(["laplace"]))
    clean = estimate("fedrcd-r", [X])
    X = X.copy()
    X[5, 1] = value
    dirty = estimate("fedrcd-r", [X])
    assert ancestral_accuracy(dirty.order, model.B) == ancestral_accuracy(clean.order, model.B)
    np.testing.assert_allclose(dirty.B, clean.B, atol=0.02)


def test_effects_are_near_the_truth():
    for model, X, _ in sets(["laplace", "uniform", "student-t"], n=20_000):
        unit = model.sample(200_000, np.random.default_rng(0)).std(axis=0)
        np.testing.assert_allclose(estimate("fedrcd-r", [X]).B, model.B * unit / unit[:, None], atol=0.05)


@pytest.mark.parametrize("whitenings", [0, 1, 3, 9])
def test_it_takes_a_round_for_every_whitening_and_one(whitenings):
    _, X, _ = next(sets(["laplace"]))
    found = fedrcd.discover(X, "fedrcd-r", whitenings=whitenings)
    assert found.rounds == whitenings + 1


def test_the_frame_hardly_matters():
    """Whitening starts from it; centres two scales off and scales wrong by up to four end within sampling error."""
    _, X, rng = next(sets(["exponential"]))
    names = fedrcd.discover(X, "fedrcd-ni").names
    wrong = {name: (rng.uniform(-2, 2), 4.0 ** rng.uniform(-1, 1)) for name in names}
    own, other = (fedrcd.discover(X, "fedrcd-r", weights="none", frame=frame) for frame in (None, wrong))
    assert own.order == other.order
    np.testing.assert_allclose(own.B, other.B, atol=0.01)


def test_sites_that_share_rows_are_refused_with_the_reason():
    _, X, _ = next(sets(["laplace"]))
    halves = [
        fedrcd.Table(X[:, k : k + 5], site, "rows", columns=tuple(f"x{k + j}" for j in range(5)))
        for site, k in (("a", 0), ("b", 5))
    ]
    with pytest.raises(DataError, match="fedrcd-r cannot run: no site holds all 10 columns together"):
        fedrcd.discover(halves, "fedrcd-r")


def test_gaps_are_refused_with_the_reason():
    _, X, _ = next(sets(["laplace"]))
    with pytest.raises(ConfigError, match="fedrcd-r needs complete rows"):
        fedrcd.discover(X, "fedrcd-r", missing="available")


def test_elliptical_rows_have_no_order_and_it_says_so():
    """Lengths alone are not Gaussian here, and directions tell nothing."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 4)) * np.sqrt(5 / rng.chisquare(5, size=(3000, 1)))
    X[:, 1] += X[:, 0]
    found = fedrcd.discover(X, "fedrcd-r")
    assert any("cannot identify the order" in note for note in found.notes)
    assert not any("cannot identify the order" in note for note in fedrcd.discover(X, "fedrcd-s").notes)


def effects_along_the_truth(noise, seed):
    """How far effects of the true edges are off, and their standard errors, by the robust scatter and the usual one."""
    rng = np.random.default_rng([seed, NOISE_FAMILIES.index(noise)])
    model = random_model(8, noise=noise, rng=rng)
    X = model.sample(4000, rng)
    edges = model.B != 0
    for method in ("fedrcd-r", "fedrcd-s"):
        marginals = estimate(method, [X]).marginals
        off = refit(marginals.cov, edges) - model.B
        yield off[edges], effect_errors(marginals.cov, marginals.rows, edges).direct[edges]


def test_intervals_hold_the_true_effects_of_clean_rows():
    """Nominal 95 %; a family whose errors are strongly skewed apart."""
    families = [noise for noise in NOISE_FAMILIES if noise not in ("exponential-cubed", "mixed")]
    robust = [next(effects_along_the_truth(noise, seed)) for noise in families for seed in range(4)]
    inside = np.concatenate([np.abs(off) < 1.96 * error for off, error in robust])
    assert 0.88 < inside.mean() < 0.99


def test_effects_of_strongly_skewed_errors_are_off():
    """What the documentation warns of: the scatter has the form of a covariance only for symmetric errors."""
    pairs = [list(effects_along_the_truth("exponential-cubed", seed)) for seed in range(4)]
    robust, usual = (np.concatenate([pair[k][0] for pair in pairs]) for k in (0, 1))
    assert np.sqrt(np.mean(robust**2)) > 1.5 * np.sqrt(np.mean(usual**2))


def test_rows_far_from_all_others_are_left_out_counted_and_named():
    model, X, rng = next(sets(["laplace"]))
    clean = fedrcd.discover(X, "fedrcd-r")
    assert not any("far from all others" in note for note in clean.notes)
    bad = rng.random(len(X)) < 0.2
    X[bad] *= 300.0
    found = fedrcd.discover(X, "fedrcd-r")
    told = next(int(note.split()[0]) for note in found.notes if "far from all others" in note)
    assert bad.sum() <= told <= 1.2 * bad.sum()
    assert ancestral_accuracy([found.names.index(name) for name in found.order], model.B) == 1.0


def with_a_flag(share, p=4):
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(2000, p))
    X[:, 1] = rng.random(2000) < share
    return X


def test_rare_values_of_a_column_are_said_to_look_like_gross_errors():
    """More than p of p + 1 rows on a plane leave no scatter in which all directions are alike."""
    with pytest.raises(StatisticError, match="column 'x2' does not vary, or follows from others"):
        fedrcd.discover(with_a_flag(0.03), "fedrcd-r")
    assert fedrcd.discover(with_a_flag(0.5), "fedrcd-r").rounds == 6


def test_where_a_column_has_rare_values_auto_takes_another_method():
    for share, robust in ((0.03, False), (0.5, True)):
        X = with_a_flag(share)
        X[7, 0] = 1e4
        assert (fedrcd.discover(X).method == "fedrcd-r") is robust


def test_a_column_that_follows_from_another_is_said_to():
    X = with_a_flag(0.5)
    X[:, 3] = 2 * X[:, 0]
    with pytest.raises(StatisticError, match="is a linear combination of"):
        estimate("fedrcd-r", [X])
