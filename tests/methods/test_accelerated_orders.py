"""Arrays of PyTorch on the processor, where it is installed: what a card runs, but for its kernel."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import fedrcd
from fedrcd.data.simulate.models import random_model
from fedrcd.errors import ConfigError
from fedrcd.methods.accelerated_orders import direct_order, s_order, sx_order
from fedrcd.statistics.accelerated_sums import (
    exact_pair_sums_on,
    exact_tensor_sums_on,
    pair_sums_on,
    tensor_sums_on,
)
from fedrcd.statistics.accelerator import accelerator
from fedrcd.statistics.exact_sums import exact_pair_sums, exact_tensor_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.statistics.tensor_sums import tensor_sums


@pytest.fixture
def processor():
    pytest.importorskip("torch")
    return accelerator("cpu")


def rows(p, n, seed):
    rng = np.random.default_rng(seed)
    X = random_model(p, degree=2, rng=rng).sample(n, rng)
    return X, Frame(X.mean(axis=0), X.std(axis=0)).express(X)


def halves(Z):
    return [Z[: len(Z) // 3].copy(), Z[len(Z) // 3 :].copy()]


def test_sums_are_those_of_numpy(processor):
    _, Z = rows(6, 3000, 0)
    found, expected = pair_sums_on(processor, halves(Z), 6), pair_sums([Z], 6, 4)
    for power, values in expected.sums.items():
        np.testing.assert_allclose(found.sums[power], values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tensor_sums_on(processor, halves(Z), 6).packed, tensor_sums([Z], 6).packed, atol=1e-7)


@pytest.mark.parametrize("arithmetic", ["exact", "compact"])
def test_exact_sums_are_the_same_to_the_bit(processor, arithmetic):
    _, Z = rows(5, 5000, 1)
    Z[7, 2] = 1e9  # clipped
    grid = ARITHMETIC[arithmetic]
    assert exact_pair_sums_on(processor, halves(Z), 5, grid) == exact_pair_sums(halves(Z), 5, 4, grid)
    assert exact_tensor_sums_on(processor, halves(Z), 5, grid) == exact_tensor_sums(halves(Z), 5, grid)


@pytest.mark.parametrize(
    ("method", "order"), [("direct-lingam", direct_order), ("fedrcd-sx", sx_order), ("fedrcd-s", s_order)]
)
def test_orders_are_those_of_the_methods(processor, method, order):
    X = rows(12, 1500, 2)[0]
    assert order(processor, X).order == [int(name[1:]) - 1 for name in fedrcd.discover(X, method).order]


def test_an_unknown_device_is_refused():
    with pytest.raises(ConfigError, match="device must be one of cpu, cuda, auto"):
        accelerator("tpu")


def test_without_pytorch_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"needs PyTorch; pip install 'fedrcd\[gpu\]'"):
        accelerator("auto")


def test_an_old_pytorch_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__="2.1.0+cu118"))
    with pytest.raises(ConfigError, match=r"needs PyTorch 2\.4 or later, got 2\.1\.0"):
        accelerator("cuda")


def test_without_a_card_cuda_is_refused_and_auto_takes_the_processor(monkeypatch):
    cuda = SimpleNamespace(is_available=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__="2.9.0", cuda=cuda))
    with pytest.raises(ConfigError, match="sees no card"):
        accelerator("cuda")
    assert accelerator("auto").device == "cpu"


def test_too_little_memory_on_a_card_is_said_before_anything_starts(monkeypatch):
    cuda = SimpleNamespace(
        is_available=lambda: True,
        mem_get_info=lambda: (2e9, 8e9),
        memory_reserved=lambda: 0,
        memory_allocated=lambda: 0,
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__="2.9.0", cuda=cuda))
    with pytest.raises(ConfigError, match=r"needs 16\.2 GB on the card, which has 2\.0 GB free"):
        s_order(accelerator("auto"), np.zeros((10, 200)))
