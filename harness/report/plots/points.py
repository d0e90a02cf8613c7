"""The rows of a panel as plain numbers to draw: one row per backend and x, nothing absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.record import Status

if TYPE_CHECKING:
    import pandas as pd

SOURCES = {
    "median": "time_median_s", "low": "time_low_s", "high": "time_high_s", "peak": "peak_bytes",
}  # fmt: skip
NAMED = ("mask", "dtype", "phase")


def points(frame: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Return backend, x and the figures of the rows that are ok and have a `y`.

    x is called `length` or `value`; absent bounds are NaN, which no line or bar is drawn from.
    """
    import pandas as pd

    rows = frame[frame["status"] == Status.OK]
    name = "length" if x == "length_query" else "value"
    data = {"backend": rows["backend"].astype(str), name: rows[x]}
    data |= {label: _floats(rows[column]) for label, column in SOURCES.items()}
    data["rate"] = _floats(rows["flops"]) / data["median"]
    made = pd.DataFrame(data)
    made = made[made[y].notna() & (made[y] > 0)].reset_index(drop=True)
    return made if x in NAMED else made.astype({name: "int64"})


def rate_bounds(data: pd.DataFrame) -> pd.DataFrame:
    """Turn the bounds of times into those of rates: the longest time is the lowest rate."""
    work = data["rate"] * data["median"]
    return data.assign(low=work / data["high"], high=work / data["low"])


def _floats(column: pd.Series[float]) -> pd.Series[float]:
    return column.astype("Float64").astype("float64")
