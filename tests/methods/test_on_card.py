"""What a card runs, on strict arrays of the standard that it is written over: all but its kernels and its streams.

On arrays of PyTorch in memory too, where it is installed.
"""

import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedrcd
from fedrcd.data.simulate.models import random_model
from fedrcd.errors import ConfigError
from fedrcd.methods.on_card import on_card
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.entropy_question import EntropyQuestion
from fedrcd.protocol.in_process import embed
from fedrcd.statistics.accelerated_sums import (
    exact_pair_sums_on,
    exact_tensor_sums_on,
    pair_sums_on,
    tensor_sums_on,
)
from fedrcd.statistics.accelerator import Accelerator, device_of
from fedrcd.statistics.exact_sums import exact_pair_sums, exact_tensor_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.statistics.tensor_sums import tensor_sums
from tests.cli.commands import entered, last_line

STRICT = Accelerator(array_api_strict)


def cards():
    """Whatever has arrays of the standard here."""
    yield pytest.param(STRICT, id="strict")
    if find_spec("torch") and find_spec("array_api_compat"):
        yield pytest.param(Accelerator(import_module("array_api_compat.torch"), "cpu"), id="torch")


@pytest.fixture(params=cards(), scope="module")
def card(request):
    return request.param


def rows(p, n, seed):
    rng = np.random.default_rng(seed)
    X = random_model(p, degree=2, rng=rng).sample(n, rng)
    return X, Frame(X.mean(axis=0), X.std(axis=0)).express(X)


def halves(Z):
    return [Z[: len(Z) // 3].copy(), Z[len(Z) // 3 :].copy()]


@pytest.mark.parametrize("order", [2, 3, 4])
def test_pair_sums_are_those_of_the_processor(card, order):
    _, Z = rows(6, 3000, 0)
    found, expected = pair_sums_on(card, halves(Z), 6, order), pair_sums([Z], 6, order)
    assert found.count == expected.count
    for power, values in expected.sums.items():
        np.testing.assert_allclose(found.sums[power], values, rtol=1e-9, atol=1e-9)


def test_tensor_sums_are_those_of_the_processor(card):
    _, Z = rows(6, 3000, 0)
    np.testing.assert_allclose(tensor_sums_on(card, halves(Z), 6).packed, tensor_sums([Z], 6).packed, atol=1e-7)


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), arithmetic=st.sampled_from(["exact", "compact"]), order=st.sampled_from([2, 3, 4]))
def test_exact_sums_are_the_same_to_the_bit_and_count_what_they_clip(card, seed, arithmetic, order):
    p, grid = 3 + seed % 3, ARITHMETIC[arithmetic]
    _, Z = rows(p, 50 + seed % 3000, seed)
    Z[7, 2] = 1e9
    for found, expected in (
        (exact_pair_sums_on(card, halves(Z), p, grid, order), exact_pair_sums(halves(Z), p, order, grid)),
        (exact_tensor_sums_on(card, halves(Z), p, grid), exact_tensor_sums(halves(Z), p, grid)),
    ):
        assert found == expected
        assert found.clipped == expected.clipped


def test_sites_answer_questions_on_a_card_as_they_do_without(card):
    X, _ = rows(5, 800, 3)
    transport = embed([X[:300], X[300:]], tuple("abcde"))
    there = replace(transport, sites=[replace(site, card=card) for site in transport.sites])
    setting, rng = transport.setting, np.random.default_rng(0)
    R = rng.normal(size=(3, 5))
    everyone = np.argwhere(~np.eye(5, dtype=bool))
    rho = np.corrcoef(X.T)[everyone[:, 0], everyone[:, 1]]
    entropies = EntropyQuestion(setting.variables, setting.frame, np.eye(5), np.zeros(5), everyone, rho, singles=True)
    for question in (setting.tensor(), setting.pairs(4), setting.residual_pairs(4, R), entropies):
        found, expected = there.pool(question), transport.pool(question)
        for name, values in expected.arrays().items():
            np.testing.assert_allclose(found.arrays()[name], values, rtol=1e-8, atol=1e-7)
    exact = replace(setting, grid=ARITHMETIC["exact"])
    assert there.pool(exact.tensor()) == transport.pool(exact.tensor())
    assert there.pool(exact.pairs(4)) == transport.pool(exact.pairs(4))


def order_on(card, X, method, **options):
    transport = embed([X], tuple(f"x{k}" for k in range(X.shape[1])))
    parts = on_card(build(method, **options), card, transport.setting, transport.sites)
    assert parts != build(method, **options), "it runs on the processor"
    return run(parts.rounds(transport.setting), transport)


