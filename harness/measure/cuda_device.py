"""The real CUDA device behind the seam of device.py; only a GPU can tell whether it is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch

from harness.measure.device import Event
from harness.measure.trace import trace

HEAT_SIZE = 4096  # A bfloat16 product of this size loads every multiplier for 0.2 to 2 ms.
# For a chip that does not tell: the largest L2 shipped by 2025 is 126 MB (B200).
UNKNOWN_L2_BYTES = 128 * 2**20


class CudaDevice:
    """One CUDA device, made the current one. RuntimeError where CUDA cannot start.

    The L2 flush keeps a buffer of twice the L2 size; it is made on the first flush, so flush
    once before memory is read.
    """

    asynchronous = True

    def __init__(self, name: str = "cuda") -> None:
        self.name = name
        torch.cuda.set_device(torch.device(name) if ":" in name else 0)
        self._scratch: torch.Tensor | None = None
        self._heat: torch.Tensor | None = None

    def synchronize(self) -> None:
        """Wait for all queued work."""
        torch.cuda.synchronize()

    def empty_cache(self) -> None:
        """Drop the flush buffer and give unused blocks back to the chip."""
        self._scratch = self._heat = None
        torch.cuda.empty_cache()

    def event(self) -> Event:
        """Make a timing event."""
        return cast(Event, torch.cuda.Event(enable_timing=True))  # type: ignore[no-untyped-call]

    def elapsed_s(self, start: Event, end: Event) -> float:
        """Return seconds; torch reports milliseconds, with a resolution of about 0.5 us."""
        return (
            float(cast(torch.cuda.Event, start).elapsed_time(cast(torch.cuda.Event, end))) / 1000
        )

    def spin(self, cycles: int) -> None:
        """Queue a busy wait; there is no public name for it in torch."""
        torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]

    @property
    def l2_bytes(self) -> int:
        """Size of the L2 cache."""
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        return int(getattr(properties, "L2_cache_size", 0)) or UNKNOWN_L2_BYTES

    def flush_l2(self) -> None:
        """Fill twice the L2 size with zeros."""
        if self._scratch is None:
            self._scratch = torch.empty(2 * self.l2_bytes, dtype=torch.uint8, device=self.name)
        self._scratch.zero_()

    def heat(self) -> None:
        """Queue ten square products in bfloat16."""
        if self._heat is None:
            self._heat = torch.ones((HEAT_SIZE, HEAT_SIZE), dtype=torch.bfloat16, device=self.name)
        for _ in range(10):
            torch.mm(self._heat, self._heat)

    def graph(self, call: Callable[[], object], calls: int) -> Callable[[], object]:
        """Capture a CUDA graph; the call must have run before and must not synchronize."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                call()
        return graph.replay

    def operators(self, call: Callable[[], object]) -> tuple[str, ...]:
        """Run the call under the profiler with the chip's own activities."""
        return trace(call, cuda=True).operators

    def memory_allocated(self) -> int:
        """Return the bytes of live tensors."""
        return torch.cuda.memory_allocated()

    def max_memory_allocated(self) -> int:
        """Return the peak of live bytes."""
        return torch.cuda.max_memory_allocated()

    def max_memory_reserved(self) -> int:
        """Return the peak of bytes taken from the chip."""
        return torch.cuda.max_memory_reserved()

    def reset_peak(self) -> None:
        """Start the peaks again."""
        torch.cuda.reset_peak_memory_stats()
