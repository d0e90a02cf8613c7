"""Laws: how time may grow with T, and their fits to one series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LENGTHS_LEAST = 6
RANGE_LEAST = 8.0
# Clocks and machines are never better than this between two processes, whatever three medians say.
NOISE_LEAST = 0.01
TERMS = {"polynomial": ("constant", "linear", "quadratic"), "power": ("constant", "power")}
TERM_SETS = [list(chosen) for size in (1, 2, 3) for chosen in combinations(range(3), size)]
EXPONENTS = np.linspace(0.2, 4.0, 77)
# Ever closer around the best one; a parabola alone would not do, since the error has a kink where
# the floor meets zero.
CLOSER = (np.linspace(-0.05, 0.05, 11), np.linspace(-0.01, 0.01, 11))
# No clock resolves 0.01 %: below it a smaller residual is rounding, not a better law.
RESIDUAL_LEAST = 1e-4


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


@dataclass(frozen=True)
class Curves:
    """Hold one fitted law for each of several series.

    `terms` [series, terms] are the seconds of each term at the largest length (they add up to the
    fitted time there); `exponent` [series] is d log(time - a) / d log T there, 0 for a flat law;
    `values` [series, lengths] the fitted seconds; `parameters` [series] counts what was free and
    not at zero.
    """

    model: str
    terms: Array
    exponent: Array
    values: Array
    parameters: Array

    def criterion(self, seconds: Array, weights: Array) -> Array:
        """Return AICc [series]; only differences between laws on the same series mean anything."""
        return information(seconds, self.values, weights, self.parameters)


def information(seconds: Array, values: Array, weights: Array, parameters: Array) -> Array:
    """Return AICc for Gaussian residuals whose scale is unknown (Hurvich and Tsai 1989).

    The last axis holds lengths. `parameters` counts what was free in the curve; the scale is added
    here.
    """
    count, free = weights.size, parameters + 1
    mean_square = np.mean(((seconds - values) * weights) ** 2, axis=-1)
    least = np.mean((RESIDUAL_LEAST * seconds * weights) ** 2, axis=-1)
    room = count - free - 1
    correction = np.where(room > 0, 2 * free * (free + 1) / np.maximum(room, 1), np.inf)
    return np.asarray(count * np.log(np.maximum(mean_square, least)) + 2 * free + correction)


def fit_polynomial(
    lengths: Array, seconds: Array, weights: Array, *, term_sets: Sequence[list[int]] = TERM_SETS
) -> Curves:
    """Fit a + bT + cT² with a, b, c >= 0 to each row of `seconds` [series, lengths].

    The least-squares solution of every set of terms is tried and the best one without a negative
    coefficient kept: over all seven sets that is exactly non-negative least squares. Where no set
    allows such a solution all terms are 0.
    """
    columns = np.vander(lengths / lengths[-1], 3, increasing=True)
    scaled = columns * weights[:, None]
    size = np.linalg.norm(scaled, axis=0)
    normal = (scaled / size).T @ (scaled / size)
    right = (seconds * weights) @ (scaled / size)
    terms, most = np.zeros((len(seconds), 3)), np.zeros(len(seconds))
    for chosen in term_sets:
        solution = np.zeros_like(terms)
        solution[:, chosen] = right[:, chosen] @ np.linalg.inv(normal[chosen][:, chosen])
        explained = (solution * right).sum(axis=1)
        better = (explained > most) & (solution[:, chosen].min(axis=1) > 0)
        most = np.where(better, explained, most)
        terms = np.where(better[:, None], solution, terms)
    terms /= size
    growth, twice = terms[:, 1] + terms[:, 2], terms[:, 1] + 2 * terms[:, 2]
    exponent = np.divide(twice, growth, out=np.zeros_like(growth), where=growth > 0)
    return Curves("polynomial", terms, exponent, terms @ columns.T, np.sum(terms > 0, axis=1))


def fit_power(lengths: Array, seconds: Array, weights: Array, *, floor: bool = True) -> Curves:
    """Fit a + bT^k with a, b >= 0 and k in [0.2, 4] to each row of `seconds` [series, lengths].

    For a given k the best a and b are closed form (variable projection, Golub and Pereyra 1973),
    so k is found on a grid, then on finer ones, to better than 0.002. Without `floor` a is 0.
    """
    ratio, square = lengths / lengths[-1], weights**2
    exponents = np.broadcast_to(EXPONENTS, (len(seconds), EXPONENTS.size))
    for around in CLOSER:
        errors = _Moments.of(ratio ** exponents[..., None], seconds, square).error(floor=floor)
        exponents = _best(exponents, errors)[:, None] + around
    errors = _Moments.of(ratio ** exponents[..., None], seconds, square).error(floor=floor)
    exponent = _between(exponents, errors)
    columns = ratio ** exponent[:, None]
    lines = _Moments.of(columns[:, None], seconds, square).line(floor=floor)
    terms = np.concatenate(lines, axis=1)
    values = terms[:, :1] + terms[:, 1:] * columns
    return Curves("power", terms, exponent, values, 1 + np.sum(terms > 0, axis=1))


@dataclass(frozen=True)
class _Moments:
    """Hold the weighted sums [series, exponents] that the line y = a + bx needs."""

    one: float
    x: Array
    xx: Array
    y: Array
    xy: Array
    yy: Array

    @classmethod
    def of(cls, columns: Array, seconds: Array, square: Array) -> Self:
        """Sum x = columns [series, exponents, lengths] and y = seconds [series, lengths]."""
        weighted = seconds * square
        return cls(
            float(square.sum()),
            columns @ square,
            columns**2 @ square,
            weighted.sum(axis=1, keepdims=True),
            (columns @ weighted[..., None])[..., 0],
            np.sum(weighted * seconds, axis=1, keepdims=True),
        )

    def line(self, *, floor: bool) -> tuple[Array, Array]:
        """Return the best non-negative a and b; the optimum may lie on an edge."""
        spread = self.one * self.xx - self.x**2
        start = (self.xx * self.y - self.x * self.xy) / spread
        slope = (self.one * self.xy - self.x * self.y) / spread
        through_zero, flat = (start < 0) | (not floor), (slope < 0) & floor
        start = np.where(through_zero, 0.0, start)
        slope = np.where(through_zero, self.xy / self.xx, slope)
        return np.where(flat, self.y / self.one, start), np.where(flat, 0.0, slope)

    def error(self, *, floor: bool) -> Array:
        """Return the squared error [series, exponents] of that line."""
        start, slope = self.line(floor=floor)
        fitted = start**2 * self.one + 2 * start * slope * self.x + slope**2 * self.xx
        return np.asarray(self.yy - 2 * (start * self.y + slope * self.xy) + fitted)


def _best(exponents: Array, errors: Array) -> Array:
    """Return the exponent [series] of the least of errors [series, exponents]."""
    return np.asarray(exponents[np.arange(len(errors)), np.argmin(errors, axis=1)])


def _between(exponents: Array, errors: Array) -> Array:
    """Return the exponent [series] where a parabola through the three least errors bottoms."""
    rows = np.arange(len(errors))
    inner = np.clip(np.argmin(errors, axis=1), 1, exponents.shape[1] - 2)
    left, middle, right = (errors[rows, inner + shift] for shift in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = np.divide(left - right, 2 * bend, out=np.zeros_like(bend), where=bend > 0)
    step = exponents[:, 1] - exponents[:, 0]
    return np.asarray(exponents[rows, inner] + np.clip(shift, -1, 1) * step)
