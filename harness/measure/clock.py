"""Clocks: turn a call into seconds per call. This file holds the host's clock and what all share.

A clock calibrates a call once (`Paced`), then takes samples of it; `collect` makes them readable.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import repeat
from typing import Protocol

Call = Callable[[], object]
Nanoseconds = Callable[[], int]

# A call this long is a sample of its own; shorter ones are timed in blocks that last as long, each
# after one untimed call: after other backends a call finds cold caches and takes 50 us more, which
# is 30 to 50 % of tiled at T=64 and 3 to 6 % of a call of 1 ms (measured), and how cold they are
# depends on who else is still in the rounds. Of a call of 5 ms it is 1 %.
BLOCK_NS = 5_000_000
WARM_UP_CALLS = 3
WARM_UP_NS = 25_000_000
ENOUGH = 0.9  # Of a block: growing it once more costs as much as what it would add.
MOST_CALLS = 1_000_000  # No call takes under 1 ns.


@dataclass
class Paced:
    """A call with the pace a clock found for it, and the samples taken so far.

    `samples_s` are seconds per call. Where it is `warmed`, an untimed call comes before each.
    `spin_cycles` and `launch_bound` belong to the CUDA clock.
    """

    call: Call
    calls: int = 1
    warmed: bool = False
    samples_s: list[float] = field(default_factory=list)
    spin_cycles: int = 0
    launch_bound: bool = False


class Clock(Protocol):
    """What the engine asks of a clock; `metric` names what its seconds mean."""

    @property
    def metric(self) -> str:
        """Name of the metric; figures of two metrics are never mixed."""

    def calibrate(self, call: Call, *, first_s: float = 0.0) -> Paced:
        """Warm the call up and find the calls per sample; `first_s` was its first use."""

    def sample(self, paced: Paced) -> None:
        """Take one sample; it may stay pending until `collect`."""

    def collect(self) -> None:
        """Append every pending sample to the `samples_s` of its call, in order."""


def wait_for_nothing() -> None:
    """Return at once: the host has nothing to wait for."""


def warm_up(call: Call, now: Nanoseconds, wait: Callable[[], None] = wait_for_nothing) -> int:
    """Make 3 calls or 25 ms of calls, whichever ends first, and return the fastest in ns.

    At least one call is made. `wait` synchronizes a device, so that its errors surface here.
    """
    begin = now()
    fastest = 0
    for _ in range(WARM_UP_CALLS):
        start = now()
        call()
        wait()
        end = now()
        fastest = min(fastest or end - start, end - start)
        if end - begin >= WARM_UP_NS:
            break
    return fastest


def timed_call(call: Call, wait: Callable[[], None] = wait_for_nothing) -> tuple[object, float]:
    """Make one call, wait for it, and return (its result, seconds); meant for the first call."""
    start = time.perf_counter_ns()
    result = call()
    wait()
    return result, (time.perf_counter_ns() - start) / 1e9


class CpuClock:
    """The host's monotonic clock: a sample is one call of 5 ms or more, else a block of 5 ms.

    Times are those of a call after itself, with its caches warm. The result of a call is dropped
    inside the timed span, so freeing it counts.
    """

    metric = "cpu_time"

    def __init__(self, now: Nanoseconds = time.perf_counter_ns) -> None:
        self.now = now

    def calibrate(self, call: Call, *, first_s: float = 0.0) -> Paced:
        """Warm up, then grow the block until it lasts 5 ms.

        A first use of 25 ms was warm-up enough, unless it was long for being the first only: the
        next call tells, and if it is as long it is the first sample.
        """
        if first_s * 1e9 >= WARM_UP_NS:
            paced = Paced(call)
            self.sample(paced)
            if paced.samples_s[0] * 1e9 >= WARM_UP_NS:
                return paced
        fastest = warm_up(call, self.now)
        paced = Paced(call, warmed=fastest < BLOCK_NS)
        if not paced.warmed:
            return paced
        paced.calls = calls_per_block(fastest)
        while (block := self._block(paced)) < ENOUGH * BLOCK_NS and paced.calls < MOST_CALLS:
            paced.calls = max(paced.calls + 1, calls_per_block(block / paced.calls))
        return paced

    def sample(self, paced: Paced) -> None:
        """Time one call, or one block of calls."""
        if paced.warmed:
            paced.call()
        paced.samples_s.append(self._block(paced) / paced.calls / 1e9)

    def collect(self) -> None:
        """Return at once: samples of this clock are never pending."""

    def _block(self, paced: Paced) -> int:
        call, now = paced.call, self.now
        if paced.calls == 1:
            start = now()
            call()
            return now() - start
        start = now()
        for _ in repeat(None, paced.calls):
            call()
        return now() - start


def calls_per_block(call_ns: float) -> int:
    """Return how many calls of that many nanoseconds fill a block."""
    return min(math.ceil(BLOCK_NS / max(call_ns, 1)), MOST_CALLS)
