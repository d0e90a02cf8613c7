"""Fit peak memory as a + bT + cT²: memory has no noise, so a law meets every point or is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from harness.analysis.fits.laws import check_lengths

Array = NDArray[np.float64]

LENGTHS_LEAST = 4
SHORT_LEAST = 3
RANGE_LEAST = 4.0
ERROR_ALLOWED = 0.01
# Fewest terms first: a term that the points do not need is not there.
TERM_SETS = [[list(chosen) for chosen in combinations(range(3), size)] for size in (1, 2, 3)]


@dataclass(frozen=True, kw_only=True)
class MemoryFit:
    """Hold the law a + bT + cT² of a peak in bytes, over `lengths`.

    `coefficients` are (a, b, c), a term that is not needed exactly 0. `exact` means every point is
    met to the byte (or the allowed rounding), else within 1 %; `worst_error` is relative.
    `lengths_dropped` are smaller ones that follow another law (a kernel's other tile size).
    `reason` is None, "few" or "misfit"; with a reason there is no law: `coefficients` are NaN,
    what follows from them is None.
    """

    lengths: tuple[int, ...]
    lengths_dropped: tuple[int, ...] = ()
    coefficients: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    exact: bool = False
    worst_error: float | None = None
    reason: str | None = None

    @property
    def degree(self) -> int | None:
        """Return the highest power of T in the law: 0, 1 or 2."""
        if self.reason is not None:
            return None
        return max((power for power in (1, 2) if self.coefficients[power] != 0), default=0)

    @property
    def exponent(self) -> float | None:
        """Return e*, d log(bytes - a) / d log T at the largest length; 0 where nothing grows."""
        if self.reason is not None:
            return None
        linear, quadratic = self._growing
        return (linear + 2 * quadratic) / (linear + quadratic) if linear + quadratic else 0.0

    @property
    def power(self) -> int | None:
        """Return the power of T of the larger growing term at the largest length, 0 for none."""
        if self.reason is not None:
            return None
        linear, quadratic = self._growing
        return 2 if quadratic > linear else 1 if linear else 0

    @property
    def shares(self) -> dict[str, float]:
        """Return the part of each term in the peak at the largest length; empty without a law."""
        if self.reason is not None:
            return {}
        bytes_each = (self.coefficients[0], *self._growing)
        names = ("constant", "linear", "quadratic")
        return {name: part / sum(bytes_each) for name, part in zip(names, bytes_each, strict=True)}

    def score_matrices(self, *, batch: int, heads: int, itemsize: int) -> float:
        """Return how many [batch, heads, T, T] matrices live at the peak: c / (B·H·itemsize).

        `itemsize` is bytes per element of the run's dtype; a fused softmax in another dtype, or a
        byte mask, shows as a fraction. NaN without a law.
        """
        return self.coefficients[2] / (batch * heads * itemsize)

    @property
    def _growing(self) -> tuple[float, float]:
        top = self.lengths[-1]
        return self.coefficients[1] * top, self.coefficients[2] * top**2


def fit_memory(
    lengths: Sequence[int], peak_bytes: Sequence[float | None], *, rounding: int = 0
) -> MemoryFit:
    """Find the law of fewest terms that meets every point, over the longest range with one.

    `peak_bytes[i]` is the peak above resident inputs at `lengths[i]`; None, NaN and 0 are missing.
    `rounding` is how many bytes the allocator may round a peak up by (512 for one tensor on CUDA).
    A law exact to the byte over fewer lengths is preferred to one within 1 % over more: the
    smallest lengths often follow another tile, and a curve through both would show a T² term that
    is not there. ValueError for lengths that repeat, are not above 0, or do not match the peaks.
    """
    check_lengths(lengths, peak_bytes)
    pairs = sorted(p for p in zip(lengths, peak_bytes, strict=True) if _usable(p[1]))
    every = tuple(length for length, _ in pairs)
    if not _enough(every):
        return MemoryFit(lengths=every, reason="few")
    peaks = np.array([peak for _, peak in pairs], dtype=np.float64)
    # An exact law is solved to half a byte, within the precision of a double.
    byte = max(float(rounding), 0.5) + 1e-9 * peaks
    starts = [first for first in range(len(every)) if _enough(every[first:])]
    for exact, allowed in ((True, byte), (False, np.maximum(byte, ERROR_ALLOWED * peaks))):
        for first in starts:
            terms = _simplest(every[first:], peaks[first:], allowed[first:], exact=exact)
            if terms is not None:
                return _fit(terms, every, peaks, first=first, exact=exact)
    # Three points met to the byte by two terms are no accident: a tile that changes at 768 leaves
    # no more of a sweep over powers of two.
    last = every[-SHORT_LEAST:]
    if last[-1] >= RANGE_LEAST * last[0]:
        count = SHORT_LEAST
        terms = _simplest(last, peaks[-count:], byte[-count:], exact=True, most=count - 1)
        if terms is not None:
            return _fit(terms, every, peaks, first=len(every) - count, exact=True)
    return MemoryFit(lengths=every, reason="misfit")


def _usable(peak: float | None) -> bool:
    return peak is not None and bool(np.isfinite(peak)) and peak > 0


def _enough(lengths: tuple[int, ...]) -> bool:
    return len(lengths) >= LENGTHS_LEAST and lengths[-1] >= RANGE_LEAST * lengths[0]


def _columns(lengths: tuple[int, ...]) -> Array:
    return np.vander(np.array(lengths) / lengths[-1], 3, increasing=True)


def _simplest(
    lengths: tuple[int, ...], peaks: Array, allowed: Array, *, exact: bool, most: int = 3
) -> Array | None:
    """Return the fewest terms, `most` of them, that meet every point, in bytes at the last."""
    columns = _columns(lengths)
    for term_sets in TERM_SETS[:most]:
        tried = [_solve(columns, peaks, allowed, terms, exact=exact) for terms in term_sets]
        solved = [terms for terms in tried if terms is not None]
        worst = [float(np.max(np.abs(columns @ terms - peaks) / allowed)) for terms in solved]
        if worst and min(worst) <= 1:
            return solved[int(np.argmin(worst))]
    return None


def _solve(
    columns: Array, peaks: Array, allowed: Array, chosen: list[int], *, exact: bool
) -> Array | None:
    """Return the terms by least squares in the allowed error; None if one is negative.

    Only an exact law may hold a negative term, below the leading one: T (T - 1) / 2 is one.
    """
    scaled = columns[:, chosen] / allowed[:, None]
    solution = np.linalg.lstsq(scaled, peaks / allowed, rcond=None)[0]
    if solution[-1] <= 0 or not (exact or np.all(solution > 0)):
        return None
    terms = np.zeros(3)
    terms[chosen] = solution
    return terms


def _fit(
    terms: Array, every: tuple[int, ...], peaks: Array, *, first: int, exact: bool
) -> MemoryFit:
    lengths, fitted = every[first:], _columns(every[first:]) @ terms
    constant, linear, quadratic = (float(t) / lengths[-1] ** p for p, t in enumerate(terms))
    return MemoryFit(
        lengths=lengths,
        lengths_dropped=every[:first],
        coefficients=(constant, linear, quadratic),
        exact=exact,
        worst_error=float(np.max(np.abs(fitted / peaks[first:] - 1))),
    )
