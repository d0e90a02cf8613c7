"""How sure the times are: width of intervals, spread between worker processes, flags."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from harness.record import Status
from harness.report import units
from harness.report.palette import ordered

if TYPE_CHECKING:
    import pandas as pd


def noise_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Return backend, cell, length, width, spread per timed cell, as shares of the median.

    `width` is half of the 95 % interval; `spread` is between the slowest and the fastest process.
    """
    import pandas as pd

    timed = table[(table["status"] == Status.OK) & table["time_median_s"].notna()]
    rows = [
        (row.backend, row.cell, row.length_query, _width(row), _spread(row.replica_medians_s))
        for row in timed.itertuples()
    ]
    frame = pd.DataFrame(rows, columns=["backend", "cell", "length", "width", "spread"])
    return frame.astype({"width": "float64", "spread": "float64"})


def noise_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return per backend: timed cells, typical and worst width and spread, flags."""
    import pandas as pd

    frame = noise_frame(table)
    flags = _flags_per_backend(table)
    rows = []
    for name in ordered(frame["backend"]):
        own = frame[frame["backend"] == name]
        figures = [
            own["width"].median(),
            own["width"].max(),
            own["spread"].median(),
            own["spread"].max(),
        ]
        rows.append(
            (name, units.count(len(own)), *map(units.percent, figures), units.count(flags[name]))
        )
    columns = [
        "backend", "timed cells", "half-width, median", "half-width, worst",
        "spread of processes, median", "spread of processes, worst", "flagged cells",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def flag_counts(table: pd.DataFrame) -> Counter[str]:
    """Return how many cells carry each flag."""
    return Counter(flag for flags in table["flags"].dropna() for flag in set(str(flags).split()))


def flag_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return each flag, the number of cells that carry it, and the advice that goes with it."""
    import pandas as pd

    from harness.record import FLAGS

    counts = flag_counts(table)
    rows = [(flag, units.count(counts[flag]), FLAGS.get(flag, "")) for flag in sorted(counts)]
    return pd.DataFrame(rows, columns=["flag", "cells", "advice"])


def _flags_per_backend(table: pd.DataFrame) -> Counter[str]:
    flagged = table[table["flags"].notna() & (table["flags"] != "")]
    return Counter(str(name) for name in flagged["backend"])


def _width(row: Any) -> float | None:
    low, high = units.number(row.time_low_s), units.number(row.time_high_s)
    middle = units.number(row.time_median_s)
    return None if low is None or high is None or not middle else (high - low) / 2 / middle


def _spread(medians: Any) -> float | None:
    """Return (slowest - fastest) / middle over processes; None with fewer than two."""
    if medians is None or not hasattr(medians, "__len__") or len(medians) < 2:
        return None
    ordered_medians = sorted(map(float, medians))
    middle = ordered_medians[len(medians) // 2]
    return (ordered_medians[-1] - ordered_medians[0]) / middle
