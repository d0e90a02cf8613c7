"""Calls that last a known time on the real clock, and how far the engine is off."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from statistics import median

from harness.measure.clock import BLOCK_NS, CpuClock
from harness.measure.rounds import Rounds, measure_rounds

KNOWN_NS = (50_000, 200_000, 1_000_000, 5_000_000, 50_000_000)
# Calls of a block follow each other sooner; between samples the counters are read (2 us each).
SAME_BLOCK_NS = 3_000


def spin(ns: float, took: list[int]) -> Callable[[], None]:
    """Return a call that is busy for so long, and notes how long it was where its core was taken.

    In a block of calls it starts where the last one ended, so that what entering a call costs is
    a part of the known time; alone it cannot know when it was called.
    """
    clock, note = time.perf_counter_ns, took.append
    last = 0

    def spinning() -> None:
        nonlocal last
        now = clock()
        start = last if now - last < SAME_BLOCK_NS else now
        end = start + ns
        while now < end:
            now = clock()
        note(now - start)
        last = now

    return spinning


def jittered(ns: float, seed: int) -> Callable[[], None]:
    """Return a spin whose length scatters by 1 %, as a real call's does."""
    source = random.Random(seed)
    return lambda: spin(ns * (1 + source.gauss(0, 0.01)), [])()


def spin_errors(lengths: Iterable[int], seed: int) -> dict[int, float]:
    """Return how far the median of each spin of so many nanoseconds is off; 0.01 is 1 %."""
    took: dict[int, list[int]] = {ns: [] for ns in lengths}
    calls = {str(ns): spin(ns, took[ns]) for ns in took}
    seen = measure_rounds(calls, CpuClock(), target=0.01, cap_s=0.3, seed=seed)
    return {
        ns: median(seen[str(ns)].samples_s)
        / true_s(took[ns], seen[str(ns)], untimed=ns < BLOCK_NS)
        - 1
        for ns in took
    }


def true_s(took: list[int], seen: Rounds, *, untimed: int) -> float:
    """Return the median that the samples should have, in seconds per call.

    Each sample comes after so many `untimed` calls.
    """
    count, size = len(seen.samples_s), seen.calls_per_sample
    whole = size + untimed
    made = took[-count * whole :]
    blocks = [made[at * whole + untimed : (at + 1) * whole] for at in range(count)]
    return median(sum(block) / size for block in blocks) / 1e9
