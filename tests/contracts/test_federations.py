"""Sites that hold different columns, shared rows, missing values and scales of their own."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedrcd
from fedrcd.data.partition import column_parts, hybrid_split, row_parts, split_rows, vertical_split
from fedrcd.data.simulate import random_model
from fedrcd.errors import ConfigError, CoverageWarning, DataError, FedrcdWarning, ProtocolError, ScaleWarning
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import METHODS
from fedrcd.protocol.embedded import LocalBlock, embed_blocks
from fedrcd.protocol.questions import PairQuestion, TensorQuestion
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.expectation import Gaussian, expected_pair_sums, expected_tensor_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.statistics.tensor_sums import tensor_sums

FEDERATED = [name for name, card in METHODS.items() if not card.one_table]
PAIR_METHODS = [name for name in FEDERATED if METHODS[name].coverage == "pairs"]
seeds = st.integers(0, 10_000)


@pytest.fixture(autouse=True)
def _notes_are_not_the_subject():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedrcdWarning)
        yield


def simulated(p, n, seed=0):
    rng = np.random.default_rng(seed)
    model = random_model(p, noise="gamma", density=0.4, rng=rng)
    return model, model.sample(n, rng)


def blocks_of(X, names, parts):
    """The tables of a split, as blocks of a federation."""
    return [
        LocalBlock(part.site, part.block, part.columns, X[np.ix_(part.rows, [names.index(c) for c in part.columns])])
        for part in parts
    ]


def labelled(X, names, parts):
    return [
        fedrcd.Table(pd.DataFrame(block.rows, columns=list(block.columns)), site=block.site, block=block.block)
        for block in blocks_of(X, names, parts)
    ]


def some_split(rng, n, names):
    """A random horizontal, vertical, hybrid or overlapping split that covers all pairs."""
    kind = rng.integers(4)
    if kind == 0:
        return row_parts(split_rows(n, int(rng.integers(1, 6)), rng=rng), names)
    if kind == 1:
        return column_parts(n, vertical_split(names, int(rng.integers(3, 7)), overlap=float(rng.random()), rng=rng))
    if kind == 2:
        return column_parts(n, [names, *vertical_split(names, 3, rng=rng)])  # one site has everything, others parts
    return hybrid_split(n, names, int(rng.integers(3, 7)), int(rng.integers(1, 4)), rng=rng)


def rows_together(n, names, parts, wanted):
    """Rows of which one site holds all wanted variables, by brute force."""
    together = np.zeros(n, dtype=bool)
    for part in parts:
        if {names[j] for j in wanted} <= set(part.columns):
            together[part.rows] = True
    return together


@given(seeds)
def test_pooled_pair_sums_are_those_of_the_rows_where_a_site_holds_the_pair(seed):
    rng = np.random.default_rng(seed)
    model, X = simulated(5, 60, seed)
    parts = some_split(rng, 60, model.names)
    transport = embed_blocks(blocks_of(X, model.names, parts), model.names)
    frame = transport.setting.frame
    pooled = transport.pool(PairQuestion(model.names, frame, 4))
    Z = frame.express(X)
    for i in range(5):
        for j in range(5):
            rows = rows_together(60, model.names, parts, {i, j})
            assert np.broadcast_to(pooled.count, (5, 5))[i, j] == rows.sum()
            for a, b in ((1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (2, 2), (4, 0)):
                direct = np.sum(Z[rows, i] ** a * Z[rows, j] ** b)
                assert np.broadcast_to(pooled.at(a, b), (5, 5))[i, j] == pytest.approx(direct, rel=1e-9, abs=1e-9)


@given(seeds)
def test_pooled_tensor_sums_are_those_of_the_rows_where_a_site_holds_all_four(seed):
    rng = np.random.default_rng(seed)
    model, X = simulated(4, 40, seed)
    parts = some_split(rng, 40, model.names)
    transport = embed_blocks(blocks_of(X, model.names, parts), model.names)
    frame = transport.setting.frame
    pooled = transport.pool(TensorQuestion(model.names, frame))
    Z = np.column_stack([np.ones(40), frame.express(X)])
    index = pair_index(5)
    moments = pooled.moments()
    for _ in range(20):
        r, s = rng.integers(index.size, size=2)
        four = {int(v) for v in (index.first[r], index.second[r], index.first[s], index.second[s])}
        rows = rows_together(40, model.names, parts, {v - 1 for v in four if v})
        direct = np.sum(
            np.prod([Z[rows, v] for v in (index.first[r], index.second[r], index.first[s], index.second[s])], axis=0)
        )
        assert moments[r, s] == pytest.approx(direct, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", FEDERATED)
@pytest.mark.parametrize("seed", range(3))
def test_a_site_with_everything_makes_every_method_exact_whatever_the_others_hold(method, seed):
    model, X = simulated(5, 300, seed)
    rng = np.random.default_rng(seed)
    parts = column_parts(300, [*vertical_split(model.names, 3, rng=rng), model.names])
    split = fedrcd.discover(labelled(X, model.names, parts), method)
    whole = fedrcd.discover(pd.DataFrame(X, columns=list(model.names)), method)
    assert split.adjacency.loc[list(model.names), list(model.names)].to_numpy() == pytest.approx(
        whole.adjacency.to_numpy(), abs=1e-8
    )
    assert split.rows == 300


@pytest.mark.parametrize("method", PAIR_METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_pair_methods_are_exact_in_a_vertical_federation(method, seed):
    model, X = simulated(12, 2000, seed)
    parts = column_parts(2000, vertical_split(model.names, 3, rng=np.random.default_rng(seed)))
    tables = labelled(X, model.names, parts)
    split = fedrcd.discover(tables, method)
    whole = fedrcd.discover(pd.DataFrame(X, columns=list(model.names))[list(split.names)], method)
    # FedISHC's coefficients divide by skewness and multiply rounding from step to step: only its first are compared.
    steps = 5 if method == "fedishc" else 12
    assert split.order[:steps] == whole.order[:steps]
    if steps == 12:
        assert pytest.approx(whole.B, abs=1e-8) == split.B


@pytest.mark.parametrize("method", [name for name in FEDERATED if METHODS[name].coverage != "pairs"])
def test_other_methods_are_refused_in_a_vertical_federation_with_the_reason(method):
    model, X = simulated(12, 300)
    parts = column_parts(300, vertical_split(model.names, 3, rng=np.random.default_rng(0)))
    with pytest.raises(DataError, match=r"together.*fedrcd-sp"):
        fedrcd.discover(labelled(X, model.names, parts), method)


def test_auto_takes_the_pair_method_in_a_vertical_federation():
    model, X = simulated(6, 500)
    parts = column_parts(500, vertical_split(model.names, 3, rng=np.random.default_rng(0)))
    assert fedrcd.discover(labelled(X, model.names, parts)).method == "fedrcd-sp"


def test_a_missing_pair_is_named_before_anything_is_summed():
    tables = [
        fedrcd.Table(
            pd.DataFrame(np.random.default_rng(0).laplace(size=(50, 2)), columns=columns), site=site, block="b"
        )
        for site, columns in (("one", ["a", "b"]), ("two", ["b", "c"]))
    ]
    with pytest.raises(DataError, match="'a', 'c' together"):
        fedrcd.discover(tables, "fedrcd-ni")


def test_a_block_that_two_sites_hold_counts_once():
    model, X = simulated(4, 300)
    frame = pd.DataFrame(X, columns=list(model.names))
    twice = [fedrcd.Table(frame, site="one", block="b"), fedrcd.Table(frame, site="two", block="b")]
    once = fedrcd.discover(frame, "fedrcd-ni")
    found = fedrcd.discover(twice, "fedrcd-ni")
    assert found.rows == 300
    assert pytest.approx(once.B, abs=1e-12) == found.B


def test_a_site_checks_what_the_plan_says_of_it():
    block = LocalBlock("one", "b", ("a", "b"), np.random.default_rng(0).laplace(size=(20, 2)))
    transport = embed_blocks([block], ("a", "b"))
    wrong = Layout(("a", "b", "c"), (Holding("one", "b", ("a", "b", "c"), 20),))
    question = PairQuestion(("a", "b", "c"), transport.setting.frame, 2)
    with pytest.raises(ProtocolError, match="wrong about site 'one'"):
        transport.sites[0].answer(question, wrong)
    with pytest.raises(ProtocolError, match="does not know"):
        transport.sites[0].answer(question, Layout(("a", "b"), (Holding("two", "b", ("a", "b"), 20),)))


@pytest.mark.parametrize("scheme", ["iid", "sorted"])
@pytest.mark.parametrize("method", FEDERATED)
def test_a_fixed_table_gives_one_order_however_many_sites_share_it(method, scheme):
    _, X = simulated(5, 500)
    orders = set()
    for sites in (1, 5, 10, 20, 50):
        by = X[:, 0] if scheme == "sorted" else None
        parts = split_rows(500, sites, scheme=scheme, by=by, rng=np.random.default_rng(sites))
        orders.add(fedrcd.discover([X[part] for part in parts], method).order)
    assert len(orders) == 1


def with_gaps(X, share, seed=0):
    holes = X.copy()
    holes[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return holes


def test_rows_with_missing_values_are_left_out_and_counted():
    _, X = simulated(4, 500)
    holes = with_gaps(X, 0.05)
    complete = holes[~np.isnan(holes).any(axis=1)]
    with pytest.warns(CoverageWarning, match="lack values"):
        found = fedrcd.discover(holes)
    assert found.rows == len(complete)
    assert pytest.approx(fedrcd.discover(complete).B, abs=1e-9) == found.B


@pytest.mark.parametrize("method", [name for name in FEDERATED if METHODS[name].coverage != "all columns"])
def test_available_values_of_a_table_without_gaps_are_all_of_it(method):
    _, X = simulated(4, 500)
    assert pytest.approx(fedrcd.discover(X, method).B, abs=1e-8) == fedrcd.discover(X, method, missing="available").B


def test_pair_sums_with_gaps_are_over_the_rows_that_have_both():
    _, X = simulated(3, 200)
    holes = with_gaps(X, 0.3)
    sums = PairQuestion(("a", "b", "c"), Frame.identity(3), 4)
    pooled = sums.answer([holes], gaps=True)
    both = ~np.isnan(holes[:, 0]) & ~np.isnan(holes[:, 2])
    assert pooled.count[0, 2] == both.sum()
    assert pooled.at(1, 3)[0, 2] == pytest.approx(np.sum(X[both, 0] * X[both, 2] ** 3))
    assert pooled.at(2, 0)[0, 2] == pytest.approx(np.sum(X[both, 0] ** 2))


def test_tensor_sums_with_gaps_are_over_the_rows_that_have_all():
    _, X = simulated(3, 200)
    holes = with_gaps(X, 0.3)
    pooled = TensorQuestion(("a", "b", "c"), Frame.identity(3))
    sums = pooled.answer([holes], gaps=True)
    rows = ~np.isnan(holes).any(axis=1)
    number = pair_index(4).number
    direct = np.mean(X[rows, 0] * X[rows, 1] * X[rows, 2] ** 2)
    assert sums.mean_moments()[number[1, 2], number[3, 3]] == pytest.approx(direct)


def test_methods_that_need_complete_rows_refuse_available_values():
    _, X = simulated(4, 500)
    with pytest.raises(ConfigError, match="complete rows"):
        fedrcd.discover(with_gaps(X, 0.1), "fedrcd-x", missing="available")


def test_too_few_complete_rows_are_refused_with_a_way_out():
    _, X = simulated(10, 400)
    with pytest.raises(DataError, match="missing='expected'"):
        fedrcd.discover(with_gaps(X, 0.3))


def test_declared_codes_are_missing_values():
    _, X = simulated(4, 500)
    holes = with_gaps(X, 0.05)
    coded = np.where(np.isnan(holes), -999.0, holes)
    assert pytest.approx(fedrcd.discover(holes).B) == fedrcd.discover(coded, missing_codes=[-999]).B


@pytest.mark.parametrize("within", ["centre", "standardise"])
@pytest.mark.parametrize("method", FEDERATED)
def test_scaling_within_sites_is_scaling_the_tables_first(method, within):
    _, X = simulated(4, 600)
    tables = np.split(X, [200, 350])
    done = [(t - t.mean(axis=0)) / (t.std(axis=0) if within == "standardise" else 1) for t in tables]
    assert pytest.approx(fedrcd.discover(done, method).B, abs=1e-8) == fedrcd.discover(tables, method, within=within).B


def test_sites_that_differ_in_level_and_unit_are_ordered_rightly_once_each_is_standardised():
    model, X = simulated(8, 6000, seed=4)
    rng = np.random.default_rng(1)
    tables = [rng.normal(size=8) * 10 + part * rng.uniform(0.1, 10, 8) for part in np.split(X, 6)]

    def accuracy(found):
        return ancestral_accuracy([int(name[1:]) - 1 for name in found.order], model.B)

    assert accuracy(fedrcd.discover(tables, within="standardise")) == 1
    assert accuracy(fedrcd.discover(tables)) < 1


def test_a_method_that_reads_scale_is_warned_of_when_sites_take_it_away():
    _, X = simulated(4, 600)
    with pytest.warns(ScaleWarning, match="standardise"):
        fedrcd.discover(np.split(X, 2), "fedrcd-x", within="standardise")


def test_complete_kernels_agree_with_those_for_gaps():
    _, X = simulated(3, 100)
    rows = PairQuestion(("a", "b", "c"), Frame.identity(3), 4)
    plain, gaps = pair_sums([X], 3, 4), rows.answer([X], gaps=True)
    assert gaps.at(3, 1) == pytest.approx(plain.at(3, 1))
    assert TensorQuestion(("a", "b", "c"), rows.frame).answer([X], gaps=True).packed == pytest.approx(
        tensor_sums([X], 3).packed
    )


def test_a_column_of_labels_splits_a_table_into_blocks_and_ids_are_left_out():
    _, X = simulated(3, 300)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["patient"], frame["year"] = [f"r{k}" for k in range(300)], np.repeat(["2020", "2021", "2022"], 100)
    found = fedrcd.discover([fedrcd.Table(frame, "north", block_column="year", id="patient")], "fedrcd-ni")
    assert set(found.names) == {"a", "b", "c"}
    assert (found.rows, found.sites) == (300, 1)


@pytest.mark.parametrize("column", ["id", "block_column"])
def test_a_label_column_that_is_not_there_is_named(column):
    frame = pd.DataFrame(simulated(3, 100)[1], columns=["a", "b", "c"])
    with pytest.raises(DataError, match="'nowhere'"):
        fedrcd.discover([fedrcd.Table(frame, "north", **{column: "nowhere"})])


def test_plain_and_labelled_tables_do_not_mix():
    frame = pd.DataFrame(simulated(3, 100)[1], columns=["a", "b", "c"])
    with pytest.raises(ConfigError, match="all tables or none"):
        fedrcd.discover([frame, fedrcd.Table(frame, "north")])


def test_a_block_with_two_sizes_is_refused():
    with pytest.raises(ConfigError, match="same rows everywhere"):
        Layout(("a", "b"), (Holding("one", "x", ("a",), 10), Holding("two", "x", ("b",), 11)))


def test_expected_tensor_sums_are_the_means_of_many_fillings():
    rng = np.random.default_rng(0)
    given = Gaussian(np.array([0.5, -1.0, 0.2]), np.array([[1.0, 0.5, 0.2], [0.5, 2.0, -0.3], [0.2, -0.3, 1.5]]))
    row = np.array([[np.nan, 0.7, np.nan]])
    lost, seen = [0, 2], [1]
    C = given.cov[np.ix_(lost, lost)] - given.cov[np.ix_(lost, seen)] @ given.cov[np.ix_(seen, lost)] / given.cov[1, 1]
    mean = given.mean[lost] + given.cov[np.ix_(lost, seen)][:, 0] / given.cov[1, 1] * (0.7 - given.mean[1])
    fillings = np.empty((400_000, 3))
    fillings[:, 1] = 0.7
    fillings[:, lost] = rng.multivariate_normal(mean, C, 400_000)
    expected = expected_tensor_sums([row], given).packed
    drawn = tensor_sums([fillings], 3).packed / 400_000
    np.testing.assert_allclose(expected, drawn, atol=0.05 * np.abs(expected).max())
    pairs = expected_pair_sums([row], given, 4)
    direct = pair_sums([fillings], 3, 4)
    np.testing.assert_allclose(pairs.at(3, 1), direct.at(3, 1) / 400_000, atol=0.05)
    np.testing.assert_allclose(pairs.at(2, 2), direct.at(2, 2) / 400_000, atol=0.05)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_filling_gaps_by_pooled_moments_keeps_the_order(share):
    model, X = simulated(8, 10_000, seed=4)
    found = fedrcd.discover(np.array_split(with_gaps(X, share), 4), missing="expected")
    assert ancestral_accuracy([int(name[1:]) - 1 for name in found.order], model.B) >= 0.95
    assert found.rounds > 2


def test_filling_gaps_does_not_depend_on_how_rows_are_split():
    _, X = simulated(5, 1200)
    holes = with_gaps(X, 0.2)
    one = fedrcd.discover(holes, "fedrcd-s", missing="expected")
    many = fedrcd.discover(np.array_split(holes, 7), "fedrcd-s", missing="expected")
    assert one.order == many.order
    assert pytest.approx(one.B, abs=1e-8) == many.B


def test_sites_that_lack_columns_are_filled_where_rows_are_not_shared():
    model, X = simulated(6, 6000, seed=3)
    names = list(model.names)
    tables = []
    for k, rows in enumerate(np.array_split(X, 6)):
        kept = [name for name in names if name != names[k]]
        tables.append(fedrcd.Table(pd.DataFrame(rows, columns=names)[kept], f"site {k}"))
    found = fedrcd.discover(tables, "fedrcd-s", missing="expected")
    assert ancestral_accuracy([names.index(name) for name in found.order], model.B) >= 0.95


def test_gaps_of_shared_rows_are_not_filled():
    model, X = simulated(6, 300)
    parts = column_parts(300, vertical_split(model.names, 3, rng=np.random.default_rng(0)))
    with pytest.raises(ConfigError, match="several sites share"):
        fedrcd.discover(labelled(X, model.names, parts), "fedrcd-sp", missing="expected")


@pytest.mark.parametrize(
    ("change", "within"),
    [
        (lambda part, _: part, "none"),
        (lambda part, rng: part + 2 * rng.normal(size=8), "centre"),
        (lambda part, rng: part * rng.uniform(0.5, 2, 8), "standardise"),
    ],
    ids=["alike", "shifted", "rescaled"],
)
def test_sites_are_asked_once_whether_they_differ(change, within):
    _, X = simulated(8, 6000, seed=4)
    rng = np.random.default_rng(2)
    found = fedrcd.discover([change(part, rng) for part in np.split(X, 6)], within="auto")
    assert f"within='{within}'" in found.chosen
    assert found.rounds == 2


@pytest.mark.parametrize("family", ["exponential-cubed", "pareto", "gaussian-cubed"])
def test_heavy_tails_are_not_taken_for_sites_that_differ(family):
    chosen = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = random_model(5, noise=family, rng=rng).sample(10_000, rng)
        chosen.append(fedrcd.discover(np.split(X, 5), "fedrcd-ni", within="auto").chosen)
    assert sum("'none'" in reason for reason in chosen) >= 4


def test_variables_can_be_put_in_an_order_that_breaks_ties():
    _, X = simulated(3, 200)
    found = fedrcd.discover(pd.DataFrame(X, columns=["a", "b", "c"]), variables=["c", "a", "b"])
    assert found.names == ("c", "a", "b")
    with pytest.raises(ConfigError, match="variables"):
        fedrcd.discover(pd.DataFrame(X, columns=["a", "b", "c"]), variables=["c", "a"])


def test_a_site_without_a_usable_row_is_named():
    _, X = simulated(3, 200)
    empty = X[:50].copy()
    empty[np.arange(50), np.arange(50) % 3] = np.nan
    with pytest.raises(DataError, match="table 2 has no row without missing values"):
        fedrcd.discover([X[50:], empty])


def test_a_column_of_two_types_is_named_where_it_is_not_a_number():
    frame = pd.DataFrame(simulated(3, 100)[1], columns=["a", "b", "c"])
    with pytest.raises(DataError, match="column 'b' of table 2"):
        fedrcd.discover([frame, frame.assign(b="high")])


def test_entries_from_different_rows_are_warned_of():
    model, X = simulated(6, 3000, seed=3)
    names = list(model.names)
    tables = [
        fedrcd.Table(pd.DataFrame(rows, columns=names).drop(columns=names[k]), f"site {k}")
        for k, rows in enumerate(np.array_split(X, 6))
    ]
    with pytest.warns(CoverageWarning, match="missing='expected'"):
        fedrcd.discover(tables, "fedrcd-s")
