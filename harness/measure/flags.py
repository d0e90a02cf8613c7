"""Warnings that the samples themselves give: drift, and times that sit on the timer's ticks.

Pure functions of the samples; the words they feed are values in a record, with advice here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from harness.analysis.statistics import median_interval

DRIFT = 0.03
# A median's 95 % interval needs 6 samples (2 * 0.5**6 = 3 %), so a third needs as many.
DRIFT_THIRD = 6
# The scheduler's tick at CONFIG_HZ 250 and 1000; the first was seen with spinning threads.
TICKS_S = (0.004, 0.001)
TICK_WIDTH = 0.02
TICK_CHANCE = 1e-4


def drifts(samples: Sequence[float]) -> bool:
    """Whether the medians of first and last third differ by over 3 %, and their intervals too."""
    third = len(samples) // 3
    if third < DRIFT_THIRD:
        return False
    (low, high), (low_late, high_late) = (
        median_interval(part) for part in (samples[:third], samples[-third:])
    )
    early, late = (low + high) / 2, (low_late + high_late) / 2
    apart = low_late > high or low > high_late
    return apart and abs(late - early) > DRIFT * early


def on_ticks(durations_s: Sequence[float]) -> bool:
    """Whether durations crowd on several multiples of 4 or 1 ms more than chance would have it.

    Durations are of whole samples (a block, not a call). One multiple alone is no evidence: a call
    of a steady 8.01 ms sits there by nature.
    """
    return any(_crowds(durations_s, tick) for tick in TICKS_S)


def _crowds(durations_s: Sequence[float], tick: float) -> bool:
    nearest = [(value, round(value / tick)) for value in durations_s]
    hits = [times for value, times in nearest if times and _near(value, times, tick)]
    crowded = [times for times, count in Counter(hits).items() if count >= 2]
    often = 2 * len(hits) >= len(durations_s)
    return len(crowded) >= 2 and often and _tail(len(hits), len(durations_s)) < TICK_CHANCE


def _near(value: float, times: int, tick: float) -> bool:
    return abs(value - times * tick) <= TICK_WIDTH * tick


def _tail(hits: int, count: int) -> float:
    """Bound the chance of that many hits or more among `count` durations spread evenly.

    Chernoff's bound, exp(-count * KL(share || chance)), never under the true chance.
    """
    chance, share = 2 * TICK_WIDTH, hits / count
    missed = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return math.exp(-count * (share * math.log(share / chance) + missed))
