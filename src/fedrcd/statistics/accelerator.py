"""Where arrays live while they are summed: a card, or whatever else has arrays by the array API standard.

What runs on a card is written once, over the standard: PyTorch or CuPy bring the card, and any strict implementation
can check the code. They are imported only when a card is asked for; the core does without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.typing import Matrix

DeviceName = Literal["cpu", "cuda", "auto"]

OLDEST = (2, 4)
"""The first release of PyTorch that takes NumPy 2 and brings the compiler of our kernel."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A library of arrays by the standard, and the device its arrays are on."""

    xp: Any
    device: Any = None
    torch: Any = None
    """PyTorch, if its arrays are on a card: streams and kernels are beyond the standard, and only it has them."""
    cupy: Any = None
    """CuPy, if it brings the card."""
    optional: bool = False
    """Whether the processor does what does not fit."""

    @property
    def has_kernels(self) -> bool:
        """Whether it is a card for which there are kernels."""
        return self.torch is not None

    def free(self) -> float:
        """Bytes that are free on the card; without end where there is none."""
        if self.torch is not None:
            free, _ = self.torch.cuda.mem_get_info()
            return float(free + self.torch.cuda.memory_reserved() - self.torch.cuda.memory_allocated())
        if self.cupy is not None:
            free, _ = self.cupy.cuda.runtime.memGetInfo()
            return float(free + self.cupy.get_default_memory_pool().free_bytes())
        return float("inf")

    def put(self, values: Any) -> Any:
        """An array on the device, float64."""
        return self.xp.asarray(np.array(values, dtype=np.float64, order="C"), device=self.device)

    def whole(self, values: Any) -> Any:
        """Whole numbers on the device."""
        return self.xp.asarray(np.array(values, dtype=np.int64, order="C"), device=self.device)

    def zeros(self, shape: Any, dtype: Any = None) -> Any:
        """Zeros on the device, float64 unless said otherwise."""
        return self.xp.zeros(shape, dtype=self.xp.float64 if dtype is None else dtype, device=self.device)

    def eye(self, size: int) -> Any:
        """Where a square matrix has its diagonal."""
        places = self.xp.arange(size, device=self.device)
        return places[:, None] == places[None, :]

    def takes(self, needed: float, what: str) -> bool:
        """Whether so many bytes are free; raises if they are not, and nothing else may do the work."""
        free = self.free()
        if needed > free and not self.optional:
            raise ConfigError(
                f"device='cuda': {what} needs {needed / 1e9:.1f} GB on the card, which has {free / 1e9:.1f} GB free; "
                "take device='auto' or 'cpu', or fewer variables"
            )
        return needed <= free

    def streamed(self, blocks: Iterable[Matrix]) -> Iterator[Any]:
        """Blocks of rows on the device; on a card one is copied while the one before is in work."""
        if self.torch is None:
            for block in blocks:
                yield self.put(block)
            return
        cuda = self.torch.cuda
        copies, before, done = cuda.Stream(), None, None
        for block in blocks:
            source = (
                block if isinstance(block, self.torch.Tensor) else self.torch.as_tensor(np.ascontiguousarray(block))
            )
            with cuda.stream(copies):
                arrived = source.to(self.device, non_blocking=True)
                ready = copies.record_event()
            if before is not None:
                yield _waited_for(cuda, before, done)
            before, done = arrived, ready
        if before is not None:
            yield _waited_for(cuda, before, done)


def _waited_for(cuda: Any, arrived: Any, ready: Any) -> Any:
    here = cuda.current_stream()
    here.wait_event(ready)
    arrived.record_stream(here)
    return arrived


def host(values: Any) -> Any:
    """An array of a device as one of NumPy."""
    if hasattr(values, "cpu"):  # PyTorch
        return values.cpu().numpy()
    return values.get() if hasattr(values, "get") else np.asarray(values)  # CuPy, or anything in memory


class Device(NamedTuple):
    """What a name stands for here: a card, or None for the processor; and why `auto` took the processor."""

    card: Accelerator | None = None
    reason: str = ""


def device_of(name: str) -> Device:
    """The device of a name: `auto` takes the card if there is one that can be used."""
    if name not in get_args(DeviceName):
        raise ConfigError(f"device must be one of {', '.join(get_args(DeviceName))}, got {name!r}")
    if name == "cpu":
        return Device()
    found = _card()
    if isinstance(found, Accelerator):
        return Device(replace(found, optional=name == "auto"))
    if name == "cuda":
        raise ConfigError(f"device='cuda' {found}, or take device='cpu'")
    return Device(reason=f"device='auto' took the processor: a card {found}")


def _card() -> Accelerator | str:
    """The card; what is missing, if there is none."""
    try:
        torch, xp = import_module("torch"), import_module("array_api_compat.torch")
    except ImportError:
        return _card_of_cupy()
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < OLDEST:
        return f"needs PyTorch {'.'.join(map(str, OLDEST))} or later, got {torch.__version__}; install a later one"
    if not torch.cuda.is_available():
        return "is needed, and PyTorch sees none here"
    return Accelerator(xp, "cuda", torch=torch)


def _card_of_cupy() -> Accelerator | str:
    """The card by CuPy, which has no kernels of ours."""
    try:
        cupy, xp = import_module("cupy"), import_module("array_api_compat.cupy")
    except ImportError:
        return "needs PyTorch; pip install 'fedrcd[gpu]'"
    if not cupy.is_available():
        return "is needed, and CuPy sees none here"
    return Accelerator(xp, cupy=cupy)
