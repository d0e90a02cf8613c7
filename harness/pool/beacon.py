"""Beacon: a few shared bytes that tell the parent what a worker is doing, and since when."""

from __future__ import annotations

import mmap
import time
from pathlib import Path

STARTING, IDLE, SETUP = -3, -2, -1
WORDS = 2


class Beacon:
    """Share (index of the backend at work, monotonic nanoseconds) through a small file.

    A mark costs under a microsecond and no system call, so that it can be set before every
    timed sample; after a crash or a hang it names the culprit. CLOCK_MONOTONIC is the same in
    every process of the machine. Each word is stored whole (struct.pack_into would zero the
    bytes first, and a reader in that moment saw a worker that had hung since 1970), the time
    before the index, so that a reader between the two blames the earlier backend for nothing.
    """

    def __init__(self, path: Path) -> None:
        new = not path.exists()
        if new:
            path.write_bytes(bytes(8 * WORDS))
        with path.open("r+b") as file:
            self._words = memoryview(mmap.mmap(file.fileno(), 8 * WORDS)).cast("q")
        if new:
            self.mark(IDLE)

    def mark(self, index: int) -> None:
        """Say that backend number `index` (or SETUP, IDLE, STARTING) starts something now."""
        self._words[1] = time.monotonic_ns()
        self._words[0] = index

    def read(self) -> tuple[int, float]:
        """Return (index, seconds since its last mark)."""
        index, started = self._words
        return index, (time.monotonic_ns() - started) / 1e9
