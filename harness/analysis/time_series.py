"""Read the medians of one sweep over lengths into a clean series with its noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LENGTHS_LEAST = 6
RANGE_LEAST = 8.0
# Clocks and machines are never better than this between two processes, whatever three medians say.
NOISE_LEAST = 0.01


@dataclass(frozen=True)
class Series:
    """Hold the usable points of a sweep: lengths, seconds and relative noise, each [lengths]."""

    lengths: Array
    seconds: Array
    noise: Array

    @property
    def weights(self) -> Array:
        """Return 1 / standard error of each point, per second."""
        return np.asarray(1 / (self.noise * self.seconds))

    @property
    def enough(self) -> bool:
        """Tell whether an exponent may be read from this: at least 6 lengths over at least 8x."""
        wide = self.lengths.size > 0 and self.lengths[-1] >= RANGE_LEAST * self.lengths[0]
        return bool(wide and self.lengths.size >= LENGTHS_LEAST)

    @property
    def growth(self) -> float | None:
        """Return the time at the largest length over that at the smallest, None without points."""
        return float(self.seconds[-1] / self.seconds[0]) if self.seconds.size else None

    @property
    def local_exponents(self) -> tuple[float, ...]:
        """Return the slope of log time over log length between neighbours, floor included."""
        slopes = np.diff(np.log(self.seconds)) / np.diff(np.log(self.lengths))
        return tuple(slopes.tolist())

    def from_index(self, first: int) -> Series:
        """Return the series without its `first` smallest lengths."""
        return Series(self.lengths[first:], self.seconds[first:], self.noise[first:])


def check_lengths(lengths: Sequence[int], others: Sequence[object]) -> None:
    """Raise ValueError unless `lengths` are distinct, above 0 and match `others`."""
    if len(lengths) != len(others):
        raise ValueError(f"{len(lengths)} lengths need as many values, got {len(others)}")
    if any(length <= 0 for length in lengths):
        raise ValueError(f"lengths must be above 0, got {min(lengths)}")
    twice = sorted({length for length in lengths if list(lengths).count(length) > 1})
    if twice:
        raise ValueError(f"every length may appear once, but {twice} came twice or more")


def read_series(
    lengths: Sequence[int],
    medians: Sequence[Sequence[float | None] | None],
    *,
    spreads: Sequence[float] | None = None,
) -> Series:
    """Return the usable points in order of length, from one median per worker process [seconds].

    A missing value is None, NaN, infinite or not above 0 (a cell out of memory, say); a length
    without any value left is dropped. The noise of a point is the standard error over processes,
    at least 1 % and what `spreads` says: the relative standard deviation of one process in an A/A
    run, one per length. ValueError for a repeated length.
    """
    known = spreads or [0.0] * len(lengths)
    check_lengths(lengths, medians)
    check_lengths(lengths, known)
    rows = sorted(
        ((t, _usable(row), least) for t, row, least in zip(lengths, medians, known, strict=True)),
        key=lambda row: row[0],
    )
    points = [
        (t, median(row), _noise(row, median(row), least=least))
        for t, row, least in rows
        if row.size
    ]
    columns = np.array(points, dtype=np.float64).reshape(-1, 3).T
    return Series(lengths=columns[0], seconds=columns[1], noise=columns[2])


def _usable(row: Sequence[float | None] | None) -> Array:
    values = np.array(
        [np.nan if value is None else value for value in row or ()], dtype=np.float64
    )
    return values[np.isfinite(values) & (values > 0)]


def _noise(row: Array, centre: float, *, least: float) -> float:
    """Return the relative standard error over processes, at least what one `least` gives."""
    seen = float(row.std(ddof=1)) / centre if row.size > 1 else 0.0
    return max(max(seen, least) / math.sqrt(row.size), NOISE_LEAST)
