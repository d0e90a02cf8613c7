"""Beacon: a few shared bytes that tell the parent what a worker is doing, and since when."""

from __future__ import annotations

import mmap
import struct
import time
from pathlib import Path

FORMAT = struct.Struct("<qq")
STARTING, IDLE, SETUP = -3, -2, -1


class Beacon:
    """Share (index of the backend at work, monotonic nanoseconds) through a small file.

    A mark costs under a microsecond and no system call, so that it can be set before every
    timed sample; after a crash or a hang it names the culprit. CLOCK_MONOTONIC is the same in
    every process of the machine.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(FORMAT.pack(IDLE, time.monotonic_ns()))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), FORMAT.size)

    def mark(self, index: int) -> None:
        """Say that backend number `index` (or SETUP, IDLE, STARTING) starts something now."""
        FORMAT.pack_into(self._memory, 0, index, time.monotonic_ns())

    def read(self) -> tuple[int, float]:
        """Return (index, seconds since its last mark)."""
        index, started = FORMAT.unpack_from(self._memory, 0)
        return index, (time.monotonic_ns() - started) / 1e9
