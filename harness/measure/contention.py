"""Who else had the processor: steal, other processes and involuntary switches around a visit.

Linux tells all three; elsewhere the parts that are missing count as quiet.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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
    idle.
    A neighbour on a core that this process leaves free is no contention.
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
