"""Contention: signs that a time is not the call's own: busy neighbours, drift, scheduler ticks."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness.analysis.fits.intervals import median_interval

try:
    import resource
except ImportError:  # Windows has no getrusage; its witnesses stay silent.
    resource = None  # type: ignore[assignment]

# /proc/stat counts ticks of 10 ms, so a shorter visit says nothing.
SHORTEST_S = 0.2
# Of the busy time. A virtual machine at rest showed 2 to 3 %, which medians shrug off.
STEAL_SHARE = 0.05
# Busy ticks of others, in cores, that count once no core is left idle.
OTHERS_CORES = 0.05
IDLE_CORES = 0.25
# A lone process saw 2 to 18 a second here, one with a neighbour on every core 160.
SWITCHES_PER_S = 50
LEAST_SWITCHES = 5
DRIFT = 0.03
# A median's 95 % interval needs 6 samples (2 * 0.5**6 = 3 %), so a third needs as many.
DRIFT_THIRD = 6
# The scheduler's tick at CONFIG_HZ 250 and 1000; the first was seen with spinning threads.
TICKS_S = (0.004, 0.001)
TICK_WIDTH = 0.02
TICK_CHANCE = 1e-4


class Usage(NamedTuple):
    """What this process has used so far; a tuple, since one is made around every sample."""

    page_faults: int = 0
    switches: int = 0
    processor_s: float = 0.0


@dataclass(frozen=True)
class Snapshot:
    """Counters of the cores this process may use, in core seconds since boot, and its own use."""

    wall_s: float
    busy_s: float
    idle_s: float
    steal_s: float
    own: Usage


def usage() -> Usage:
    """Read the counters of this process with all its threads; takes about 2 us."""
    if resource is None:
        return Usage()
    now = resource.getrusage(resource.RUSAGE_SELF)
    return Usage(now.ru_minflt + now.ru_majflt, now.ru_nivcsw, now.ru_utime + now.ru_stime)


def snapshot(stat: Path = Path("/proc/stat")) -> Snapshot:
    """Read all counters; an unreadable `stat` leaves zeros, which never raise a flag."""
    busy, idle, steal = core_seconds(stat)
    return Snapshot(time.perf_counter(), busy, idle, steal, usage())


def core_seconds(stat: Path = Path("/proc/stat")) -> tuple[float, float, float]:
    """Return (busy, idle, stolen) seconds summed over the cores in this process's affinity.

    The columns are user nice system idle iowait irq softirq steal (man 5 proc).
    """
    try:
        lines = stat.read_text().splitlines()
        cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    except (OSError, AttributeError):
        return 0.0, 0.0, 0.0
    words = [line.split() for line in lines]
    rows = [[int(word) for word in row[1:9]] for row in words if row and row[0] in cores]
    if not rows:
        return 0.0, 0.0, 0.0
    user, nice, system, idle, wait, irq, soft, steal = (
        sum(column) / os.sysconf("SC_CLK_TCK") for column in zip(*rows, strict=True)
    )
    return user + nice + system + irq + soft, idle + wait, steal


def interrupted(switches: int, seconds: float) -> bool:
    """Whether a call was taken off its core, against its will, more often than a lone one is."""
    return switches >= LEAST_SWITCHES and switches > SWITCHES_PER_S * seconds


def contended(before: Snapshot, after: Snapshot) -> bool:
    """Whether others took time from this process between two snapshots.

    Either the hypervisor stole over 5 % of the busy time, or others were busy while no core was
    idle. A neighbour on a core that this process leaves free is no contention.
    """
    wall = after.wall_s - before.wall_s
    if wall < SHORTEST_S:
        return False
    busy, idle, steal = (
        (getattr(after, name) - getattr(before, name)) / wall
        for name in ("busy_s", "idle_s", "steal_s")
    )
    others: float = busy - (after.own.processor_s - before.own.processor_s) / wall
    squeezed = others > OTHERS_CORES and idle < IDLE_CORES
    return bool(steal > STEAL_SHARE * (busy + steal) or squeezed)


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
