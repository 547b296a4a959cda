"""Every pair along an order, and why it is an edge or not."""

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd.errors import ConfigError, ModelWarning


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    X = rng.laplace(size=(800, 4))
    X[:, 1] += X[:, 0]
    X[:, 2] += 0.5 * X[:, 1] + 0.08 * X[:, 0]
    return pd.DataFrame(X, columns=list("abcd"))


def test_all_pairs_along_the_order_are_there_with_the_reason(rows):
    found = fedrcd.discover(rows)
    table = found.candidates()
    place = {name: k for k, name in enumerate(found.order)}
    assert len(table) == 6
    assert (table["cause"].map(place) < table["effect"].map(place)).all()
    kept = set(zip(table.cause[table.kept], table.effect[table.kept], strict=True))
    assert kept == {(edge.cause, edge.effect) for edge in found.edges()}
    assert table.why.str.contains("standard errors").all()
    assert (table.estimate.abs() / table.error).is_monotonic_decreasing


def test_effects_are_regressions_on_all_before_with_their_intervals(rows):
    found = fedrcd.discover(rows)
    table = found.candidates(level=0.9).set_index(["cause", "effect"])
    centred = rows - rows.mean()
    last = found.order[-1]
    b, *_ = np.linalg.lstsq(centred[list(found.order[:-1])], centred[last], rcond=None)
    for cause, effect in zip(found.order, b, strict=False):
        line = table.loc[cause, last]
        assert line.estimate == pytest.approx(effect)
        assert line.high - line.estimate == pytest.approx(1.6448536 * line.error)


def test_knowledge_is_a_reason(rows):
    known = fedrcd.Knowledge(required=[("d", "c")], forbidden=[("a", "b")])
    found = fedrcd.discover(rows, knowledge=known)
    why = found.candidates().set_index(["cause", "effect"]).why
    assert why["d", "c"] == "required by what is known"
    assert ("a", "b") not in why.index or why["a", "b"] == "forbidden by what is known"


def test_they_are_kept_in_the_file(rows):
    found = fedrcd.discover(rows)
    again = fedrcd.Discovery.from_json(found.to_json())
    pd.testing.assert_frame_equal(again.candidates(), found.candidates())
    assert again.verdict == found.verdict != ""


def test_where_gaps_were_filled_there_are_none(rows):
    gaps = rows.mask(np.random.default_rng(5).random(rows.shape) < 0.02)
    with pytest.raises(ConfigError, match="effects of all pairs"):
        fedrcd.discover(gaps, "fedrcd-s", missing="expected").candidates()


def test_doubt_is_a_note_and_a_warning(rows):
    bent = rows.assign(e=np.tanh(3 * rows.a) + 0.3 * rows.d**2)
    with pytest.warns(ModelWarning, match="doubtful: the errors of"):
        found = fedrcd.discover(bent)
    assert found.verdict in found.notes
    assert "errors: fine" in str(fedrcd.discover(rows, "fedrcd-s"))
