"""The seam to the chip: what clocks and memory need of a device, and nothing more.

`CpuDevice` here and `CudaDevice` are the real ones; tests play a late host or a sticky error with
a fake that has the same methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from harness.measure.cuda_device import CudaDevice


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


@lru_cache
def device_for(name: str) -> CpuDevice | CudaDevice:
    """Return the device called `cpu`, `cuda` or `cuda:N`; ValueError for another name.

    The same object each time, so that there is one flush buffer. A CUDA device becomes the current
    one; RuntimeError where CUDA cannot start.
    """
    from harness.measure.cuda_device import CudaDevice

    if name == "cpu":
        return CpuDevice()
    if name.split(":")[0] == "cuda":
        return CudaDevice(name)
    raise ValueError(f"unknown device {name!r}; valid: cpu, cuda, cuda:N")
