"""Fakes for the measuring code: a clock under control, a chip with a queue, a driver library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class FakeTime:
    """Nanoseconds that pass only when told to."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns

    def call(self, ns: int) -> Callable[[], None]:
        """Return a call that lasts that long."""

        def lasting() -> None:
            self.ns += ns

        return lasting


@dataclass
class FakeEvent:
    chip: FakeCuda
    passed_at: int = 0

    def record(self) -> None:
        self.chip.log.append("event")
        self.chip.time.ns += 1_000
        self.passed_at = max(self.chip.time.ns, self.chip.free_at)

    def query(self) -> bool:
        return self.chip.time.ns >= self.passed_at


@dataclass
class FakeCuda:
    """A chip at 2 GHz whose queue runs beside the host's clock; `broken` is a sticky error."""

    time: FakeTime = field(default_factory=FakeTime)
    name: str = "cuda"
    asynchronous: bool = True
    free_at: int = 0
    broken: str = ""
    allocated: int = 1000
    peak: int = 0
    log: list[str] = field(default_factory=list)

    def enqueue(self, ns: int) -> None:
        self.free_at = max(self.time.ns, self.free_at) + ns

    def kernel(self, *, host_ns: int, device_ns: int) -> Callable[[], None]:
        """Return a call that takes the host that long to queue, and the chip that long to run."""

        def call() -> None:
            self.log.append("call")
            self.time.ns += host_ns
            self.enqueue(device_ns)

        return call

    def synchronize(self) -> None:
        self.log.append("synchronize")
        if self.broken:
            raise RuntimeError(self.broken)
        self.time.ns = max(self.time.ns, self.free_at)

    def event(self) -> FakeEvent:
        return FakeEvent(self)

    def elapsed_s(self, start: Any, end: Any) -> float:
        return (end.passed_at - start.passed_at) / 1e9

    def spin(self, cycles: int) -> None:
        self.log.append(f"spin {cycles}")
        self.enqueue(cycles // 2)

    def flush_l2(self) -> None:
        self.log.append("flush")
        self.enqueue(30_000)

    def heat(self) -> None:
        self.enqueue(5_000_000)

    def graph(self, call: Callable[[], object], calls: int) -> Callable[[], object]:
        before = self.free_at = max(self.time.ns, self.free_at)
        for _ in range(calls):
            call()
        return self.kernel(host_ns=3_000, device_ns=self.free_at - before)

    def operators(self, call: Callable[[], object]) -> tuple[str, ...]:
        call()
        return ("aten::scaled_dot_product_attention", "flash_fwd_kernel")

    def empty_cache(self) -> None:
        self.log.append("empty")

    def allocate(self, size: int) -> None:
        self.allocated += size
        self.peak = max(self.peak, self.allocated)

    def memory_allocated(self) -> int:
        return self.allocated

    def max_memory_allocated(self) -> int:
        return self.peak

    def max_memory_reserved(self) -> int:
        return 2 * self.peak

    def reset_peak(self) -> None:
        self.peak = self.allocated


class FakeNvml:
    """A driver with some cards; cards are their indices."""

    def __init__(self, count: int = 2, *, reasons: int = 0, temperature: int = 40) -> None:
        self.count, self.reasons, self.temperature = count, reasons, temperature
        self.pids: list[int] = []

    def nvmlDeviceGetCount(self) -> int:
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index >= self.count:
            raise RuntimeError("Invalid Argument")
        return index

    def nvmlDeviceGetUUID(self, card: int) -> bytes:
        return f"GPU-{card}abc".encode()

    def nvmlDeviceGetName(self, card: int) -> str:
        return "NVIDIA H200"

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"570.1"

    def nvmlDeviceGetMemoryInfo(self, card: int) -> Any:
        return SimpleNamespace(total=2**37)

    def nvmlDeviceGetPowerManagementLimit(self, card: int) -> int:
        return 700_000

    def nvmlDeviceGetMaxClockInfo(self, card: int, kind: int) -> int:
        return {1: 1980, 2: 3201}[kind]

    def nvmlDeviceGetClockInfo(self, card: int, kind: int) -> int:
        return {1: 1500, 2: 3201}[kind]

    def nvmlDeviceGetPersistenceMode(self, card: int) -> int:
        return 1

    def nvmlDeviceGetMigMode(self, card: int) -> tuple[int, int]:
        raise RuntimeError("Not Supported")

    def nvmlDeviceGetPowerUsage(self, card: int) -> int:
        return 350_500

    def nvmlDeviceGetTemperature(self, card: int, sensor: int) -> int:
        return self.temperature

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, card: int) -> int:
        return self.reasons

    def nvmlDeviceGetComputeRunningProcesses(self, card: int) -> list[Any]:
        return [SimpleNamespace(pid=pid) for pid in self.pids]
