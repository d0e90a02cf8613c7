"""Bounds: how much memory a worker may take, so that its own call fails and nothing else does."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from harness.measure.machine import own_bytes

try:
    import resource
except ImportError:  # Windows has no limits of this kind; the parent still watches.
    resource = None  # type: ignore[assignment]

OOM_SCORE = Path("/proc/self/oom_score_adj")


def bound_memory(extra_bytes: int, device: str) -> None:
    """Let this process's data grow by so many bytes; a call that wants more gets MemoryError.

    Should the system run out of memory first, Linux ends this process before any other. On CUDA
    nothing is bounded: the driver maps far more than it uses, and the chip has its own memory.
    """
    with suppress(OSError):
        OOM_SCORE.write_text("1000")
    used = data_bytes()
    if resource is None or used is None or device != "cpu":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = used + extra_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def data_bytes() -> int | None:
    """Return the bytes of private writable memory, as RLIMIT_DATA counts (man 2 getrlimit)."""
    return own_bytes("VmData")
