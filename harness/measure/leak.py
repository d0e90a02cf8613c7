"""Leak: memory and threads that a call keeps for good, seen as growth from call to call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from harness.measure.clock import Call
from harness.measure.device import Device
from harness.measure.guard import system_threads
from harness.measure.outcome import Misconduct

# What Python and torch keep for themselves between two looks stays below this (measured: 0 to
# 200 kB over a visit of 12 backends).
SUSPICIOUS_BYTES = 2**20
# Of one call; two calls in a row must both keep so much.
LEAK_BYTES = 1024
CALLS = 2
MALLINFO_FIELDS = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks"),
    *("fordblks", "keepcost"),
)


class _MallInfo(ctypes.Structure):
    """Struct mallinfo2 of glibc 2.33 and later (man 3 mallinfo)."""

    _fields_ = [(name, ctypes.c_size_t) for name in MALLINFO_FIELDS]


@cache
def _mallinfo() -> Callable[[], _MallInfo] | None:
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    function.restype = _MallInfo
    return function


def bytes_in_use(device: Device) -> int:
    """Return the bytes that the process holds of the device's memory; 0 where it cannot tell.

    On the host it is what malloc has given out and not got back, whoever asked for it; the
    resident size would not do, since freed pages are kept on purpose.
    """
    if device.asynchronous:
        return int(device.memory_allocated())  # type: ignore[attr-defined]
    read = _mallinfo()
    if read is None:
        return 0
    seen = read()
    return int(seen.uordblks + seen.hblkhd)


def inspect_growth(call: Call, device: Device) -> None:
    """Make two calls; Misconduct if each leaves more memory in use, or more threads, behind."""
    kept, started = [], []
    for _ in range(CALLS):
        memory, threads = bytes_in_use(device), system_threads()
        call()
        device.synchronize()
        kept.append(bytes_in_use(device) - memory)
        started.append(system_threads() - threads)
    if min(started) > 0:
        raise Misconduct(f"every call leaves {min(started)} thread(s) running", sticky=True)
    if min(kept) >= LEAK_BYTES:
        raise Misconduct(f"every call keeps {min(kept):,} bytes for good", sticky=True)
