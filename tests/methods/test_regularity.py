import numpy as np
import pandas as pd
import pytest

from fedrcd import discover
from fedrcd.errors import DataError, StatisticError
from fedrcd.methods.registry import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own

NAMES = ["a", "b", "c", "d", "e"]
every_method = pytest.mark.parametrize("method", METHODS)


def table(n=500, seed=0):
    return pd.DataFrame(np.random.default_rng(seed).exponential(size=(n, 5)), columns=NAMES)


@every_method
def test_a_linear_combination_is_named_with_its_parts(method):
    frame = table().assign(total=lambda t: t.b + 2 * t.d + 7)
    with pytest.raises(StatisticError, match="column 'total' is a linear combination of 'b', 'd';"):
        discover(frame, method)


@every_method
@pytest.mark.parametrize("factor", [2.0, -0.1, 1e6])
def test_a_column_in_other_units_is_named_with_its_twin(method, factor):
    frame = table().assign(twin=lambda t: factor * t.c - 3)
    with pytest.raises(StatisticError, match="column 'twin' is a linear combination of 'c';"):
        discover(frame, method)


@every_method
def test_collinearity_over_several_sites_is_found(method):
    frames = [table(200, seed).assign(twin=lambda t: -2 * t.a) for seed in (1, 2)]
    with pytest.raises(StatisticError, match="column 'twin' is a linear combination of 'a';"):
        discover(frames, method, stack=METHODS[method].one_table)


@every_method
def test_strong_correlation_is_not_collinearity(method):
    rng = np.random.default_rng(3)
    frame = table().assign(close=lambda t: t.c + 1e-3 * rng.exponential(size=len(t)))
    assert len(discover(frame, method).order) == 6


@every_method
@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_too_few_rows_are_counted(method, n):
    with pytest.raises(DataError, match=f"5 variables need at least 8 rows over all sites, got {n}"):
        discover(table(n), method)


@every_method
def test_many_variables_need_more_rows(method):
    X = np.random.default_rng(0).exponential(size=(13, 12))
    with pytest.raises(DataError, match="12 variables need at least 14 rows over all sites, got 13"):
        discover(X, method)


@every_method
def test_enough_rows_are_enough(method):
    rows = 20 if method == "fedrcd-r" else 8  # it leaves out what lies far from the others
    assert len(discover(table(rows), method).order) == 5


@pytest.mark.parametrize("method", [name for name, card in METHODS.items() if not card.one_table])
def test_small_sites_add_up_to_enough_rows(method):
    frame = table(60)
    assert len(discover([frame[k : k + 3] for k in range(0, 60, 3)], method).order) == 5
