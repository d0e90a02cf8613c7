"""Peak memory of one call, above what was resident before it, and the operators it ran.

Host: exact, from the allocator's events. CUDA: from the caching allocator's own peak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch

from harness.measure.device import AcceleratorDevice, Device
from harness.measure.rounds import no_garbage_collection
from harness.measure.trace import Allocation, trace


@dataclass(frozen=True)
class Peak:
    """Bytes that a call took, and what it ran.

    `peak_bytes` is the most alive at once above the resident inputs, the output included.
    `held_bytes` is alive after the call while its output is: of a forward call with gradients,
    output and saved tensors. `reserved_bytes` is the peak the CUDA allocator took from the chip
    for the whole process; None on the host.
    """

    peak_bytes: int
    held_bytes: int
    output_bytes: int
    reserved_bytes: int | None
    operators: tuple[str, ...]


def peak(call: Callable[[], object], device: Device) -> Peak:
    """Return the peak of one call. Make one call before, or library workspaces are charged to it.

    On CUDA the call runs twice: once for the peak, once for the kernels' names. Raises what the
    call raises; RSS and tracemalloc see none of this.
    """
    with no_garbage_collection():
        if device.asynchronous:
            return _cuda_peak(call, device)  # type: ignore[arg-type]
        return _host_peak(call)


def replay(allocations: Iterable[Allocation]) -> tuple[int, int]:
    """Return (most alive at once, alive at the end) in bytes, from allocator events in time order.

    A block that was taken before the events began is resident, so giving it back counts as nothing
    instead of lowering the peak of what the call took.
    """
    alive: dict[tuple[str, int], int] = {}
    held = most = 0
    for event in allocations:
        if event.size >= 0:
            alive[event.address] = event.size
            held += event.size
        else:
            held -= alive.pop(event.address, 0)
        most = max(most, held)
    return most, held


def tensor_bytes(value: object) -> int:
    """Add up the bytes of the elements of a tensor, or of all tensors in a nest of containers."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(tensor_bytes, value)) if isinstance(value, (tuple, list)) else 0


def _host_peak(call: Callable[[], object]) -> Peak:
    seen = trace(call)
    most, held = replay(seen.allocations)
    return Peak(most, held, tensor_bytes(seen.result), None, seen.operators)


def _cuda_peak(call: Callable[[], object], device: AcceleratorDevice) -> Peak:
    device.synchronize()
    before = device.memory_allocated()
    device.reset_peak()
    result = call()
    device.synchronize()
    held, output = device.memory_allocated() - before, tensor_bytes(result)
    most, reserved = device.max_memory_allocated() - before, device.max_memory_reserved()
    del result
    return Peak(most, held, output, reserved, device.operators(call))
