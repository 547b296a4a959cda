"""Notes on rounded columns and on columns that count rows."""

import numpy as np
import pandas as pd
import pytest

import fedrcd

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")


def frame_of(rows=800, seed=0):
    rng = np.random.default_rng(seed)
    E = rng.laplace(size=(rows, 3))
    E[:, 1] += 0.8 * E[:, 0]
    return pd.DataFrame(E, columns=list("abc"))


def notes_of(frame, **settings):
    return " ".join(fedrcd.discover(frame, "fedrcd-s", **settings).notes)


def test_rounded_columns_are_named_with_their_number_of_values():
    frame = frame_of()
    frame["b"] = frame["b"].round()
    assert "rounded: 'b'" in notes_of(frame)
    assert "rounded" not in notes_of(frame_of())


def test_a_column_that_counts_rows_is_named():
    frame = frame_of()
    frame["visit"] = np.arange(len(frame)) + np.random.default_rng(1).uniform(0, 0.5, len(frame))
    assert "'visit' of the table only rises" in notes_of(frame)
