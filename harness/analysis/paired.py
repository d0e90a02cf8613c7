"""Paired: the ratio of two cells timed in the same rounds of the same processes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.analysis.statistics import Array, finite_samples


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
