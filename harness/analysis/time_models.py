"""Two growth laws, a + bT + cT² and a + bT^k, each fitted to many time series at once.

Every fit is closed form (no iteration), so that a bootstrap of hundreds of refits takes
milliseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from harness.analysis.time_series import Array

TERMS = {"polynomial": ("constant", "linear", "quadratic"), "power": ("constant", "power")}
TERM_SETS = [list(chosen) for size in (1, 2, 3) for chosen in combinations(range(3), size)]
# Exponents tried for T^k; a parabola through the best three refines the 0.02 step to about 1e-4.
EXPONENTS = np.arange(0.2, 4.0 + 1e-9, 0.02)
# No clock resolves 0.01 %: below it a smaller residual is rounding, not a better law.
RESIDUAL_LEAST = 1e-4


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
    terms, lowest = np.zeros((len(seconds), 3)), np.full(len(seconds), np.inf)
    for chosen in term_sets:
        solver = np.linalg.pinv(columns[:, chosen] * weights[:, None])
        solution = (seconds * weights) @ solver.T
        residual = (solution @ columns[:, chosen].T - seconds) * weights
        error = np.sum(residual**2, axis=1)
        better = (error < lowest) & np.all(solution > 0, axis=1)
        lowest[better], terms[better] = error[better], 0.0
        terms[np.ix_(better, chosen)] = solution[better]
    growth, twice = terms[:, 1] + terms[:, 2], terms[:, 1] + 2 * terms[:, 2]
    exponent = np.divide(twice, growth, out=np.zeros_like(growth), where=growth > 0)
    return Curves("polynomial", terms, exponent, terms @ columns.T, np.sum(terms > 0, axis=1))


def fit_power(lengths: Array, seconds: Array, weights: Array, *, floor: bool = True) -> Curves:
    """Fit a + bT^k with a, b >= 0 and k in [0.2, 4] to each row of `seconds` [series, lengths].

    For a given k the best a and b are closed form (variable projection, Golub and Pereyra 1973),
    so k is found on a grid, then by a parabola through the three errors around the best one.
    Without `floor` a is 0.
    """
    ratio, square = lengths / lengths[-1], weights**2
    grid = ratio ** EXPONENTS[:, None]
    moments = _Moments(
        square.sum(),
        grid @ square,
        grid**2 @ square,
        (seconds @ square)[:, None],
        seconds * square @ grid.T,
    )
    exponent = _refine(moments.error(seconds**2 @ square, floor=floor))
    columns = ratio ** exponent[:, None]
    moments = _Moments(
        square.sum(),
        columns @ square,
        columns**2 @ square,
        seconds @ square,
        np.sum(seconds * columns * square, axis=1),
    )
    terms = np.stack(moments.line(floor=floor), axis=1)
    values = terms[:, :1] + terms[:, 1:] * columns
    return Curves("power", terms, exponent, values, 1 + np.sum(terms > 0, axis=1))


@dataclass(frozen=True)
class _Moments:
    """Hold the weighted sums of 1, x, x², y and xy, any shapes that broadcast."""

    total: float
    x: Array
    xx: Array
    y: Array
    xy: Array

    def line(self, *, floor: bool) -> tuple[Array, Array]:
        """Return the best non-negative a and b of a + bx; the optimum may lie on an edge."""
        spread = self.total * self.xx - self.x**2
        start = (self.xx * self.y - self.x * self.xy) / spread
        slope = (self.total * self.xy - self.x * self.y) / spread
        through_zero, flat = (start < 0) | (not floor), (slope < 0) & floor
        start = np.where(through_zero, 0.0, start)
        slope = np.where(through_zero, self.xy / self.xx, slope)
        return np.where(flat, self.y / self.total, start), np.where(flat, 0.0, slope)

    def error(self, size: Array, *, floor: bool) -> Array:
        """Return the squared error [series, exponents] of that line; `size` is the sum of y²."""
        start, slope = self.line(floor=floor)
        fitted = start**2 * self.total + 2 * start * slope * self.x + slope**2 * self.xx
        return np.asarray(size[:, None] - 2 * (start * self.y + slope * self.xy) + fitted)


def _refine(errors: Array) -> Array:
    """Return the exponent [series] where `errors` [series, exponents] is least, off the grid."""
    inner = np.clip(np.argmin(errors, axis=1), 1, EXPONENTS.size - 2)
    rows = np.arange(len(errors))
    left, middle, right = (errors[rows, inner + shift] for shift in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = np.divide(left - right, 2 * bend, out=np.zeros_like(bend), where=bend > 0)
    return np.asarray(EXPONENTS[inner] + np.clip(shift, -1, 1) * (EXPONENTS[1] - EXPONENTS[0]))
