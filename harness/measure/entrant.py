"""One call on its way through the rounds: its samples, its checks, and when it has had enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter

from harness.analysis.statistics import half_width
from harness.measure.clock import Call, Clock, Paced
from harness.measure.contention import Usage, usage
from harness.measure.outcome import Failure

MIN_SAMPLES = 5
MIN_SLOW_SAMPLES = 3
SLOW_CALL_S = 0.1
CHECK_GROWTH = 1.25
# The least count of samples may overrun the cap, up to this many times: a median of one sample
# has no interval, but a call of ten seconds must not hold up a quick run.
PATIENCE = 10


@dataclass(kw_only=True)
class Entrant:
    """A call, what it has cost so far, and whether it has converged, finished or failed."""

    name: str
    call: Call
    target: float
    cap_s: float
    min_samples: int
    first_s: float = 0.0
    paced: Paced = field(init=False)
    next_check: int = 0
    converged: bool = False
    finished: bool = False
    failure: Failure | None = None
    spent_s: float = 0.0
    page_faults: int = 0
    switches: int = 0

    def __post_init__(self) -> None:
        self.paced = Paced(self.call)

    def calibrate(self, clock: Clock) -> None:
        """Warm up and find the pace."""
        self.paced = clock.calibrate(self.call, first_s=self.first_s)

    def take(self, clock: Clock) -> None:
        """Take one sample and stop at the schedule's checks or at the cap."""
        begin, before = perf_counter(), usage()
        clock.sample(self.paced)
        self._count(before, usage())
        # Not once a visit: a late error or a hang must fall on the call whose beacon is set, and
        # the cap must count device time. The spin of the next sample hides the idle queue.
        clock.collect()
        self.spent_s += perf_counter() - begin
        self._judge()

    def _count(self, before: Usage, after: Usage) -> None:
        self.page_faults += after.page_faults - before.page_faults
        self.switches += after.switches - before.switches

    def _judge(self) -> None:
        samples = self.paced.samples_s
        slow = samples[0] > SLOW_CALL_S
        least = min(self.min_samples, MIN_SLOW_SAMPLES) if slow else self.min_samples
        self.next_check = self.next_check or least
        if len(samples) >= self.next_check:
            self.next_check = next_check(len(samples))
            self.converged = half_width(samples) < self.target
        cap = self.cap_s if len(samples) >= least else self.cap_s * PATIENCE
        self.finished = self.converged or self.spent_s >= cap


def next_check(count: int) -> int:
    """Return the sample count at which to look again: 5 7 9 12 15 19 24 30 38 48 60 75 94 ..."""
    return max(count + 1, math.ceil(count * CHECK_GROWTH))
