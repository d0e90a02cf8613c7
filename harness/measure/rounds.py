"""Rounds: backends timed in turns, each until its median is known well enough."""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from harness.analysis.fits.intervals import half_width
from harness.measure.clock import Call, Clock, Paced
from harness.measure.contention import (
    Usage,
    contended,
    drifts,
    interrupted,
    on_ticks,
    snapshot,
    usage,
)
from harness.measure.outcome import Failure, attempt

MIN_SAMPLES = 5
MIN_SLOW_SAMPLES = 3
SLOW_CALL_S = 0.1
CHECK_GROWTH = 1.25
# The least count of samples may overrun the cap, up to this many times: a median of one sample
# has no interval, but a call of ten seconds must not hold up a quick run.
PATIENCE = 10


@dataclass(kw_only=True)
class SampledCall:
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

    def take_sample(self, clock: Clock) -> None:
        """Take one sample and stop at the schedule's checks or at the cap."""
        begin, before = perf_counter(), usage()
        clock.sample(self.paced)
        self._count(before, usage())
        # Not once a visit: a late error or a hang must fall on the call that the heartbeat names,
        # and the cap must count device time. The spin of the next sample hides the idle queue.
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


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """What the engine saw of one call.

    `samples_s` are seconds per call, one a round from the first round on, so equal indices of two
    backends pair. `interrupted` is True where another call's sticky failure ended the visit
    early: measure it again in a fresh worker. `page_faults` are per call.
    """

    samples_s: tuple[float, ...] = ()
    calls_per_sample: int = 1
    flags: tuple[str, ...] = ()
    page_faults: float | None = None
    failure: Failure | None = None
    interrupted: bool = False
    spent_s: float = 0.0


def ignore(name: str) -> None:
    """Do nothing; the default `on_start`."""


def nothing() -> None:
    """Do nothing; the default `after`."""


def measure_rounds(
    calls: Mapping[str, Call],
    clock: Clock,
    *,
    target: float,
    cap_s: float,
    seed: int = 0,
    min_samples: int = MIN_SAMPLES,
    first_s: Mapping[str, float] | None = None,
    on_start: Callable[[str], object] = ignore,
    after: Callable[[], object] = nothing,
) -> dict[str, Rounds]:
    """Time all calls side by side and return what was seen of each, under the same names.

    `target` is the relative half-width of the median's 95 % interval (0.02 is 2 %), `cap_s` the
    seconds spent on one call, warm-up not counted; at the cap the samples stay and are flagged.
    `first_s` are the seconds of each call's first use, if known: a long one was its warm-up.
    A call that raises leaves the rounds alone. `on_start` is told a name before its warm-up and
    before each sample; `after` is called after them, and what it raises is that call's failure.
    """
    sampled = [
        SampledCall(
            name=name,
            call=call,
            target=target,
            cap_s=cap_s,
            min_samples=min_samples,
            first_s=(first_s or {}).get(name, 0.0),
        )
        for name, call in calls.items()
    ]
    order = random.Random(seed)
    before = snapshot()

    def calibrate(one: SampledCall) -> None:
        one.calibrate(clock)
        after()

    def take_sample(one: SampledCall) -> None:
        one.take_sample(clock)
        after()

    with no_garbage_collection():
        going = _each(sampled, order, on_start, calibrate)
        while going:
            going = _each(sampled, order, on_start, take_sample)
    busy = contended(before, snapshot())
    return {one.name: _rounds(one, busy=busy) for one in sampled}


def _each(
    sampled: list[SampledCall],
    order: random.Random,
    on_start: Callable[[str], object],
    step: Callable[[SampledCall], None],
) -> bool:
    """Take one step with every call still running, in a fresh order; whether any is left."""
    running = [one for one in sampled if not (one.finished or one.failure)]
    order.shuffle(running)
    for one in running:
        on_start(one.name)
        one.failure = attempt(lambda one=one: step(one))  # type: ignore[misc]
        if one.failure and one.failure.sticky:
            return False
    return bool(running)


def _rounds(one: SampledCall, *, busy: bool) -> Rounds:
    paced = one.paced
    calls = len(paced.samples_s) * (paced.calls + paced.warmed)
    return Rounds(
        samples_s=tuple(paced.samples_s),
        calls_per_sample=paced.calls,
        flags=tuple(_flags(one, busy=busy)),
        page_faults=one.page_faults / calls if calls else None,
        failure=one.failure,
        interrupted=not (one.finished or one.failure),
        spent_s=one.spent_s,
    )


def _flags(one: SampledCall, *, busy: bool) -> Iterator[str]:
    paced = one.paced
    samples = paced.samples_s
    if one.finished and not one.converged:
        yield "unconverged"
    if drifts(samples):
        yield "drift"
    if busy or interrupted(one.switches, one.spent_s):
        yield "contended"
    if paced.launch_bound:
        yield "launch_bound"
    if on_ticks([sample * paced.calls for sample in samples]):
        yield "grid_ticks"


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep the garbage collector off inside, and leave it as it was."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
