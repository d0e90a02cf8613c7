"""Hockney's two figures of a fitted time: the rate long calls approach, and the T half-way."""

from collections.abc import Mapping

import numpy as np

from harness.analysis.time_models import Curves
from harness.analysis.time_series import Array

# A rate has no asymptote when time and arithmetic grow by different powers; as wide as a verdict's
# band.
POWER_TOLERANCE = 0.15
# A higher term than the leading one would in the end take the rate to zero; below 10 % it is
# noise.
SHARE_IGNORED = 0.10


def hockney(
    curve: Curves, lengths: Array, flops: Mapping[int, float] | None
) -> tuple[float | None, float | None]:
    """Return (rate_asymptotic [flop/s], half_length) of a law (Hockney and Jesshope 1988).

    The leading term is the one that grows as `flops` do (without them: the larger growing one):
    the rate is the arithmetic over that term alone, half_length the T where all else takes as long
    again. Both are None when no term grows so, the rate also without `flops`. An extrapolation:
    where half_length lies beyond the largest length, the rate was never approached.
    """
    terms = curve.terms[0]
    first, last = int(lengths[0]), int(lengths[-1])
    growth = (
        None if flops is None else float(np.log(flops[last] / flops[first]) / np.log(last / first))
    )
    place, power = _leading(curve, terms, growth)
    fits = growth is None or abs(power - growth) <= POWER_TOLERANCE
    if not fits or terms[place] <= 0 or terms[place + 1 :].sum() > SHARE_IGNORED * terms.sum():
        return None, None
    rate = None if flops is None else float(flops[last] / terms[place])
    return rate, last * _half(terms[: place + 1], power)


def _leading(curve: Curves, terms: Array, growth: float | None) -> tuple[int, float]:
    """Return the index of the leading term and its power of T."""
    if curve.model == "power":
        return 1, float(curve.exponent[0])
    quadratic = terms[2] > terms[1] if growth is None else growth > 1.5
    return (2, 2.0) if quadratic else (1, 1.0)


def _half(terms: Array, power: float) -> float:
    """Return x where the last term times x^power equals all the terms before it."""
    if terms.size < 3:
        return float((terms[0] / terms[1]) ** (1 / power))
    return float(max(np.roots(terms[::-1] * [1, -1, -1]).real))
