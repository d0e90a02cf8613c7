"""Two growth laws fitted to many time series at once: a + bT + cT² and a + bT^k.

Every fit is closed form (no iteration), so that a bootstrap of hundreds of refits takes milliseconds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from harness.analysis.time_series import Array

TERMS = {"polynomial": ("constant", "linear", "quadratic"), "power": ("constant", "power")}
# Exponents tried for T^k; a parabola through the best three refines the 0.02 step to about 1e-4.
EXPONENTS = np.arange(0.2, 4.0 + 1e-9, 0.02)
# No clock resolves 0.01 %: below it a smaller residual is rounding, not a better model.
RESIDUAL_LEAST = 1e-4


@dataclass(frozen=True)
class Curves:
    """Hold one fitted law for each of several series.

    `terms` [series, terms] are the seconds of each term at the largest length (so they add up to the
    fitted time there); `exponent` [series] is d log(time - a) / d log T there; `values`
    [series, lengths] the fitted seconds; `parameters` [series] counts what was free and not at its bound.
    """

    model: str
    terms: Array
    exponent: Array
    values: Array
    parameters: Array

    def criterion(self, seconds: Array, weights: Array) -> Array:
        """Return AICc [series]; only differences between laws fitted to the same series mean anything."""
        return information(seconds, self.values, weights, self.parameters)


def information(seconds: Array, values: Array, weights: Array, parameters: Array) -> Array:
    """Return AICc for Gaussian residuals whose scale is unknown (Hurvich and Tsai 1989).

    The last axis holds lengths. `parameters` counts what was free in the curve; the scale is added here.
    """
    count = weights.size
    free = parameters + 1
    mean_square = np.mean(((seconds - values) * weights) ** 2, axis=-1)
    least = np.mean((RESIDUAL_LEAST * values * weights) ** 2, axis=-1)
    room = count - free - 1
    correction = np.where(room > 0, 2 * free * (free + 1) / np.maximum(room, 1), np.inf)
    return np.asarray(count * np.log(np.maximum(mean_square, least)) + 2 * free + correction)


Fitter = Callable[[Array, Array, Array], Curves]


def fit_polynomial(lengths: Array, seconds: Array, weights: Array) -> Curves:
    """Fit a + bT + cT² with a, b, c >= 0 to each row of `seconds` [series, lengths].

    The least-squares solutions of all seven sets of terms are compared and the best one without a
    negative coefficient kept: for three columns this is exactly non-negative least squares.
    """
    columns = np.vander(lengths / lengths[-1], 3, increasing=True)
    best = np.zeros((len(seconds), 3))
    lowest = np.full(len(seconds), np.inf)
    for active in (list(s) for size in (1, 2, 3) for s in combinations(range(3), size)):
        solver = np.linalg.pinv(columns[:, active] * weights[:, None])
        solution = (seconds * weights) @ solver.T
        error = np.sum(((solution @ columns[:, active].T - seconds) * weights) ** 2, axis=1)
        better = (error < lowest) & np.all(solution > 0, axis=1)
        lowest[better] = error[better]
        best[better] = 0.0
        best[np.ix_(better, active)] = solution[better]
    growth = best[:, 1] + best[:, 2]
    exponent = np.divide(growth + best[:, 2], growth, out=np.zeros_like(growth), where=growth > 0)
    free = np.sum(best > 0, axis=1)
    return Curves("polynomial", best, exponent, best @ columns.T, free)


def fit_power(lengths: Array, seconds: Array, weights: Array) -> Curves:
    """Fit a + bT^k with a, b >= 0 and k in [0.2, 4] to each row of `seconds` [series, lengths].

    For a given k the best a and b are closed form (variable projection, Golub and Pereyra 1973), so k
    is found on a grid, then by a parabola through the three errors around the best one.
    """
    ratio = lengths / lengths[-1]
    exponent = _refine(_grid_errors(ratio ** EXPONENTS[:, None], seconds, weights**2))
    columns = ratio ** exponent[:, None]
    square = weights**2
    mixed = np.sum(seconds * columns * square, axis=1)
    terms = _line(square.sum(), columns @ square, columns**2 @ square, seconds @ square, mixed)
    values = terms[0][:, None] + terms[1][:, None] * columns
    free = 1 + (terms[0] > 0) + (terms[1] > 0)
    return Curves("power", np.stack(terms, axis=1), exponent, values, free)


def _grid_errors(columns: Array, seconds: Array, square: Array) -> Array:
    """Return the weighted squared error [series, exponents] of the best a + b * column."""
    total, sx, sxx = square.sum(), columns @ square, columns**2 @ square
    sy, sxy = (seconds @ square)[:, None], (seconds * square) @ columns.T
    start, slope = _line(total, sx, sxx, sy, sxy)
    explained = start * sy + slope * sxy
    size = start**2 * total + 2 * start * slope * sx + slope**2 * sxx
    return np.asarray((seconds**2 @ square)[:, None] - 2 * explained + size)


def _line(total: float, sx: Array, sxx: Array, sy: Array, sxy: Array) -> tuple[Array, Array]:
    """Return the non-negative a and b of a + b * x from the weighted sums of 1, x, x², y and xy."""
    spread = total * sxx - sx**2
    start, slope = (sxx * sy - sx * sxy) / spread, (total * sxy - sx * sy) / spread
    # Outside the quadrant the optimum lies on an edge: through zero, or flat.
    below, falling = start < 0, slope < 0
    start = np.where(falling, sy / total, np.where(below, 0.0, start))
    slope = np.where(falling, 0.0, np.where(below, sxy / sxx, slope))
    return start, slope


def _refine(errors: Array) -> Array:
    """Return the exponent [series] at the minimum of `errors` [series, exponents], off the grid."""
    inner = np.clip(np.argmin(errors, axis=1), 1, EXPONENTS.size - 2)
    rows = np.arange(len(errors))
    left, middle, right = (errors[rows, inner + shift] for shift in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = np.divide(left - right, 2 * bend, out=np.zeros_like(bend), where=bend > 0)
    return np.asarray(EXPONENTS[inner] + np.clip(shift, -1, 1) * (EXPONENTS[1] - EXPONENTS[0]))
