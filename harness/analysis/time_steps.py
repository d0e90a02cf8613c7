"""Look for one jump in a time series: data that leaves a cache, or a kernel that changes.

A jump of 1.3x in the upper half makes T look like T^1.3 at the largest length, and sure of it. The
growth laws cannot see it, so the exponent beside a jump is a rival that an interval must hold.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.analysis.time_models import information
from harness.analysis.time_series import Array, Series

# Floors tried, as parts of the shortest time; coarse, since the answer only ever widens an
# interval.
FLOORS = np.array([0.0, 0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.97])


@dataclass(frozen=True)
class Jump:
    """Hold the best law a + b T^k with its growth multiplied by `ratio` from `length` on."""

    length: int
    ratio: float
    exponent: float
    criterion: float


def find_jump(series: Series) -> Jump:
    """Return the likeliest single jump with at least two lengths on either side.

    Closed form: least squares of log(time - floor) on log T and a step, for each place and each
    trial floor. `criterion` is the AICc of the growth laws, with place and height counted as free.
    """
    places = np.arange(2, series.lengths.size - 1)
    designs = _designs(series.lengths, places)
    floors = (FLOORS * series.seconds.min())[:, None]
    rest = series.seconds - floors
    solution = _solve(designs, np.log(rest), rest * series.weights)
    growth = np.exp((designs @ solution[..., None])[..., 0])
    free = 4.0 + (floors > 0) * np.ones(places.size)
    criterion = information(series.seconds, floors[..., None] + growth, series.weights, free)
    floor, place = np.unravel_index(np.argmin(criterion), criterion.shape)
    return Jump(
        length=int(series.lengths[places[place]]),
        ratio=float(np.exp(solution[floor, place, 2])),
        exponent=float(solution[floor, place, 1]),
        criterion=float(criterion[floor, place]),
    )


def _designs(lengths: Array, places: NDArray[np.intp]) -> Array:
    """Return the columns 1, log T and "at or after the place" [places, lengths, 3]."""
    after = np.arange(lengths.size) >= places[:, None]
    ones = np.ones(after.shape)
    return np.stack([ones, ones * np.log(lengths / lengths[-1]), after.astype(np.float64)], axis=2)


def _solve(designs: Array, logs: Array, weights: Array) -> Array:
    """Return the weighted least-squares solutions [floors, places, 3]; logs [floors, lengths]."""
    square = weights**2
    normal = np.einsum("pna,fn,pnb->fpab", designs, square, designs)
    right = np.einsum("pna,fn->fpa", designs, square * logs)
    return np.asarray(np.linalg.solve(normal, right[..., None])[..., 0])
