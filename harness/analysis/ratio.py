"""Ratio: how many times longer one cell takes than another, paired process by process."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

from harness.analysis.statistics import paired_ratio
from harness.analysis.verdict import INCONCLUSIVE, REFUTED, SUPPORTED, Part
from harness.record import Record

# With fewer than 6 values not even (min, max) holds the median in 95 % of all cases.
REPLICAS_ENOUGH = 6
# Student's t of two values is 12.7 standard errors: it leaves every order open.
REPLICAS_LEAST = 3


@dataclass(frozen=True)
class Ratio:
    """Hold the time of one cell over another's at one length, with a 95 % interval.

    `paired` is False where the interval is that of two unrelated medians: fewer than three
    replicas, or not the same processes in both cells.
    """

    length: int
    value: float
    low: float
    high: float
    paired: bool

    def __str__(self) -> str:
        return f"{self.value:.3g}x [{self.low:.3g}, {self.high:.3g}]"


def time_ratio(top: Record, bottom: Record) -> Ratio:
    """Return the time of `top` over that of `bottom`, both measured on one device.

    Replica i of both cells is the same process, so what slows a process cancels. ValueError for
    cells of two devices: a time on one says nothing about the other.
    """
    if top.device != bottom.device:
        raise ValueError(
            f"{top.cell} on {top.device} and {bottom.cell} on {bottom.device}: "
            "times on two devices are never compared"
        )
    above, below = top.replica_medians_s or (), bottom.replica_medians_s or ()
    if len(above) != len(below) or len(above) < REPLICAS_LEAST:
        return unpaired(top, bottom)
    value, low, high = paired_ratio([[each] for each in above], [[each] for each in below])
    if len(above) < REPLICAS_ENOUGH:
        narrow, wide = student_interval(above, below)
        low, high = min(low, narrow), max(high, wide)
    return Ratio(top.length_query, value, low, high, paired=True)


def student_interval(above: Sequence[float], below: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the mean log ratio by Student's t.

    Three to five processes are too few for a bootstrap: it never leaves their range, which covers
    the truth in 1 - 2 * 2^-R of all cases, 75 % for three.
    """
    logs = [math.log(up / down) for up, down in zip(above, below, strict=True)]
    reach = special.stdtrit(len(logs) - 1, 0.975) * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.fmean(logs)
    return math.exp(mean - reach), math.exp(mean + reach)


def unpaired(top: Record, bottom: Record) -> Ratio:
    """Return the ratio whose interval leaves out 1 only if the two intervals are apart."""
    assert top.time_median_s is not None
    assert bottom.time_median_s is not None
    value = top.time_median_s / bottom.time_median_s
    low = (top.time_low_s or 0.0) / (bottom.time_high_s or math.inf)
    high = (top.time_high_s or math.inf) / (bottom.time_low_s or 1e-30)
    return Ratio(top.length_query, value, min(low, value), max(high, value), paired=False)


def judge_above_one(ratios: Sequence[Ratio], what: str) -> Part:
    """Judge "longer at every length": every interval above 1, or one of them below 1."""
    if not ratios:
        return Part(INCONCLUSIVE, f"{what}: no length measured in both")
    note = "" if all(ratio.paired for ratio in ratios) else ", too few replicas to pair"
    below = [ratio for ratio in ratios if ratio.high < 1]
    if below:
        return Part(REFUTED, f"{what}: {below[0]} at T={below[0].length}{note}")
    across = [ratio for ratio in ratios if ratio.low <= 1]
    if across:
        text = f"{what}: {across[0]} at T={across[0].length} leaves the order open{note}"
        return Part(INCONCLUSIVE, text)
    return Part(SUPPORTED, f"{what}: {span(ratios)}{note}")


def span(ratios: Sequence[Ratio]) -> str:
    """Say the smallest and the largest ratio, each with its interval and length."""
    least, most = (pick(ratios, key=lambda each: each.value) for pick in (min, max))
    if least is most:
        return f"{least} at T={least.length}"
    return f"{least} at T={least.length} to {most} at T={most.length}"
