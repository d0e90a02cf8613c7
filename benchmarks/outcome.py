"""Outcome: what one tool said of one cell, as plain JSON values.

Samples are kept as counts, medians and order-statistic intervals: one tool takes 60,000 a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.analysis.fits.intervals import median_interval, replica_summary

# The engine's own leave (harness/measure/rounds.py, which loads torch).
MIN_SAMPLES = 5
MIN_SLOW_SAMPLES = 3
SLOW_CALL_S = 0.1
Interval = tuple[float, float]
Outcome = dict[str, Any]


def outcome(
    cell: str,
    processes: Sequence[Sequence[float]],
    *,
    estimate_s: float,
    stated_s: Interval | None,
    measure_s: float,
) -> Outcome:
    """Make the outcome of one cell; `processes` are samples [process][sample] in seconds per call.

    `estimate_s` and `stated_s` are what the tool itself tells its user, `measure_s` how long it
    took over this cell, its own warm-up and calibration included, start-up not.
    """
    pooled = np.concatenate([np.asarray(one, dtype=np.float64) for one in processes])
    return {
        "cell": cell,
        "estimate_s": float(estimate_s),
        "stated_s": None if stated_s is None else [float(end) for end in stated_s],
        "measure_s": float(measure_s),
        "pooled": summary(pooled),
        "processes": [summary(one) for one in processes],
    }


def summary(samples: Sequence[float] | np.ndarray[Any, Any]) -> dict[str, float]:
    """Return the count, the median and its order-statistic 95 % interval, in seconds."""
    low, high = median_interval(samples)
    return {
        "count": len(samples),
        "median_s": float(np.median(samples)),
        "low_s": low,
        "high_s": high,
    }


def quartiles(samples: Sequence[float]) -> Interval:
    """Return the quartiles, which several tools print as their spread."""
    low, high = np.quantile(samples, [0.25, 0.75])
    return float(low), float(high)


def width_of(summed: dict[str, float]) -> float:
    """Return half the width of a summary's interval, relative to its median."""
    return (summed["high_s"] - summed["low_s"]) / 2 / summed["median_s"]


def reaches(summed: dict[str, float], target: float) -> bool:
    """Whether these samples hold their median to the target, by the engine's own rule.

    That takes 5 samples, or 3 of calls that last over 0.1 s: the same leave for every tool.
    """
    least = MIN_SLOW_SAMPLES if summed["median_s"] > SLOW_CALL_S else MIN_SAMPLES
    return bool(summed["count"] >= least and width_of(summed) < target)


def merged(replicas: Sequence[Outcome]) -> Outcome:
    """Join the outcomes of one cell in several processes as the project joins its replicas.

    The stated interval covers the spread between processes; the pooled one, which knows of no
    processes, is left out: samples of each are not kept.
    """
    parts = [part for one in replicas for part in one["processes"]]
    ends = [(part["low_s"], part["high_s"]) for part in parts]
    middle, low, high = replica_summary([part["median_s"] for part in parts], ends)
    return {
        "cell": replicas[0]["cell"],
        "estimate_s": middle,
        "stated_s": [low, high],
        "measure_s": sum(one["measure_s"] for one in replicas),
        "pooled": None,
        "processes": parts,
    }
