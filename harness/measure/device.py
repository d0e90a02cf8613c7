"""Device: the seam to what computes: CPU or CUDA, its memory, its events, its trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, cast

import torch
from torch._C._profiler import _EventType
from torch.profiler import ProfilerActivity, profile

# The host's pointers and a chip's may coincide, so an allocation is known by both.
Address = tuple[str, int]
HEAT_SIZE = 4096  # A bfloat16 product of this size loads every multiplier for 0.2 to 2 ms.
# For a chip that does not tell: the largest L2 shipped by 2025 is 126 MB (B200).
UNKNOWN_L2_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Allocation:
    """One event of an allocator: bytes taken (positive) or given back (negative)."""

    address: Address
    size: int


@dataclass(frozen=True)
class Trace:
    """What one call did: its result, names of operators and kernels in order, allocator events.

    `operators` holds each name once; on CUDA it includes the names of the device's kernels.
    """

    result: Any
    operators: tuple[str, ...]
    allocations: tuple[Allocation, ...]


def trace(call: Callable[[], object], *, cuda: bool = False) -> Trace:
    """Run the call once under the profiler; raises what the call raises."""
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * cuda
    with profile(activities=activities, profile_memory=True) as recorded:
        result = call()
        if cuda:
            torch.cuda.synchronize()
    assert recorded.profiler is not None
    kineto = recorded.profiler.kineto_results
    assert kineto is not None
    names = dict.fromkeys(event.name() for event in kineto.events())
    names.pop("[memory]", None)
    return Trace(result, tuple(names), tuple(_allocations(kineto.experimental_event_tree())))


def _allocations(tree: Iterable[Any]) -> Iterator[Allocation]:
    """Yield the allocator events in time order; at equal times the tree's order stands."""
    events = [event for event in _flatten(tree) if event.tag == _EventType.Allocation]
    for event in sorted(events, key=lambda event: event.start_time_ns):
        fields = event.extra_fields
        yield Allocation((str(fields.device), fields.ptr), fields.alloc_size)


def _flatten(tree: Iterable[Any]) -> Iterator[Any]:
    """Yield every event depth first, parents before children, without recursion."""
    waiting = list(tree)[::-1]
    while waiting:
        event = waiting.pop()
        yield event
        waiting.extend(event.children[::-1])


class Event(Protocol):
    """A mark in the device's queue of work."""

    def record(self) -> None:
        """Put the mark at the end of the queue."""

    def query(self) -> bool:
        """Whether the device has passed the mark; raises what earlier work raised."""


class Device(Protocol):
    """What every device can do; on an `asynchronous` one a call returns before its work ends."""

    @property
    def name(self) -> str:
        """The name torch knows it by."""

    @property
    def asynchronous(self) -> bool:
        """Whether calls are queued."""

    def synchronize(self) -> None:
        """Wait for all queued work; raises what that work raised."""

    def empty_cache(self) -> None:
        """Give unused memory back to the system."""


class AcceleratorDevice(Device, Protocol):
    """What a device with its own queue and memory can do beyond `Device`; sizes in bytes."""

    def event(self) -> Event:
        """Make an event that keeps the time at which it was passed."""

    def elapsed_s(self, start: Event, end: Event) -> float:
        """Return the seconds between two passed events."""

    def spin(self, cycles: int) -> None:
        """Queue a kernel that does nothing for that many clock cycles."""

    def flush_l2(self) -> None:
        """Queue a write of twice the L2 cache, so that nothing of the inputs stays in it."""

    def heat(self) -> None:
        """Queue some milliseconds of full load, to bring the clocks up."""

    def graph(self, call: Callable[[], object], calls: int) -> Callable[[], object]:
        """Capture that many calls in a graph and return its replay."""

    def operators(self, call: Callable[[], object]) -> tuple[str, ...]:
        """Run the call once more and return the names of operators and kernels it ran."""

    def memory_allocated(self) -> int:
        """Return the bytes that live tensors hold."""

    def max_memory_allocated(self) -> int:
        """Return the peak of `memory_allocated` since the last reset."""

    def max_memory_reserved(self) -> int:
        """Return the peak that the allocator took from the chip since the last reset."""

    def reset_peak(self) -> None:
        """Start the peaks again from what is held now."""


@dataclass(frozen=True)
class CpuDevice:
    """The host itself: a call has finished when it returns."""

    name: str = "cpu"
    asynchronous: bool = False

    def synchronize(self) -> None:
        """Return at once."""

    def empty_cache(self) -> None:
        """Return at once: the pool's malloc settings keep pages on purpose."""


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


@lru_cache
def device_for(name: str) -> CpuDevice | CudaDevice:
    """Return the device called `cpu`, `cuda` or `cuda:N`; ValueError for another name.

    The same object each time, so that there is one flush buffer. A CUDA device becomes the current
    one; RuntimeError where CUDA cannot start.
    """
    if name == "cpu":
        return CpuDevice()
    if name.split(":")[0] == "cuda":
        return CudaDevice(name)
    raise ValueError(f"unknown device {name!r}; valid: cpu, cuda, cuda:N")
