"""Where arrays of PyTorch live: a card or the processor, asked for once and refused in one line.

PyTorch is imported only when a device is asked for; the core does without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.typing import Matrix

DeviceName = Literal["cpu", "cuda", "auto"]

OLDEST = (2, 4)
"""The first release of PyTorch that takes NumPy 2 and brings the compiler of our kernel."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """PyTorch, and the device its arrays are on."""

    torch: Any
    device: str

    @property
    def has_card(self) -> bool:
        """Whether it is a card."""
        return self.device == "cuda"

    def put(self, values: Any) -> Any:
        """An array on the device, float64."""
        return self.torch.as_tensor(np.array(values, dtype=np.float64, order="C")).to(self.device)

    def whole(self, values: Any) -> Any:
        """Whole numbers on the device."""
        return self.torch.as_tensor(np.array(values, dtype=np.int64, order="C")).to(self.device)

    def require(self, needed: float, what: str) -> None:
        """Raise unless so many bytes are free on the card."""
        if self.has_card:
            free, _ = self.torch.cuda.mem_get_info()
            free += self.torch.cuda.memory_reserved() - self.torch.cuda.memory_allocated()
            if needed > free:
                raise ConfigError(
                    f"{what} needs {needed / 1e9:.1f} GB on the card, which has {free / 1e9:.1f} GB free; "
                    "take device='cpu', or fewer variables"
                )

    def streamed(self, blocks: Iterable[Matrix]) -> Iterator[Any]:
        """Blocks of rows on the device; on a card one is copied while the one before is in work."""
        if not self.has_card:
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


def accelerator(device: str = "auto") -> Accelerator:
    """The device of a name: `auto` takes the card if there is one."""
    if device not in get_args(DeviceName):
        raise ConfigError(f"device must be one of {', '.join(get_args(DeviceName))}, got {device!r}")
    try:
        torch = import_module("torch")
    except ImportError:
        raise ConfigError(f"device={device!r} needs PyTorch; pip install 'fedrcd[gpu]'") from None
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < OLDEST:
        raise ConfigError(
            f"device={device!r} needs PyTorch {'.'.join(map(str, OLDEST))} or later, got {torch.__version__}"
        )
    there = bool(torch.cuda.is_available())
    if device == "cuda" and not there:
        raise ConfigError("device='cuda': PyTorch sees no card here; take device='cpu' or 'auto'")
    return Accelerator(torch, "cuda" if there and device != "cpu" else "cpu")
