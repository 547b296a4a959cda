"""Sites that hold different columns, and rows that several sites share."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedrcd
from fedrcd.data.simulate.partition import column_parts, split_rows, vertical_split
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError, ProtocolError
from fedrcd.methods.registry import METHODS
from fedrcd.protocol.in_process import in_process
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.pair_index import pair_index
from tests.contracts.federations import (
    FEDERATED,
    PAIR_METHODS,
    blocks_of,
    labelled,
    rows_together,
    simulated,
    some_split,
    with_gaps,
)

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
seeds = st.integers(0, 10_000)


@given(seeds)
def test_pooled_pair_sums_are_those_of_the_rows_where_a_site_holds_the_pair(seed):
    rng = np.random.default_rng(seed)
    model, X = simulated(5, 60, seed)
    parts = some_split(rng, 60, model.names)
    transport = in_process(blocks_of(X, model.names, parts), model.names)
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
    transport = in_process(blocks_of(X, model.names, parts), model.names)
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


def test_a_block_that_two_sites_hold_counts_once():
    model, X = simulated(4, 300)
    frame = pd.DataFrame(X, columns=list(model.names))
    twice = [fedrcd.Table(frame, site="one", block="b"), fedrcd.Table(frame, site="two", block="b")]
    once = fedrcd.discover(frame, "fedrcd-ni")
    found = fedrcd.discover(twice, "fedrcd-ni")
    assert found.rows == 300
    assert pytest.approx(once.B, abs=1e-12) == found.B


def test_a_site_checks_what_the_plan_says_of_it():
    block = Table(np.random.default_rng(0).laplace(size=(20, 2)), "one", "b", columns=("a", "b"))
    transport = in_process([block], ("a", "b"))
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


def test_too_few_complete_rows_are_refused_with_a_way_out():
    _, X = simulated(10, 400)
    with pytest.raises(DataError, match="missing='expected'"):
        fedrcd.discover(with_gaps(X, 0.3))


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


def test_variables_can_be_put_in_an_order_that_breaks_ties():
    _, X = simulated(3, 200)
    found = fedrcd.discover(pd.DataFrame(X, columns=["a", "b", "c"]), variables=["c", "a", "b"])
    assert found.names == ("c", "a", "b")
    with pytest.raises(ConfigError, match="variables"):
        fedrcd.discover(pd.DataFrame(X, columns=["a", "b", "c"]), variables=["c", "a"])


def test_a_column_of_two_types_is_named_where_it_is_not_a_number():
    frame = pd.DataFrame(simulated(3, 100)[1], columns=["a", "b", "c"])
    with pytest.raises(DataError, match="table 2 has columns that cannot be variables: column 'b': text"):
        fedrcd.discover([frame, frame.assign(b="high")])


def test_a_missing_pair_is_named_before_anything_is_summed():
    tables = [
        fedrcd.Table(
            pd.DataFrame(np.random.default_rng(0).laplace(size=(50, 2)), columns=columns), site=site, block="b"
        )
        for site, columns in (("one", ["a", "b"]), ("two", ["b", "c"]))
    ]
    with pytest.raises(DataError, match="'a', 'c' together"):
        fedrcd.discover(tables, "fedrcd-ni")
