"""The interleaved engine: rounds over all calls in a shuffled order until each median holds.

Knows nothing of devices: a clock takes the samples, `outcome` words the failures.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from harness.measure.clock import Call, Clock
from harness.measure.contention import contended, interrupted, snapshot
from harness.measure.entrant import MIN_SAMPLES, Entrant
from harness.measure.flags import drifts, on_ticks
from harness.measure.outcome import Failure, attempt


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
    entrants = [
        Entrant(
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

    def begin(entrant: Entrant) -> None:
        entrant.calibrate(clock)
        after()

    def go_on(entrant: Entrant) -> None:
        entrant.take(clock)
        after()

    with no_garbage_collection():
        going = _each(entrants, order, on_start, begin)
        while going:
            going = _each(entrants, order, on_start, go_on)
    busy = contended(before, snapshot())
    return {entrant.name: _rounds(entrant, busy=busy) for entrant in entrants}


def _each(
    entrants: list[Entrant],
    order: random.Random,
    on_start: Callable[[str], object],
    step: Callable[[Entrant], None],
) -> bool:
    """Take one step with every entrant still running, in a fresh order; whether any is left."""
    running = [entrant for entrant in entrants if not (entrant.finished or entrant.failure)]
    order.shuffle(running)
    for entrant in running:
        on_start(entrant.name)
        entrant.failure = attempt(lambda entrant=entrant: step(entrant))  # type: ignore[misc]
        if entrant.failure and entrant.failure.sticky:
            return False
    return bool(running)


def _rounds(entrant: Entrant, *, busy: bool) -> Rounds:
    paced = entrant.paced
    calls = len(paced.samples_s) * (paced.calls + paced.warmed)
    return Rounds(
        samples_s=tuple(paced.samples_s),
        calls_per_sample=paced.calls,
        flags=tuple(_flags(entrant, busy=busy)),
        page_faults=entrant.page_faults / calls if calls else None,
        failure=entrant.failure,
        interrupted=not (entrant.finished or entrant.failure),
        spent_s=entrant.spent_s,
    )


def _flags(entrant: Entrant, *, busy: bool) -> Iterator[str]:
    paced = entrant.paced
    samples = paced.samples_s
    if entrant.finished and not entrant.converged:
        yield "unconverged"
    if drifts(samples):
        yield "drift"
    if busy or interrupted(entrant.switches, entrant.spent_s):
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
