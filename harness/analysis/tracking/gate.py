"""Gate: whether a run is slower than its past: level, spread and threshold of each cell."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
NEIGHBOURS = 5  # runs whose median a single one is clipped to
CLIP = 3.0
LEAST_SPREAD = 0.003  # interval inside a process: no cell is known better than this
WINDOW = 30  # runs that a new one is held against
SETTLED = 15  # runs in a row on another level that make it the level
ENOUGH = 10  # runs below which nothing is gated: the spread itself is not known
FALSE_DISCOVERIES = 0.05
LEAST_CHANGE = math.log(1.03)  # smaller changes are not told from a machine's moods
SPREADS = 3.0
ABOVE_USUAL = 0.015
UNTRACKED = math.log(1.10)  # a gate that lets 10 % through watches nothing
# A cell whose medians would let 5 % through is followed by its fastest process if that is quieter.
COARSE = math.log(1.05)


def median_of(values: Array) -> Array:
    """Return the median of each column; a column of NaN alone is not allowed."""
    # The functions that skip NaN take 20 times as long; most histories have none.
    pick = np.nanmedian if np.isnan(values).any() else np.median
    return np.asarray(pick(values, axis=0))


def quantiles_of(values: Array, low: float, high: float) -> tuple[Array, Array]:
    """Return two quantiles of each column; a column of NaN alone is not allowed."""
    pick = np.nanquantile if np.isnan(values).any() else np.quantile
    pair = pick(values, [low, high], axis=0)
    return pair[0], pair[1]


def level_of(values: Array) -> Array:
    """Return the median of each column, NaN where it holds nothing."""
    none = np.isnan(values).all(axis=0)
    return np.where(none, np.nan, median_of(np.where(none, 0.0, values)))


def clipped(series: Array) -> Array:
    """Return the series with single outliers drawn in to 3 spreads around their neighbours.

    The median of five keeps a lasting step and takes out a bad night (Hampel's filter).
    """
    reach = NEIGHBOURS // 2
    padded = np.pad(series, ((reach, reach), (0, 0)), mode="edge")
    around = np.stack([padded[first : first + len(series)] for first in range(NEIGHBOURS)])
    middle = level_of(around)
    away = level_of(np.abs(series - middle))
    spread = np.maximum(1.4826 * np.nan_to_num(away), LEAST_SPREAD)
    return np.asarray(np.clip(series, middle - CLIP * spread, middle + CLIP * spread))


@dataclass(frozen=True)
class Gate:
    """Hold what the gate finds, one value per cell [cells]; times as logs, NaN where unknown.

    `shift` is now minus level, `threshold` the smallest shift that can be a finding, `odds` the
    one-sided probability of a shift as large where nothing has changed.
    """

    level: Array
    spread: Array
    runs: NDArray[np.int64]
    shift: Array
    threshold: Array
    odds: Array
    tracked: Flags
    candidate: Flags
    faster: Flags


def gate(past: Array, now: Array, *, floors: Array | None = None) -> Gate:
    """Judge a run against the last 30 of its kind: [runs, cells] logs and [cells] logs.

    A candidate passes a one-sided t test with false discoveries held to 5 % over all cells
    (Benjamini and Hochberg 1995) and exceeds its threshold: 3 %, 3 spreads, 1.5 % above what 9 of
    10 runs stayed below, and the noise floor where one was measured. Cells with fewer than 10
    runs, or with a threshold above 10 %, are not tracked.
    """
    past = settled(past)[-WINDOW:] if len(past) else np.full((1, now.size), np.nan)
    runs = np.isfinite(past).sum(axis=0)
    known = runs >= ENOUGH
    seen = np.where(known, past, 0.0)
    level, spread = median_of(seen), spread_of(seen, steady=clipped(seen))
    low, high = quantiles_of(seen, 0.1, 0.9)
    threshold = np.maximum(threshold_of(spread, floors), high + ABOVE_USUAL - level)
    tracked = known & np.isfinite(now) & (threshold <= UNTRACKED)
    shift = np.where(known, now - level, np.nan)
    odds = one_sided(shift, spread, runs)
    candidate = discoveries(odds, tracked) & (shift > threshold)
    faster = discoveries(1 - odds, tracked) & (shift < -threshold) & (now < low - ABOVE_USUAL)
    return Gate(level, spread, runs, shift, threshold, odds, tracked, candidate, faster)


def settled(past: Array) -> Array:
    """Return the history [runs, cells] without what does not count as such yet, or any longer.

    Runs in a row up to the last one that were all beyond the level of the 30 runs before the
    newest 15 are not yet history: a lasting step would soon hide itself. Once they are 15, they
    are the new level, and it is the older runs that are left out.
    """
    old, new = past[:-SETTLED], past[-SETTLED:]
    known = np.isfinite(old[-WINDOW:]).sum(axis=0) >= ENOUGH
    base = np.where(known, old[-WINDOW:], 0.0)
    if not known.any():
        return past
    reach = threshold_of(spread_of(base, steady=clipped(base)))
    shift, missing = new - median_of(base), np.isnan(new)
    away = (_streak(missing | (shift > reach)) | _streak(missing | (shift < -reach))) & known
    moved = away.all(axis=0) & ((~missing).sum(axis=0) >= ENOUGH)
    return np.vstack([np.where(moved, np.nan, old), np.where(away & ~moved, np.nan, new)])


def _streak(flags: Flags) -> Flags:
    """Return the flags that are set from there on to the last row."""
    return np.asarray(np.logical_and.accumulate(flags[::-1], axis=0)[::-1])


def spread_of(past: Array, *, steady: Array | None = None) -> Array:
    """Return the spread of each column of [runs, cells] logs, NaN left out.

    The largest of four: MAD and IQR ignore a bad night, half the standard deviation remembers
    that there were some (of `steady` instead, if given), and the least spread keeps a lucky
    history from promising too much.
    """
    mad = 1.4826 * median_of(np.abs(past - median_of(past)))
    low, high = quantiles_of(past, 0.25, 0.75)
    rest = past if steady is None else steady
    half = 0.5 * (np.nanstd(rest, axis=0) if np.isnan(rest).any() else rest.std(axis=0))
    return np.asarray(np.maximum.reduce([mad, (high - low) / 1.349, half, 0 * mad + LEAST_SPREAD]))


def threshold_of(spread: Array, floors: Array | None = None) -> Array:
    """Return the smallest log ratio that can be a finding: max(3 %, 3 spreads, floor)."""
    floor = np.zeros_like(spread) if floors is None else np.log1p(np.nan_to_num(floors))
    return np.maximum(np.maximum(LEAST_CHANGE, SPREADS * spread), floor)


def one_sided(shift: Array, spread: Array, runs: NDArray[np.int64]) -> Array:
    """Return the probability of a shift at least as large by chance; 1 where it is unknown."""
    steps = shift / (spread * np.sqrt(1 + 1 / np.maximum(runs, 1)))
    odds = special.stdtr(np.maximum(runs - 1, 1), -steps)
    return np.asarray(np.nan_to_num(odds, nan=1.0))


def discoveries(odds: Array, asked: Flags, *, share: float = FALSE_DISCOVERIES) -> Flags:
    """Return which of the cells asked stand out, at most this share of them by chance."""
    found = np.zeros(odds.shape, dtype=bool)
    if asked.any():
        found[asked] = stats.false_discovery_control(odds[asked]) <= share
    return found


def followed_series(medians: Array, replicas: Array) -> tuple[Array, Flags]:
    """Return the series to follow [run, cell] and which cells are followed by the fastest process.

    `medians` [run, cell] and `replicas` [run, process, cell] are log times; the last run is the
    one to judge and has no say in the choice. Where each process takes one of two modes, the
    median of three jumps between them; the fastest of three is in the quick mode nearly always,
    and moves as much when the code gets slower or the quick mode is lost.
    """
    if len(medians) < 2:
        return medians, np.zeros(medians.shape[1], dtype=bool)
    fastest = np.fmin.reduce(replicas, axis=1)
    past = slice(max(0, len(medians) - 1 - WINDOW), len(medians) - 1)
    both = np.isfinite(medians[past]) & np.isfinite(fastest[past])
    known = both.any(axis=0)
    usual, quick = (
        spread_of(np.where(both, series[past], np.where(known, np.nan, 0.0)))
        for series in (medians, fastest)
    )
    chosen = known & (SPREADS * usual > COARSE) & (quick < usual)
    return np.where(chosen, fastest, medians), chosen
