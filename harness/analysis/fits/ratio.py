"""Ratio: one time over another with its interval, paired by process and by round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.fits.intervals import REPLICAS_LEAST as REPLICAS_LEAST
from harness.analysis.fits.intervals import Array, finite_samples, student_interval
from harness.records.record import Record

if TYPE_CHECKING:
    import pandas as pd

# Seconds of one cell as [replica][round].
Rounds = Sequence[Sequence[float]]


def round_ratio(top: Sequence[float], bottom: Sequence[float]) -> float:
    """Return the median ratio of the rounds that two cells share in one process.

    ValueError as in `paired_ratio`.
    """
    return float(np.median(_round_ratios(top, bottom)))


def paired_ratio(
    numerator: Sequence[Sequence[float]],
    denominator: Sequence[Sequence[float]],
    *,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Return (ratio, low, high) of two cells measured in the same rounds of the same processes.

    Both arguments are samples [replica][round]; round i of one cell ran next to round i of the
    other, so drift cancels in their ratio, and rounds that only one cell has are left out. The
    ratio is the median over replicas of the median ratio of a round; the interval is a two-level
    bootstrap (replicas, then rounds inside each; Davison and Hinkley, Bootstrap Methods, 3.8). Of
    few replicas it never leaves their range: widen it by `student_interval`. Swapping the cells
    is the reciprocal only for odd counts. ValueError if replicas differ in number or a sample is
    not above 0.
    """
    if not numerator or len(numerator) != len(denominator):
        raise ValueError(
            f"a paired ratio needs the same replicas in both cells, "
            f"got {len(numerator)} and {len(denominator)}"
        )
    generator = np.random.default_rng(seed)
    pairs = [_round_ratios(*both) for both in zip(numerator, denominator, strict=True)]
    ratio = float(np.median([np.median(ratios) for ratios in pairs]))
    pool = np.stack([_resampled_medians(ratios, resamples, generator) for ratios in pairs])
    # Each draw picks replicas with replacement, and for each pick another resample of its rounds.
    shape = (resamples, len(pairs))
    drawn = pool[
        generator.integers(len(pairs), size=shape), generator.integers(resamples, size=shape)
    ]
    low, high = np.quantile(np.median(drawn, axis=1), [(1 - level) / 2, (1 + level) / 2])
    return ratio, min(float(low), ratio), max(float(high), ratio)


def _round_ratios(top: Sequence[float], bottom: Sequence[float]) -> Array:
    """Return the sorted ratios [rounds] of the rounds that both cells have."""
    rounds = min(len(top), len(bottom))
    above, below = (finite_samples(side[:rounds]) for side in (top, bottom))
    if min(above.min(), below.min()) <= 0:
        raise ValueError("a ratio needs samples above 0")
    return np.sort(above / below)


def _resampled_medians(ordered: Array, resamples: int, generator: np.random.Generator) -> Array:
    """Return medians [resamples] of draws with replacement from sorted values, without the draws.

    A draw is the value at rank floor(count * u) with u uniform, so the median's rank comes from
    the middle one of `count` uniform numbers, which is beta distributed (David and Nagaraja, 2.3).
    """
    count = ordered.size
    middle = (count + 1) // 2
    places = [generator.beta(middle, count + 1 - middle, resamples)]
    if count % 2 == 0:
        places.append(places[0] + (1 - places[0]) * generator.beta(1, count - middle, resamples))
    ranks = np.minimum((count * np.stack(places)).astype(np.intp), count - 1)
    return np.asarray(ordered[ranks].mean(axis=0))


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


def rounds_by_cell(samples: pd.DataFrame) -> dict[str, list[list[float]]]:
    """Return the seconds of each cell as [replica][round] from a table of raw samples."""
    ordered = samples.sort_values(["cell", "replica", "index"], kind="stable")
    found: dict[str, list[list[float]]] = {}
    for (cell, _), part in ordered.groupby(["cell", "replica"], sort=False)["seconds"]:
        found.setdefault(str(cell), []).append(part.tolist())
    return found


def time_ratio(
    top: Record, bottom: Record, *, rounds: Mapping[str, Rounds] | None = None
) -> Ratio:
    """Return the time of `top` over that of `bottom`, both measured on one device.

    Replica i of both cells is the same process, so what slows a process cancels. Backends of one
    case took turns in every round: with `rounds` (by cell, in seconds) what slows a round cancels
    too. The interval holds the bootstrap's and Student's: the first alone covered 75 % with three
    processes that differ and 87 % with seven (simulated). ValueError for cells of two devices: a
    time on one says nothing about the other.
    """
    if top.device != bottom.device:
        raise ValueError(
            f"{top.cell} on {top.device} and {bottom.cell} on {bottom.device}: "
            "times on two devices are never compared"
        )
    above, below = _shared_rounds(top, bottom, rounds or {})
    if len(above) != len(below) or len(above) < REPLICAS_LEAST:
        return unpaired(top, bottom)
    value, low, high = paired_ratio(above, below)
    narrow, wide = student_interval(
        [round_ratio(*both) for both in zip(above, below, strict=True)]
    )
    return Ratio(top.length_query, value, min(low, narrow), max(high, wide), paired=True)


def _shared_rounds(
    top: Record, bottom: Record, rounds: Mapping[str, Rounds]
) -> tuple[Rounds, Rounds]:
    """Return the rounds of two cells of one visit, else each process as one round: its median."""
    medians = [[[each] for each in cell.replica_medians_s or ()] for cell in (top, bottom)]
    known = [rounds.get(cell.cell, ()) for cell in (top, bottom)]
    whole = all(len(one) == len(two) for one, two in zip(known, medians, strict=True))
    cases = {cell.cell.removeprefix(f"{cell.backend}.") for cell in (top, bottom)}
    above, below = known if whole and len(cases) == 1 else medians
    return above, below


def unpaired(top: Record, bottom: Record) -> Ratio:
    """Return the ratio whose interval leaves out 1 only if the two intervals are apart."""
    assert top.time_median_s is not None
    assert bottom.time_median_s is not None
    value = top.time_median_s / bottom.time_median_s
    low = (top.time_low_s or 0.0) / (bottom.time_high_s or math.inf)
    high = (top.time_high_s or math.inf) / (bottom.time_low_s or 1e-30)
    return Ratio(top.length_query, value, min(low, value), max(high, value), paired=False)
