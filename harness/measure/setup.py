"""Setup: a worker made ready, what its device is, and what it can do at most."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

from harness.measure.clock import Call, Clock, CpuClock
from harness.measure.cuda_clock import CudaClock, warm_up_chip
from harness.measure.device import Device, device_for

# Ascending, so that a slow dtype (float16 on a CPU without it) ends at the first size.
SIZES = {"cpu": (512, 1024, 2048), "cuda": (2048, 4096, 8192)}
# The time of a product grows eightfold with twice the size; a size that leaves under three samples
# is not tried.
GROWTH, LEAST_SAMPLES = 8, 3
LEAST_COPY_BYTES = 64 * 2**20
CUDA_COPY_BYTES = 2**30
CACHE_SIZES = "/sys/devices/system/cpu/cpu0/cache"


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


def measure_ceilings(
    device: Device,
    dtypes: Iterable[str],
    *,
    seconds: float = 0.3,
    clock: Clock | None = None,
) -> dict[str, Any]:
    """Return {"flops_per_s": {dtype: rate}, "copy_bytes_per_s": rate} in about `seconds` each.

    The product rate is the best median over square sizes, under the session's own precision
    settings (TF32 counts as float32 if it is on). The copy rate counts one read and one write of
    a buffer larger than the last cache; a CPU may read the target too, which is not counted.
    """
    clock = clock or _clock_for(device)
    rates = {dtype: _product_rate(device, clock, dtype, seconds=seconds) for dtype in dtypes}
    return {"flops_per_s": rates, "copy_bytes_per_s": _copy_rate(device, clock, seconds=seconds)}


def last_cache_bytes(root: Path = Path(CACHE_SIZES)) -> int:
    """Return the size of the largest host cache, or 0 where the system does not tell."""
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    sizes = [0]
    for file in root.glob("index*/size"):
        word = file.read_text().strip()
        sizes.append(int(word.rstrip("KMG")) * units.get(word[-1:], 1))
    return max(sizes)


def _clock_for(device: Device) -> Clock:
    if device.asynchronous:
        return CudaClock(device, cache="hot")  # type: ignore[arg-type]
    return CpuClock()


def _median_s(clock: Clock, call: Call, seconds: float) -> float:
    """Return the median of as many samples as fit, at least three."""
    paced = clock.calibrate(call)
    end = perf_counter() + seconds
    while len(paced.samples_s) < LEAST_SAMPLES or perf_counter() < end:
        clock.sample(paced)
        clock.collect()
    return median(paced.samples_s)


def _product_rate(device: Device, clock: Clock, dtype: str, *, seconds: float) -> float:
    sizes = SIZES["cuda" if device.asynchronous else "cpu"]
    share, best, taken = seconds / len(sizes), 0.0, 0.0
    for size in sizes:
        if taken * GROWTH * LEAST_SAMPLES > seconds:
            break
        taken = _median_s(clock, _product(device, dtype, size), share)
        best = max(best, 2 * size**3 / taken)
    return best


def _product(device: Device, dtype: str, size: int) -> Call:
    """Return a product of two random squares [size, size]: zeros would draw less power."""
    left, right, out = (
        torch.rand(size, size, device=device.name).to(getattr(torch, dtype)) for _ in range(3)
    )
    return lambda: torch.mm(left, right, out=out)


def _copy_rate(device: Device, clock: Clock, *, seconds: float) -> float:
    host = max(LEAST_COPY_BYTES, 4 * last_cache_bytes())
    size = CUDA_COPY_BYTES if device.asynchronous else host
    source, target = (torch.ones(size, dtype=torch.uint8, device=device.name) for _ in range(2))
    return 2 * size / _median_s(clock, lambda: target.copy_(source), seconds)
