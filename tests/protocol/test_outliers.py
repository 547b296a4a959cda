import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data.names import default_names
from fedrcd.data.rows import Chunk, streamed
from fedrcd.data.simulate.noise import PURE_FAMILIES, Noise
from fedrcd.data.table import Table
from fedrcd.errors import DataError
from fedrcd.protocol.in_process import in_process
from fedrcd.protocol.outliers import columns_with_gross_errors, rows_within
from fedrcd.statistics.frame import Frame, propose_frame


def gross_errors(values):
    table = Table(values, columns=default_names(values.shape[1]))
    return columns_with_gross_errors(table, propose_frame([streamed(table)], [len(values)]))


def test_rows_with_one_far_value_are_left_out_whole():
    rows = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, -9.0]])
    assert rows_within(Frame.identity(2), 8.0)(Chunk(rows)).tolist() == [True, True, False]


def test_trimming_looks_at_every_block_of_rows():
    rows = np.zeros((20_000, 2))
    rows[[5, 9000, 19_999], 1] = 100
    assert np.flatnonzero(~rows_within(Frame.identity(2), 8.0)(Chunk(rows))).tolist() == [5, 9000, 19_999]


@pytest.mark.parametrize("family", PURE_FAMILIES)
def test_clean_tails_are_not_taken_for_gross_errors(family):
    alarms = 0
    for seed in range(20):
        rows = Noise(family).draw(2000, np.random.default_rng(seed))[:, None]
        alarms += bool(gross_errors(rows))
    assert alarms <= 1


@pytest.mark.parametrize("wrong", [1, 5])
def test_values_in_a_wrong_unit_are_seen(wrong):
    rows = np.random.default_rng(0).laplace(size=(2000, 3))
    rows[:wrong, 1] = 1000 * (1 + rows[:wrong, 1])
    assert gross_errors(rows) == [1]


def stands_apart(distances):
    """By its definition: sorted, a step of a factor of five beyond 20 scales among the outermost two per cent."""
    tail = np.sort(distances)[-max(2, len(distances) // 50) :]
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = tail[1:] / tail[:-1]
    return bool(((steps > 5) & (tail[1:] > 20)).any()) and 2 * (distances == 0).sum() <= len(distances)


far_values = st.floats(0, 1e6) | st.sampled_from([0.0, 3.9, 4.0, 4.1, 19.0, 21.0, 99.0, 101.0, 503.0, 1e300])


@given(st.lists(far_values, min_size=2, max_size=8), st.sampled_from([1, 30, 60]), st.randoms())
def test_a_gap_is_found_as_by_sorting(values, times, shuffled):
    distances = values + [one for one in values[:2] for _ in range(times)]
    shuffled.shuffle(distances)
    distances = np.array(distances)
    found = columns_with_gross_errors(Table(distances[:, None], columns=("a",)), Frame.identity(1))
    assert bool(found) == stands_apart(distances)


def test_trimmed_rows_take_part_in_no_round():
    rows = np.random.default_rng(0).laplace(size=(500, 2))
    rows[7, 0] = 1e6
    transport = in_process([Table(rows, "site", "block", columns=("a", "b"))], ("a", "b"), trim=8.0)
    kept = transport.sites[0].rows.values
    assert len(kept) < 500
    assert np.abs(kept).max() < 100


@pytest.mark.parametrize("sites", [2, 3, 10])
def test_the_same_rows_are_trimmed_however_they_are_split_and_in_any_unit(sites):
    rows = np.random.default_rng(0).standard_t(3, size=(4000, 2)) * np.sqrt(2)

    def kept(tables, factor=1.0):
        blocks = [Table(factor * one, f"{k}", f"{k}", columns=("a", "b")) for k, one in enumerate(tables)]
        transport = in_process(blocks, ("a", "b"), trim=8.0)
        return np.concatenate([site.rows.values for site in transport.sites]) / factor

    np.testing.assert_array_equal(kept(np.array_split(rows, sites)), kept([rows]))
    assert len(kept([rows], 1.4)) == len(kept([rows]))


def kept_by_site(tables, **settings):
    blocks = [Table(one, f"{k}", f"{k}", columns=("a", "b")) for k, one in enumerate(tables)]
    return [site.rows.values for site in in_process(blocks, ("a", "b"), **settings).sites]


@pytest.mark.parametrize("factor", [50.0, 500.0])
def test_a_site_with_other_units_is_not_trimmed_away(factor):
    rows = np.random.default_rng(0).laplace(size=(1000, 2))
    first, second = kept_by_site([rows[:500], 3 + factor * rows[500:]], trim=12.0, within="standardise")
    assert len(first) == len(second) == 500


def test_a_site_at_another_level_is_not_trimmed_away():
    rows = np.random.default_rng(0).laplace(size=(1000, 2))
    first, second = kept_by_site([rows[:900], 300 + rows[900:]], trim=12.0, within="centre")
    assert (len(first), len(second)) == (900, 100)


@pytest.mark.parametrize("within", ["centre", "standardise"])
def test_many_gross_errors_do_not_hide_in_the_moments_of_their_site(within):
    rows = np.random.default_rng(0).laplace(size=(1000, 2))
    rows[500:520, 1] = 1e4  # four per cent of a site: within five of its own standard deviations
    assert len(kept_by_site([rows[:500], rows[500:]], trim=12.0, within=within)[1]) == 480


def test_trimming_everything_is_named():
    rows = np.random.default_rng(0).laplace(size=(1000, 2))
    with pytest.raises(DataError, match=r"trim=0\.01 left 0 of 1000 rows; take a larger one"):
        kept_by_site([rows[:400], rows[400:]], trim=0.01)
    with pytest.raises(DataError, match=r"trim=0\.2 left \d of 100 rows of 1; take a larger one"):
        kept_by_site([rows[:900], rows[900:]], trim=0.2, within="standardise")
