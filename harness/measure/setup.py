"""Set-up: the torch side of a worker before its first order, and what it says of itself."""

from __future__ import annotations

from typing import Any

import torch

from harness.measure.clock import Clock, CpuClock
from harness.measure.cuda_clock import CudaClock, warm_up_chip
from harness.measure.device import Device, device_for


def set_up(name: str, threads: int, *, heap_bytes: int = 0) -> None:
    """Fix the threads; touch the host's heap, or bring a chip to its working clocks.

    A heap that grows in the middle of a visit faults its pages in during a timed call: 3.8 times
    the time of naive at T=3072, in the first replica alone (measured). The pool's malloc settings
    keep what was touched.
    """
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    if name == "cpu" and heap_bytes:
        torch.empty(heap_bytes, dtype=torch.uint8).fill_(1)
    if name != "cpu":
        warm_up_chip(device_for(name))  # type: ignore[arg-type]


def clock_for(device: Device) -> Clock:
    """Return the clock that times calls on a device: the host's, or CUDA events."""
    return CudaClock(device) if device.asynchronous else CpuClock()  # type: ignore[arg-type]


def device_facts(name: str) -> dict[str, Any]:
    """Return what torch says of the device, for run.json."""
    facts: dict[str, Any] = {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        # Where they are kept, a product of denormal numbers can be 100 times slower on a CPU.
        "denormals": bool(torch.tensor(1e-310, dtype=torch.float64) * 1 != 0),
    }
    if name != "cpu":
        properties = torch.cuda.get_device_properties(torch.device(name))
        facts |= {
            "gpu": properties.name,
            "gpu_memory_bytes": properties.total_memory,
            "compute_capability": f"{properties.major}.{properties.minor}",
            "cuda": torch.version.cuda,
        }
    return facts
