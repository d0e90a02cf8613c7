"""Line: time = a + b·d over a feature dim, by weighted least squares, and how sure b is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.analysis.fits.choice import LEVEL, RMS_GOOD
from harness.analysis.fits.laws import Array, Series, fit_power, read_series

VALUES_LEAST = 5
RANGE_LEAST = 8.0
RESAMPLES = 400
# A power law has one parameter more than a line: on six values AICc can never prefer it, so the
# line must misfit (above 5 %) and the power leave a third of that, and 5 %, at the most.
FAR_BETTER = 3.0
REPLICAS_LEAST = 3  # Student's t of two values leaves every order open

Interval = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class LineFit:
    """Hold what a sweep over d says: `values` fitted, `floor_s` a, `slope_s` b with its interval.

    `share` is b·d / (a + b·d) at the largest d with its interval, `rms` the relative residual.
    `curve` is the power k of a + b·d^k with its interval where that law is far better than the
    straight line over all values, else None. `reason` is "few" where nothing could be fitted.
    """

    values: tuple[int, ...]
    floor_s: float = math.nan
    slope_s: Interval = (math.nan,) * 3
    share: Interval = (math.nan,) * 3
    rms: float = math.nan
    curve: Interval | None = None
    reason: str | None = None


def fit_line(values: Sequence[int], medians: Sequence[Sequence[float]]) -> LineFit:
    """Fit time = a + b·d in relative weights; `medians[i]` are the replicas' at `values[i]` [s].

    While the residual is above 5 % the smallest value is dropped, as long as 5 values over 8x
    remain: small dims run another code path. The intervals hold two things: a parametric
    bootstrap with the lack of fit in it, and Student's t over the lines of single replicas.
    """
    series = read_series(values, medians)
    if not enough(series):
        return LineFit(values=tuple(map(int, series.lengths)), reason="few")
    curve = curve_of(series, solve(series))
    while residual(series, solve(series)) > RMS_GOOD and enough(series.from_index(1)):
        series = series.from_index(1)
    line = solve(series)
    drawn = resampled(series, line)
    rows = replica_lines(series, dict(zip(values, medians, strict=True)))
    return LineFit(
        values=tuple(map(int, series.lengths)),
        floor_s=line[0],
        slope_s=bounds(line[1], drawn[:, 1], [row[1] for row in rows]),
        share=bounds(
            share_of(line, series), shares(drawn, series), [share_of(row, series) for row in rows]
        ),
        rms=residual(series, line),
        curve=curve,
    )


def enough(series: Series) -> bool:
    """Tell whether a line may be read from this: at least 5 values over at least 8x."""
    dims = series.lengths
    return dims.size >= VALUES_LEAST and dims[-1] >= RANGE_LEAST * dims[0]


def solve(series: Series, seconds: Array | None = None) -> tuple[float, float]:
    """Return a and b of the weighted least squares."""
    first = lines(series, (series.seconds if seconds is None else seconds)[None])[0]
    return float(first[0]), float(first[1])


def lines(series: Series, seconds: Array) -> Array:
    """Return a and b [rows, 2] for rows of `seconds` [rows, dims], all in the same weights."""
    columns = np.vander(series.lengths, 2, increasing=True) * series.weights[:, None]
    return np.asarray(np.linalg.lstsq(columns, (seconds * series.weights).T, rcond=None)[0].T)


def fitted(series: Series, line: tuple[float, float]) -> Array:
    """Return the seconds of a line at each d."""
    return np.asarray(line[0] + line[1] * series.lengths)


def residual(series: Series, line: tuple[float, float]) -> float:
    """Return the rms residual relative to the measured times."""
    return float(np.sqrt(np.mean((fitted(series, line) / series.seconds - 1) ** 2)))


def share_of(line: tuple[float, float], series: Series) -> float:
    """Return the part of the line's time at the largest d that goes with d."""
    return line[1] * float(series.lengths[-1]) / float(fitted(series, line)[-1])


def shares(drawn: Array, series: Series) -> Array:
    """Return that part for each of many lines [rows, 2]."""
    grown = drawn[:, 1] * series.lengths[-1]
    return np.asarray(grown / (drawn[:, 0] + grown))


def resampled(series: Series, line: tuple[float, float]) -> Array:
    """Return the lines [resamples, 2] of a parametric bootstrap; lack of fit is a part of it."""
    excess = max(0.0, residual(series, line) ** 2 - float(np.mean(series.noise**2)))
    noise = np.sqrt(series.noise**2 + excess)
    drawn = np.random.default_rng(0).standard_normal((RESAMPLES, series.lengths.size))
    return lines(series, fitted(series, line) * (1 + noise * drawn))


def replica_lines(
    series: Series, medians: dict[int, Sequence[float]]
) -> list[tuple[float, float]]:
    """Return the line of each replica alone; none where a value lacks one."""
    kept = [medians[int(value)] for value in series.lengths]
    count = min(map(len, kept))
    return [solve(series, np.array([row[i] for row in kept])) for i in range(count)]


def bounds(value: float, drawn: Array, rows: Sequence[float]) -> Interval:
    """Return a value with the wider of its two intervals on each side."""
    low, high = (float(each) for each in np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    if len(rows) >= REPLICAS_LEAST:
        freedom = special.stdtrit(len(rows) - 1, (1 + LEVEL) / 2)
        reach = freedom * statistics.stdev(rows) / math.sqrt(len(rows))
        low, high = min(low, value - reach), max(high, value + reach)
    return value, min(low, value), max(high, value)


def curve_of(series: Series, line: tuple[float, float]) -> Interval | None:
    """Return the power of d that fits far better than a line that misfits, with its interval."""
    law = fit_power(series.lengths, series.seconds[None], series.weights)
    rms = float(np.sqrt(np.mean((law.values[0] / series.seconds - 1) ** 2)))
    straight = residual(series, line)
    if straight <= RMS_GOOD or rms > min(RMS_GOOD, straight / FAR_BETTER):
        return None
    noise = np.hypot(series.noise, rms)
    drawn = np.random.default_rng(1).standard_normal((RESAMPLES, series.lengths.size))
    seconds = law.values[0] * np.maximum(1 + noise * drawn, 0.01)
    powers = fit_power(series.lengths, seconds, series.weights).exponent
    return bounds(float(law.exponent[0]), powers, [])
