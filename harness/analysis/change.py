"""Change: the ratio of a cell's time in a new run to that in old ones, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from harness.analysis.columns import LEAST_SPREAD
from harness.analysis.smallest_change import threshold

Array = NDArray[np.float64]
Processes = Sequence[Sequence[float] | Array]  # seconds [process][sample]
RESAMPLES = 1000
# Six values are the fewest whose least and largest hold the median in 95 % of all cases.
PROCESSES_ENOUGH = 6
TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Change:
    """Hold the ratio new over old, its 95 % interval, and the ratio below which it is noise."""

    ratio: float
    low: float
    high: float
    threshold: float
    alone: bool = False  # one process on a side: how processes differ is not known

    @property
    def verdict(self) -> str:
        """`slower` and `faster` only where the whole interval is beyond the threshold."""
        if self.alone:
            return "unclear"
        if self.low > self.threshold:
            return "slower"
        if self.high < 1 / self.threshold:
            return "faster"
        inside = self.low >= 1 / self.threshold and self.high <= self.threshold
        return "same" if inside else "unclear"

    @property
    def caveat(self) -> str | None:
        """What the reader must know of the interval, if anything."""
        return "one process on a side: how processes differ is not known" if self.alone else None


def change_of(
    old: Sequence[Processes], new: Processes, *, floor: float | None = None, seed: int = 0
) -> Change:
    """Compare a cell's new processes with those of one or more old runs; seconds a call.

    The ratio is of the medians over processes of the median (over runs, of the old). Its interval
    is a bootstrap over runs, processes and samples (Davison and Hinkley, Bootstrap Methods, 3.8),
    below six processes widened to Welch's t of their log medians, since a bootstrap of three never
    leaves their range. `floor` is the cell's noise between runs of the same code, as a share of 1.
    """
    random = np.random.default_rng(seed)
    olds = [run_medians(run, random) for run in old]
    chosen = np.stack(olds)[random.integers(len(olds), size=(RESAMPLES, len(olds)))
                            .T, np.arange(RESAMPLES)]  # fmt: skip
    drawn = run_medians(new, random) / np.median(chosen, axis=0)
    ratio = middle(new) / float(np.median([middle(run) for run in old]))
    low, high = np.quantile(drawn, TAILS)
    before, now = [log for run in old for log in logs_of(run)], logs_of(new)
    reach = welch_reach(before, now)
    low, high = min(float(low), ratio / reach), max(float(high), ratio * reach)
    beyond = 1 + threshold(floor or 0.0)
    return Change(ratio, low, high, beyond, alone=min(len(before), len(now)) < 2)


def run_medians(processes: Processes, random: np.random.Generator) -> Array:
    """Draw medians of a run anew: processes with replacement, in each its samples."""
    pool = np.stack([_medians(samples, random) for samples in processes])
    picks = random.integers(len(pool), size=(len(pool), RESAMPLES))
    return np.asarray(np.median(pool[picks, np.arange(RESAMPLES)], axis=0))


def _medians(samples: Sequence[float] | Array, random: np.random.Generator) -> Array:
    """Draw medians of a bootstrap of the samples, without drawing the samples.

    The median of n draws is the sample at n·U, where U is the middle of n uniform numbers: a beta
    variable (Devroye, Non-Uniform Random Variate Generation, I.4.3).
    """
    ordered = np.sort(np.asarray(samples, dtype=np.float64))
    half = (ordered.size + 1) / 2
    return np.asarray(ordered[(random.beta(half, half, RESAMPLES) * ordered.size).astype(int)])


def middle(processes: Processes) -> float:
    """Return the median over processes of each one's median."""
    return float(np.median([np.median(samples) for samples in processes]))


def logs_of(processes: Processes) -> list[float]:
    """Return the log median of each process."""
    return [math.log(float(np.median(samples))) for samples in processes]


def welch_reach(before: Sequence[float], now: Sequence[float]) -> float:
    """Return the factor that Welch's 95 % interval of a difference of mean logs reaches.

    1 where it is not needed: from six processes on each side, and for one, which has no spread.
    """
    least = min(len(before), len(now))
    if least < 2 or least >= PROCESSES_ENOUGH:
        return 1.0
    parts = [
        max(float(np.var(logs, ddof=1)), LEAST_SPREAD**2) / len(logs) for logs in (before, now)
    ]
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(logs) - 1) for part, logs in zip(parts, (before, now), strict=True)
    )
    return math.exp(float(special.stdtrit(freedom, TAILS[1])) * math.sqrt(sum(parts)))
