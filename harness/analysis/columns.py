"""Columns: medians, quantiles and clipping down the columns of [runs, cells], NaN left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
NEIGHBOURS = 5  # runs whose median a single one is clipped to
CLIP = 3.0
LEAST_SPREAD = 0.003  # interval inside a process: no cell is known better than this


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