@pytest.mark.parametrize("method", ["direct-lingam", "fed-direct", "fedrcd-sx", "fedrcd-s", "fedrcd-t"])
def test_a_method_finds_the_same_on_a_card(card, method):
    X = rows(9, 1500, 2)[0]
    transport = embed([X], tuple(f"x{k}" for k in range(9)))
    found, expected = order_on(card, X, method), run(build(method).rounds(transport.setting), transport)
    assert found.order.tolist() == expected.order.tolist()
    np.testing.assert_allclose(found.B, expected.B, atol=1e-9)
    np.testing.assert_allclose(found.marginals.distance, expected.marginals.distance, rtol=1e-6)
    for one, two in zip(found.steps, expected.steps, strict=True):
        assert one.chosen == two.chosen
        if method != "direct-lingam":  # which knows lower bounds alone of those that lost
            np.testing.assert_allclose(one.scores, two.scores, rtol=1e-6, atol=1e-9)


def test_refinement_on_a_card_moves_as_it_does_without():
    moved = 0
    for seed in range(6):
        X = rows(7, 250, 100 + seed)[0]
        transport = embed([X], tuple("abcdefg"))
        found, expected = order_on(STRICT, X, "fedrcd-s"), run(build("fedrcd-s").rounds(transport.setting), transport)
        assert found.order.tolist() == expected.order.tolist()
        moved += found.order.tolist() != found.start.tolist()
    assert moved, "no refinement moved anything"


def test_several_tables_are_summed_on_a_card_and_ordered_by_what_they_sum():
    X = rows(5, 900, 4)[0]
    transport = embed([X[:400], X[400:]], tuple("abcde"))
    assert on_card(build("fedrcd-sx"), STRICT, transport.setting, transport.sites) == build("fedrcd-sx")


def test_an_unknown_device_is_refused():
    with pytest.raises(ConfigError, match="device must be one of cpu, cuda, auto"):
        fedrcd.discover(rows(3, 100, 0)[0], device="tpu")


def hide(monkeypatch, torch):
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "array_api_compat.torch", torch and SimpleNamespace())


def test_without_pytorch_it_says_what_to_install(monkeypatch, tmp_path):
    hide(monkeypatch, None)
    table = tmp_path / "a.csv"
    np.savetxt(table, rows(3, 200, 0)[0], delimiter=",", header="a,b,c", comments="")
    done = entered("discover", table, "--device", "cuda")
    assert done.returncode == 2
    assert "needs PyTorch; pip install 'fedrcd[gpu]'" in last_line(done)


def test_auto_goes_on_with_the_processor_and_says_why(monkeypatch):
    hide(monkeypatch, None)
    X = rows(4, 400, 0)[0]
    found = fedrcd.discover(X, "fedrcd-s", device="auto")
    assert found.order == fedrcd.discover(X, "fedrcd-s").order
    assert found.chosen == "device='auto' took the processor: a card needs PyTorch; pip install 'fedrcd[gpu]'"


def test_an_old_pytorch_is_refused(monkeypatch):
    hide(monkeypatch, SimpleNamespace(__version__="2.1.0+cu118"))
    with pytest.raises(ConfigError, match=r"needs PyTorch 2\.4 or later, got 2\.1\.0"):
        device_of("cuda")


def test_without_a_card_cuda_is_refused_and_auto_takes_the_processor(monkeypatch):
    hide(monkeypatch, SimpleNamespace(__version__="2.9.0", cuda=SimpleNamespace(is_available=lambda: False)))
    with pytest.raises(ConfigError, match="PyTorch sees none here"):
        device_of("cuda")
    assert device_of("auto").card is None


def test_too_little_memory_on_a_card_is_said_before_anything_starts(monkeypatch):
    cuda = SimpleNamespace(
        is_available=lambda: True,
        mem_get_info=lambda: (2e9, 8e9),
        memory_reserved=lambda: 0,
        memory_allocated=lambda: 0,
    )
    hide(monkeypatch, SimpleNamespace(__version__="2.9.0", cuda=cuda))
    setting, parts = embed([np.zeros((10, 130))], tuple(f"x{k}" for k in range(130))).setting, build("fedrcd-s")
    card = device_of("cuda").card
    with pytest.raises(ConfigError, match=r"the tensor of 130 variables needs 2\.9 GB on the card, which has 2\.0 GB"):
        on_card(parts, card, setting, [])
    assert on_card(parts, device_of("auto").card, setting, []) == parts
