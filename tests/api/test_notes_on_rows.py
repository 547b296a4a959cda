"""Notes on rounded columns, columns that count rows, and rows that follow each other."""

import warnings

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd.errors import ModelWarning

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")


def series(memory, rows=800, seed=0):
    rng = np.random.default_rng(seed)
    E = rng.laplace(size=(rows, 3))
    for t in range(1, rows):
        E[t] = memory * E[t - 1] + np.sqrt(1 - memory**2) * E[t]
    E[:, 1] += 0.8 * E[:, 0]
    return pd.DataFrame(E, columns=list("abc"))


def notes_of(frame, **settings):
    return " ".join(fedrcd.discover(frame, "fedrcd-s", **settings).notes)


def test_rounded_columns_are_named_with_their_number_of_values():
    frame = series(0.0)
    frame["b"] = frame["b"].round()
    assert "rounded: 'b'" in notes_of(frame)
    assert "rounded" not in notes_of(series(0.0))


def test_a_column_that_counts_rows_is_named():
    frame = series(0.0)
    frame["visit"] = np.arange(len(frame)) + np.random.default_rng(1).uniform(0, 0.5, len(frame))
    assert "'visit' of the table only rises" in notes_of(frame)


def test_rows_that_follow_each_other_are_noted_where_a_column_says_when():
    frame = series(0.8).assign(date=[f"2020-{k}" for k in range(800)])
    with pytest.warns(ModelWarning, match="look dependent: .* lags='auto'"):
        fedrcd.discover(frame, "fedrcd-s", drop=["date"])


def test_nothing_is_said_of_an_order_that_nobody_gave():
    assert "look dependent" not in notes_of(series(0.8))


def test_rows_that_do_not_follow_each_other_are_not_noted():
    frame = series(0.0).assign(patient_id=range(800))
    assert "look dependent" not in notes_of(frame, drop=["patient_id"])


def test_where_the_past_is_taken_into_account_there_is_nothing_to_note():
    frame = series(0.8).assign(day=range(800))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fedrcd.discover(frame, "fedrcd-s", lags=1, time="day")
    assert "look dependent" not in " ".join(found.notes)
