"""References: the two long measurements that tools are held against, by the host's clock alone.

A few lines of their own, so that no fault of the engine can be in them.
"""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

from benchmarks.cells import Call, awaited, by_case, ready_call
from benchmarks.outcome import Interval, Outcome, outcome

BLOCK_S = 1e-3
# A call this long is timed by itself in turns: reading the clock twice takes 0.1 us.
SINGLE_S = 1e-4
# Long calls: what counts is the number of processes, their medians differ by more than samples do.
LEAST_SAMPLES = 5
WARM_CALLS, WARM_S = 3, 0.025
Found = tuple[list[float], float, Interval | None]


def hot(call: Call, setting: float, order: dict[str, Any]) -> Found:
    """Repeat one call in blocks of at least 1 ms for `setting` seconds."""
    call = awaited(call, order["device"])
    calls = calls_a_sample(call, BLOCK_S)
    samples: list[float] = []
    end = time.perf_counter() + setting
    while time.perf_counter() < end or len(samples) < LEAST_SAMPLES:
        samples.append(block(call, calls) / calls)
    return samples, float(np.median(samples)), None


def turns(order: dict[str, Any]) -> list[Outcome]:
    """Take the cells of each case in turns, for as many seconds as they have together."""
    draw = random.Random(order["seed"])
    found = []
    for case, names in by_case(order["settings"], order["device"]).items():
        calls = {name: awaited(ready_call(name, case.device), case.device) for name in names}
        seconds = sum(order["settings"][name] for name in names)
        found += in_turns(calls, seconds, draw)
    return found


def in_turns(calls: dict[str, Call], seconds: float, draw: random.Random) -> list[Outcome]:
    """Go round the calls, each time in a fresh order, with one sample of each a round."""
    begin = time.perf_counter()
    counts = {name: calls_a_sample(call, SINGLE_S) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    order, done, end = list(calls), 0, time.perf_counter() + seconds
    while time.perf_counter() < end or done < LEAST_SAMPLES:
        draw.shuffle(order)
        for name in order:
            samples[name].append(block(calls[name], counts[name]) / counts[name])
        done += 1
    share = (time.perf_counter() - begin) / len(calls)
    return [
        outcome(name, [seen], estimate_s=float(np.median(seen)), stated_s=None, measure_s=share)
        for name, seen in samples.items()
    ]


def calls_a_sample(call: Call, single_s: float) -> int:
    """Warm up and return 1 for a call of at least `single_s`, else how many last 1 ms."""
    spent = warm_up(call)
    if spent >= single_s:
        return 1
    calls = 1
    while spent < BLOCK_S:
        calls = max(calls + 1, int(calls * BLOCK_S / spent) + 1)
        spent = block(call, calls)
    return calls


def warm_up(call: Call) -> float:
    """Call up to 3 times or 25 ms, whichever ends first, and return the seconds of one more."""
    begin = time.perf_counter()
    for _ in range(WARM_CALLS):
        call()
        if time.perf_counter() - begin > WARM_S:
            break
    return block(call, 1)


def block(call: Call, calls: int) -> float:
    """Return the seconds of that many calls."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start
