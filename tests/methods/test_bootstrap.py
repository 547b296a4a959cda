from dataclasses import replace

import numpy as np
import pytest

from fedrcd.confidence.replicates import (
    ask_groups,
    draw_weights,
    group_replicates,
    leave_one_out,
    one_round,
    row_replicates,
)
from fedrcd.data import random_model
from fedrcd.data.simulate.partition import column_parts
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, StatisticError
from fedrcd.methods.registry import METHODS, build, find
from fedrcd.protocol.driver import run
from fedrcd.protocol.groups import Grouping
from fedrcd.protocol.in_process import embed, in_process
from tests.contracts.federations import blocks_of

RNG = np.random.default_rng(0)
MODEL = random_model(5, noise="laplace", density=0.5, rng=RNG)
X = MODEL.sample(1500, RNG)
TABLES = np.array_split(X, 3)
ONE_ROUND = [name for name in METHODS if name not in ("fed-direct", "direct-lingam", "fedrcd-r", "fedrcd-se")]


def with_groups(transport):
    return replace(transport, sites=[replace(s, grouping=Grouping(s.block.encode())) for s in transport.sites])


def grouped(method="fedrcd-s", groups=10, tables=TABLES):
    transport = with_groups(embed(tables, MODEL.names))
    parts = one_round(find(method), {})
    return parts, ask_groups(parts, transport.setting, transport, groups), transport


@pytest.mark.parametrize("method", ONE_ROUND)
def test_the_total_of_the_groups_gives_the_method_s_own_order_in_one_round(method):
    _, found, transport = grouped(method)
    plain = embed(TABLES, MODEL.names, stack=METHODS[method].one_table)
    expected = run(build(method).rounds(plain.setting), plain)
    np.testing.assert_array_equal(found.estimate.order, expected.order)
    np.testing.assert_allclose(found.estimate.B, expected.B, rtol=1e-8, atol=1e-10)
    assert transport.traffic.rounds == 1


@pytest.mark.parametrize("method", ["fed-direct", "direct-lingam", "fedrcd-r", "fedrcd-se"])
def test_methods_of_many_rounds_without_a_tensor_say_so(method):
    with pytest.raises(ConfigError, match="cannot be resampled; take fedrcd-s"):
        one_round(find(method), {})


@pytest.mark.parametrize("groups", [3, 10, 50])
def test_weights_have_mean_and_variance_one_and_sum_to_the_number_of_groups(groups):
    _, found, _ = grouped(groups=groups)
    weights = draw_weights(found.stack, 20_000, np.random.default_rng(1))
    assert (weights > 0).all()
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=0.05)
    np.testing.assert_allclose(weights.var(axis=0), 1, atol=0.12)
    np.testing.assert_allclose(weights.reshape(-1, 3, groups).sum(axis=2), groups)


def test_the_spread_of_weighted_means_is_the_sampling_error_even_with_few_groups():
    rng = np.random.default_rng(2)
    _, found, _ = grouped(groups=10, tables=[X])
    shares = []
    for _ in range(400):
        values = rng.exponential(size=10)
        shares.append(np.var(draw_weights(found.stack, 100, rng) @ values / 10, ddof=1) / (1 / 10))
    assert abs(np.mean(shares) - 1) < 0.15  # whole numbers from a multinomial would give 0.9, and twice the draws 0.5


def test_sites_that_share_rows_share_weights():
    parts = column_parts(len(X), [MODEL.names, MODEL.names[:3]])
    transport = with_groups(in_process(blocks_of(X, MODEL.names, parts), MODEL.names))
    chosen = one_round(find("fedrcd-s"), {})
    stack = ask_groups(chosen, transport.setting, transport, 10).stack
    weights = draw_weights(stack, 3, np.random.default_rng(0))
    sites = {site for site, _ in stack.origins}
    if len(sites) > 1:
        np.testing.assert_array_equal(weights[:, :10], weights[:, 10:])
    assert len({block for _, block in stack.origins}) == 1


def test_a_replicate_without_a_site_is_the_method_without_its_table():
    parts, found, _ = grouped()
    without = leave_one_out(parts, found)
    assert list(without) == ["site 1", "site 2", "site 3"]
    others = embed(TABLES[1:], MODEL.names)
    expected = run(build("fedrcd-s").rounds(replace(others.setting, frame=found.setting.frame)), others)
    order, B = without["site 1"]
    np.testing.assert_array_equal(order, expected.order)
    np.testing.assert_allclose(B, expected.B, rtol=1e-8, atol=1e-10)


def test_one_site_cannot_be_left_out():
    parts, found, _ = grouped(tables=[X])
    assert leave_one_out(parts, found) == {}


def test_processes_change_nothing():
    parts, found, _ = grouped()
    weights = draw_weights(found.stack, 12, np.random.default_rng(3))
    done = []
    one = group_replicates(parts, found, weights, jobs=1, progress=done.append)
    two = group_replicates(parts, found, weights, jobs=2)
    np.testing.assert_array_equal(one.orders, two.orders)
    np.testing.assert_array_equal(one.B, two.B)
    assert done[-1] == 12
    assert one.failed == 0


def test_workers_start_when_there_is_much_to_do(monkeypatch):
    from fedrcd.confidence import replicates

    parts, found, _ = grouped()
    weights = draw_weights(found.stack, 8, np.random.default_rng(3))
    serial = group_replicates(parts, found, weights, jobs=1)
    monkeypatch.setattr(replicates, "START_WORKERS", 0.0)
    parallel = group_replicates(parts, found, weights, jobs=2)
    np.testing.assert_array_equal(serial.B, parallel.B)


def test_rows_are_drawn_with_replacement_and_by_seed():
    blocks = [Table(X, "s", "s", columns=MODEL.names)]

    def make(parts):
        return in_process(parts, MODEL.names)

    setting = make(blocks).setting
    seeds = np.random.SeedSequence(5).spawn(6)
    one, two = (row_replicates(build("direct-lingam"), setting, blocks, make, seeds) for _ in range(2))
    np.testing.assert_array_equal(one.B, two.B)
    assert len({B.tobytes() for B in one.B}) == 6


def test_replicates_without_an_answer_are_counted_and_none_is_an_error():
    parts, found, _ = grouped()
    weights = np.ones((2, 30))
    weights[1] = 0
    weights[1, 0] = 0.1  # about five rows
    some = group_replicates(parts, found, weights)
    assert (len(some.B), some.failed) == (1, 1)
    with pytest.raises(StatisticError, match="no replicate had an answer"):
        group_replicates(parts, found, weights[1:])


def test_two_groups_are_too_few():
    _, found, _ = grouped(groups=2)
    with pytest.raises(ConfigError, match="at least 3 groups"):
        draw_weights(found.stack, 5, np.random.default_rng(0))
