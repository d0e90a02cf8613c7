"""Intervals of medians and ratios that assume no distribution; numpy and scipy.special only.

Light enough for a stopping rule: the ranks of an interval depend on the count alone and are
cached.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]


def median_interval(samples: Sequence[float] | Array, level: float = 0.95) -> tuple[float, float]:
    """Return the order-statistic interval of the median, in the unit of `samples`.

    The number of samples below the true median is binomial (n, 1/2) whatever the distribution
    (David and Nagaraja, Order Statistics, 7.1), so two sorted samples bound it with at least
    `level` coverage. Below 6 samples no pair reaches 95 %: the result is (min, max) and promises
    less. ValueError if `samples` is empty or holds a value that is not finite, or `level` is
    outside (0, 1).
    """
    ordered = np.sort(_finite(samples))
    rank = _rank(ordered.size, level)
    return float(ordered[rank]), float(ordered[-1 - rank])


def half_width(samples: Sequence[float] | Array, level: float = 0.95) -> float:
    """Return half the width of the median's interval, relative to the median (0.01 is 1 %).

    A single sample has width 0, which says nothing: ask for a least count beside it. ValueError as
    in `median_interval`, and if the median is not above zero.
    """
    low, high = median_interval(samples, level)
    median = float(np.median(_finite(samples)))
    if median <= 0:
        raise ValueError(f"a relative width needs a median above 0, not {median!r}")
    return (high - low) / 2 / median


def replica_summary(
    medians: Sequence[float], intervals: Sequence[tuple[float, float]]
) -> tuple[float, float, float]:
    """Return (median of medians, low, high) over worker processes, in the unit of `medians`.

    Each side is the larger of the widest interval inside a process and the spread between process
    medians: processes differ by 1 to 36 % while the interval inside one says 0.3 %. With one
    process the second half is missing, so the interval is too narrow: say so where it is shown.
    ValueError if the two lists are empty or differ in length.
    """
    values, bounds = _finite(medians), np.asarray(intervals, dtype=np.float64)
    if bounds.shape != (values.size, 2):
        raise ValueError(f"{values.size} medians need as many (low, high), got {bounds.shape}")
    centre = float(np.median(values))
    below = max(np.max(values - bounds[:, 0]), centre - np.min(values))
    above = max(np.max(bounds[:, 1] - values), np.max(values) - centre)
    # A replica far above the others may have an interval wider than their median: no sample was
    # below the lowest bound, and no time is below zero.
    lowest = min(float(np.min(bounds[:, 0])), float(np.min(values)))
    return centre, max(centre - float(below), lowest), centre + float(above)


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
    other, so drift cancels, and rounds that only one cell has are left out. The ratio is the
    median over replicas of the ratio of medians; the interval is a two-level bootstrap (replicas,
    then rounds inside each; Davison and Hinkley, Bootstrap Methods, 3.8). Swapping the cells is
    the reciprocal only for an odd number of replicas. ValueError if replicas differ in number or a
    sample is not above 0.
    """
    if not numerator or len(numerator) != len(denominator):
        raise ValueError(
            f"a paired ratio needs the same replicas in both cells, "
            f"got {len(numerator)} and {len(denominator)}"
        )
    generator = np.random.default_rng(seed)
    pairs = [_pair(*both) for both in zip(numerator, denominator, strict=True)]
    ratio = float(np.median([np.median(top) / np.median(bottom) for top, bottom in pairs]))
    pool = np.stack([_resample(*pair, resamples, generator) for pair in pairs])
    # Each draw picks replicas with replacement, and for each pick another resample of its rounds.
    shape = (resamples, len(pairs))
    drawn = pool[
        generator.integers(len(pairs), size=shape), generator.integers(resamples, size=shape)
    ]
    low, high = np.quantile(np.median(drawn, axis=1), [(1 - level) / 2, (1 + level) / 2])
    return ratio, min(float(low), ratio), max(float(high), ratio)


@lru_cache(maxsize=4096)
def _rank(count: int, level: float) -> int:
    """Return how many sorted samples to leave out at each end."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level!r}")
    below = special.bdtr(np.arange(count // 2 + 1), count, 0.5)
    # The sample of (zero-based) rank r lies above the median with probability below[r].
    safe = int(np.searchsorted(below, (1 - level) / 2, side="right"))
    return max(safe - 1, 0)


def _finite(samples: Sequence[float] | Array) -> Array:
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"samples must be a list of one or more finite numbers, not {samples!r}")
    return values


def _pair(top: Sequence[float], bottom: Sequence[float]) -> tuple[Array, Array]:
    rounds = min(len(top), len(bottom))
    pair = _finite(top[:rounds]), _finite(bottom[:rounds])
    if min(pair[0].min(), pair[1].min()) <= 0:
        raise ValueError("a ratio needs samples above 0")
    return pair


def _resample(top: Array, bottom: Array, resamples: int, generator: np.random.Generator) -> Array:
    """Return ratios of medians [resamples], the same rounds drawn for both cells."""
    rounds = generator.integers(top.size, size=(resamples, top.size))
    return np.asarray(np.median(top[rounds], axis=1) / np.median(bottom[rounds], axis=1))
