"""Intervals of medians, in one process and over several; numpy and scipy.special only.

Light enough for a stopping rule: the ranks of an interval depend on the count alone and are
cached.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

# Of so few processes no order statistic holds 95 %: two values hold the median half of the time,
# three in 75 %, five in 94 %.
REPLICAS_ENOUGH = 6
# Student's t of two values is 12.7 standard errors: it says nothing.
REPLICAS_LEAST = 3


def median_interval(samples: Sequence[float] | Array, level: float = 0.95) -> tuple[float, float]:
    """Return the order-statistic interval of the median, in the unit of `samples`.

    The number of samples below the true median is binomial (n, 1/2) whatever the distribution
    (David and Nagaraja, Order Statistics, 7.1), so two sorted samples bound it with at least
    `level` coverage. Below 6 samples no pair reaches 95 %: the result is (min, max) and promises
    less. ValueError if `samples` is empty or holds a value that is not finite, or `level` is
    outside (0, 1).
    """
    ordered = np.sort(finite_samples(samples))
    rank = _rank(ordered.size, level)
    return float(ordered[rank]), float(ordered[-1 - rank])


def half_width(samples: Sequence[float] | Array, level: float = 0.95) -> float:
    """Return half the width of the median's interval, relative to the median (0.01 is 1 %).

    A single sample has width 0, which says nothing: ask for a least count beside it. ValueError as
    in `median_interval`, and if the median is not above zero.
    """
    low, high = median_interval(samples, level)
    median = float(np.median(finite_samples(samples)))
    if median <= 0:
        raise ValueError(f"a relative width needs a median above 0, not {median!r}")
    return (high - low) / 2 / median


def student_interval(values: Sequence[float] | Array, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of the centre of a few positive values by Student's t of their logs.

    It is in the unit of `values`, never below 0, and right for a log-normal spread; a range of few
    values promises less than it seems to. ValueError for fewer than two or one not above 0.
    """
    known = finite_samples(values)
    if known.size < 2 or known.min() <= 0:
        raise ValueError(f"an interval by Student's t needs two values above 0, not {values!r}")
    logs = np.log(known)
    reach = special.stdtrit(logs.size - 1, (1 + level) / 2) * logs.std(ddof=1) / logs.size**0.5
    return float(np.exp(logs.mean() - reach)), float(np.exp(logs.mean() + reach))


def replica_summary(
    medians: Sequence[float], intervals: Sequence[tuple[float, float]]
) -> tuple[float, float, float]:
    """Return (median of medians, low, high) over worker processes, in the unit of `medians`.

    Each side is the larger of the widest interval inside a process and the spread between process
    medians: processes differ by 1 to 36 % while the interval inside one says 0.3 %. Three to five
    processes spread less than they should, so Student's interval of their medians is covered too.
    One process knows nothing of the spread, and two hold the truth between them half of the time:
    say so where it is shown. ValueError if the two lists are empty or differ in length.
    """
    values, bounds = finite_samples(medians), np.asarray(intervals, dtype=np.float64)
    if bounds.shape != (values.size, 2):
        raise ValueError(f"{values.size} medians need as many (low, high), got {bounds.shape}")
    centre = float(np.median(values))
    below = max(np.max(values - bounds[:, 0]), centre - np.min(values))
    above = max(np.max(bounds[:, 1] - values), np.max(values) - centre)
    # A replica far above the others may have an interval wider than their median, and no time is
    # below zero: what one process is unsure of does not reach below the lowest bound.
    lowest = min(float(np.min(bounds[:, 0])), float(np.min(values)))
    low, high = max(centre - float(below), lowest), centre + float(above)
    if REPLICAS_LEAST <= values.size < REPLICAS_ENOUGH and values.min() > 0:
        least, most = student_interval(values)
        return centre, min(low, least), max(high, most)
    return centre, low, high


@lru_cache(maxsize=4096)
def _rank(count: int, level: float) -> int:
    """Return how many sorted samples to leave out at each end."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level!r}")
    below = special.bdtr(np.arange(count // 2 + 1), count, 0.5)
    # The sample of (zero-based) rank r lies above the median with probability below[r].
    safe = int(np.searchsorted(below, (1 - level) / 2, side="right"))
    return max(safe - 1, 0)


def finite_samples(samples: Sequence[float] | Array) -> Array:
    """Return the samples as an array; ValueError if there is none or one is not finite."""
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"samples must be a list of one or more finite numbers, not {samples!r}")
    return values
