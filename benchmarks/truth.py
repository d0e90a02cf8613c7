"""Truth: from the raw rows, how often each tool's intervals hold the long reference; pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.costs import Data, outcomes, rows_of
from benchmarks.outcome import Outcome, merged
from harness.analysis.statistics import median_interval

OURS = ("engine", "session")
JOINED = 3
Reference = dict[str, tuple[float, float, float]]


def references(data: Data, clock: str) -> Reference:
    """Map each cell to (median of the process medians, low, high) of the long reference run.

    The interval is the order-statistic one over processes: below 6 it is their whole range.
    """
    name = "reference" if clock == "host" else "device-reference"
    seen: dict[str, list[float]] = {}
    for one in outcomes(rows_of(data, name, "reference")):
        seen.setdefault(one["cell"], []).append(one["pooled"]["median_s"])
    return {cell: (float(np.median(each)), *median_interval(each)) for cell, each in seen.items()}


def reference_spread(data: Data) -> tuple[int, float]:
    """Return (processes, the reference's own relative half-width, median over the cells)."""
    known = references(data, "host")
    widths = [(high - low) / 2 / middle for middle, low, high in known.values()]
    processes = len(rows_of(data, "reference", "reference"))
    return processes, float(np.median(widths)) if widths else float("nan")


def truths(data: Data) -> pd.DataFrame:
    """Return a row per tool: how often its intervals hold the reference, how wide they are.

    `stated` is the tool's own interval, `median` the order-statistic one of all its samples,
    `joined` what three of its runs give by the engine's rule; `error` is the distance of the
    estimate from the reference, relative to it, its median and its 90 % quantile.
    """
    return pd.DataFrame(
        {tool: truth(data, tool) for tool in data["tools"] if rows_of(data, tool, "repeat")}
    ).T


def truth(data: Data, tool: str) -> dict[str, float]:
    """Return one row of `truths`."""
    known = references(data, data["tools"][tool]["clock"])
    found = [one for one in outcomes(rows_of(data, tool, "repeat")) if one["cell"] in known]
    joined = [] if tool in OURS else threes(found)
    errors = [abs(one["estimate_s"] / known[one["cell"]][0] - 1) for one in found]
    middle, most = np.quantile(errors, [0.5, 0.9]) if errors else (np.nan, np.nan)
    return {
        **coverage("stated", [(one["cell"], one["stated_s"]) for one in found], known),
        **coverage("median", [(one["cell"], ends(one["pooled"])) for one in found], known),
        **coverage("joined", [(one["cell"], one["stated_s"]) for one in joined], known),
        "error": float(middle),
        "error_90": float(most),
    }


def ends(pooled: dict[str, float] | None) -> tuple[float, float] | None:
    """Return the interval of a summary, or None where there is none."""
    return None if pooled is None else (pooled["low_s"], pooled["high_s"])


def threes(found: list[Outcome]) -> list[Outcome]:
    """Join every three runs of a cell by the engine's rule; what is left over is left out."""
    by_cell: dict[str, list[Outcome]] = {}
    for one in found:
        by_cell.setdefault(one["cell"], []).append(one)
    return [
        merged(runs[first : first + JOINED])
        for runs in by_cell.values()
        for first in range(0, len(runs) - JOINED + 1, JOINED)
    ]


def coverage(name: str, intervals: list[tuple[str, Any]], known: Reference) -> dict[str, float]:
    """Count the intervals that hold the reference; widths are relative to it, half, the median."""
    made = [(known[cell][0], *interval) for cell, interval in intervals if interval is not None]
    widths = [(high - low) / 2 / right for right, low, high in made]
    return {
        f"{name}_held": sum(low <= right <= high for right, low, high in made),
        f"{name}_of": len(made),
        f"{name}_width": float(np.median(widths)) if widths else float("nan"),
    }
