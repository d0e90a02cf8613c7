"""Truth: from the raw rows, how often each tool's intervals hold the long references; pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.costs import Data, outcomes, rows_of
from benchmarks.outcome import Outcome, merged
from harness.analysis.fits.intervals import median_interval

OURS = ("engine", "session")
JOINED = 3
# What may be asked of a call: how long after itself, and how long after others.
KINDS = ("hot", "turns")
# The long run of each kind and clock. Triton's flushes the cache, whoever had it before.
LONG = {
    ("hot", "host"): "reference",
    ("turns", "host"): "turns",
    ("hot", "device"): "device-reference",
}
Reference = dict[str, tuple[float, float, float]]


def references(data: Data, kind: str, clock: str = "host") -> Reference:
    """Map each cell to (median of the process medians, low, high) of a long run.

    The interval is the order-statistic one over processes: below 6 it is their whole range.
    Empty where there was no such run.
    """
    return {
        cell: (float(np.median(seen)), *median_interval(seen))
        for cell, seen in process_medians(data, kind, clock).items()
    }


def process_medians(data: Data, kind: str, clock: str = "host") -> dict[str, list[float]]:
    """Map each cell to the seconds of a call in each process of a long run, in their order."""
    seen: dict[str, list[float]] = {}
    for one in outcomes(rows_of(data, LONG.get((kind, clock), ""), "reference")):
        seen.setdefault(one["cell"], []).append(one["pooled"]["median_s"])
    return seen


def reference_spread(data: Data, kind: str) -> tuple[int, float]:
    """Return (processes, the reference's own relative half-width, median over the cells)."""
    known = references(data, kind)
    widths = [(high - low) / 2 / middle for middle, low, high in known.values()]
    processes = len(rows_of(data, LONG[kind, "host"], "reference"))
    return processes, float(np.median(widths)) if widths else float("nan")


def truths(data: Data) -> pd.DataFrame:
    """Return a row per tool: how often its intervals hold each reference, how wide they are.

    Columns start with the kind, as `hot_stated_held`; `own` is the kind to judge the tool by.
    `stated` is the tool's own interval, `median` the order-statistic one of all its samples,
    `joined` what three of its runs give by the engine's rule; `bias` is the median of
    estimate / reference - 1, `error` that of its size, and `error_90` its 90 % quantile.
    """
    return pd.DataFrame(
        {tool: truth(data, tool) for tool in data["tools"] if rows_of(data, tool, "repeat")}
    ).T


def truth(data: Data, tool: str) -> dict[str, Any]:
    """Return one row of `truths`."""
    columns = {
        f"{kind}_{name}": value
        for kind in KINDS
        for name, value in against(data, tool, kind=kind).items()
    }
    # All tools time a call after itself; in turns shows what a call among others would take.
    return {"own": "hot", **columns}


def against(data: Data, tool: str, *, kind: str) -> dict[str, float]:
    """Hold a tool against one reference."""
    known = references(data, kind, data["tools"][tool]["clock"])
    found = [one for one in outcomes(rows_of(data, tool, "repeat")) if one["cell"] in known]
    joined = [] if tool in OURS else threes(found)
    return {
        **coverage("stated", [(one["cell"], one["stated_s"]) for one in found], known),
        **coverage("median", [(one["cell"], ends(one["pooled"])) for one in found], known),
        **coverage("joined", [(one["cell"], one["stated_s"]) for one in joined], known),
        **errors([one["estimate_s"] / known[one["cell"]][0] - 1 for one in found]),
    }


def errors(apart: list[float]) -> dict[str, float]:
    """Sum up the relative distances of estimates from the reference; NaN where there are none."""
    if not apart:
        return dict.fromkeys(("bias", "error", "error_90"), float("nan"))
    middle, most = np.quantile(np.abs(apart), [0.5, 0.9])
    return {"bias": float(np.median(apart)), "error": float(middle), "error_90": float(most)}


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
