"""Smallest change: what two runs of unchanged code differ by, and what is told from that."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

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
