import numpy as np
import pytest
from experiments.pages.stress import VARIANTS, markdown, stress
from experiments.tasks.regimes import REGIMES

from fedrcd.evaluation.evaluate import DataSetting, evaluate
from fedrcd.graphs.dag import is_acyclic


def test_there_are_at_least_forty_regimes_with_names_of_their_own():
    assert len({regime.name for regime in REGIMES}) == len(REGIMES) >= 40


@pytest.mark.parametrize("regime", REGIMES, ids=lambda regime: regime.name)
def test_a_regime_draws_standardised_rows_of_an_acyclic_model(regime):
    B, X = regime.draw(0)
    assert is_acyclic(B)
    assert X.shape == (regime.rows, regime.p)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_a_regime_draws_the_same_rows_again():
    np.testing.assert_array_equal(REGIMES[0].draw(3)[1], REGIMES[0].draw(3)[1])


def test_the_stress_table_has_a_line_per_regime_and_a_difference():
    lines = list(stress(REGIMES[:2], range(2), processes=1))
    table = list(markdown(lines))
    assert len(table) == 2 + 2 + 2
    assert all(line.accuracy.shape == (2, len(VARIANTS)) for line in lines)
    assert "±" in table[-1]


def test_all_methods_meet_the_same_rows():
    setting = DataSetting(noise="laplace", seed=1, p=4, sites=2, rows=50)
    first, second = setting.draw()[1], setting.draw()[1]
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    scores = list(evaluate(["fedrcd-ni", "hc-lingam"], [setting]))
    assert scores[0].ancestral_accuracy == scores[1].ancestral_accuracy
