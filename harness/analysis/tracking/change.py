"""Change: how far two runs differ in one cell, and the smallest change that can be told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from harness.analysis.tracking.gate import LEAST_SPREAD

LEVEL = 0.95
POWER = 0.8
# A change below 5 % is no finding, nor one within three floors: an A/A run sees a minute of the
# machine, while two runs may lie days apart.
CHANGE_LEAST, FLOOR_TIMES = 0.05, 3.0
# A comparison takes medians over processes, and the wider of two intervals: it needs a quarter
# more than a plain t test (simulated with three to eight processes).
MARGIN = 1.25
# Mid-points over each of two distributions; half as many move the factor by under 0.1 %.
POINTS = 400
# The factor is 6 with three processes, the fewest that have a floor, and falls with more.
FACTOR_MOST = 100.0
Array = NDArray[np.float64]
Processes = Sequence[Sequence[float] | Array]  # seconds [process][sample]
RESAMPLES = 1000
# Six values are the fewest whose least and largest hold the median in 95 % of all cases.
PROCESSES_ENOUGH = 6
TAILS = (0.025, 0.975)


def between_floor(spread: float, replicas: int) -> float:
    """Return the 95 % half-width of the ratio of two unchanged runs, relative.

    Student's t with 2(R - 1) degrees times the standard error sqrt(2 / R) * spread, read as a
    ratio.
    """
    return math.expm1(_student(replicas) * _error(spread, replicas))


def threshold(floor: float) -> float:
    """Return what a change's interval must lie beyond: 5 %, or three floors if they are more."""
    return max(CHANGE_LEAST, FLOOR_TIMES * floor)


def smallest_change(spread: float, replicas: int) -> float:
    """Return the relative growth of a time that is found in 80 % of comparisons.

    Found means: the interval of the ratio of two runs lies beyond `threshold`. So the change is
    threshold + 1.25 k * standard error, on the log scale, with k from `power_factor`.
    """
    edge = math.log1p(threshold(between_floor(spread, replicas)))
    reach = MARGIN * power_factor(replicas) * _error(spread, replicas)
    return math.expm1(edge + reach)


@lru_cache(maxsize=64)
def power_factor(replicas: int, *, power: float = POWER) -> float:
    """Return how many standard errors beyond the threshold are found with the given power.

    k solves P(Z + k U > t V) = power: Z is normal, U the A/A run's estimate of the spread over
    the truth (chi with R - 1 degrees over its size: a process's noise is common to both labels),
    V the comparison's own (2(R - 1) degrees). With U = V = 1 this is the textbook t + z; three
    processes know their spread so poorly that k is 6 instead of 3.6.
    """
    estimated, seen = _chi(replicas - 1), _student(replicas) * _chi(2 * (replicas - 1))

    def lack(factor: float) -> float:
        return float(np.mean(special.ndtr(factor * estimated[:, None] - seen))) - power

    return float(optimize.brentq(lack, 0.0, FACTOR_MOST))


def _chi(degrees: int) -> NDArray[np.float64]:
    """Return mid-points of equal probability of sqrt(chi² / degrees)."""
    beyond = (np.arange(POINTS) + 0.5) / POINTS
    return np.asarray(np.sqrt(special.chdtri(degrees, beyond) / degrees))


def _student(replicas: int) -> float:
    return float(special.stdtrit(2 * (replicas - 1), (1 + LEVEL) / 2))


def _error(spread: float, replicas: int) -> float:
    """Return the standard error of the log ratio of two runs."""
    return spread * math.sqrt(2 / replicas)


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
