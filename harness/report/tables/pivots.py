"""Pivots: figures of cells with backends down and an axis across."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.cases.masks import MASK_CODES
from harness.cases.shape import DTYPE_CODES
from harness.records.record import Status
from harness.report.palette import ordered
from harness.report.panels import (
    FitIndex,
    Panel,
    choose_lengths,
    exponent_note,
    exponent_text,
    law_text,
    matrices_text,
)
from harness.report.words import units

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = {
    Status.OUT_OF_MEMORY: "out of memory",
    Status.TIMED_OUT: "timed out",
    Status.UNAVAILABLE: "unavailable",
    Status.UNSUPPORTED: "unsupported",
    Status.DISAGREES: "disagrees",
    Status.CRASHED: "crashed",
    Status.ERROR: "error",
}
SHORT_ENDINGS = ENDINGS | {
    Status.OUT_OF_MEMORY: "no memory",
    Status.UNAVAILABLE: units.ABSENT,
    Status.UNSUPPORTED: units.ABSENT,
}
# A backend that did nothing else has no row in a pivot.
NOTHING = (Status.UNAVAILABLE, Status.UNSUPPORTED)
Write = Callable[[Any], str]
NAMES = {
    "heads": "H", "batch": "B", "heads_kv": "H_kv", "dim_key": "D", "dim_value": "D_v",
}  # fmt: skip
ORDERS = {"mask": list(MASK_CODES), "dtype": list(DTYPE_CODES)}


def ending(status: Any, *, short: bool = False) -> str:
    """Name how a cell ended that has no figure."""
    try:
        return (SHORT_ENDINGS if short else ENDINGS).get(Status(status), units.ABSENT)
    except ValueError:
        return str(status)


def figure(row: Any, column: str, write: Write, *, short: bool = False) -> str:
    """Write one figure of a row that is ok, or how it ended; `-` for a row that does not exist."""
    if row is None:
        return units.ABSENT
    if row.status != Status.OK:
        return ending(row.status, short=short)
    return write(getattr(row, column))


def shown(frame: pd.DataFrame) -> list[str]:
    """Return the backends that have something to show, in their fixed order."""
    return ordered(frame[~frame["status"].isin(NOTHING)]["backend"])


def lengths_of(frame: pd.DataFrame) -> list[int]:
    """Return the lengths that some backend tried."""
    tried = frame[~frame["status"].isin(NOTHING)]
    return sorted({int(length) for length in tried["length_query"]})


def time_pivot(
    panel: Panel,
    frame: pd.DataFrame,
    *,
    fits: FitIndex,
    speed: pd.DataFrame,
    baseline: str,
    count: int = 7,
    short: bool = False,
) -> pd.DataFrame:
    """Return median times by backend and T, the exponent, and the speed-up over the baseline."""
    table = pivot(frame, "time_median_s", units.seconds, count=count, short=short)
    names = table["backend"].tolist()
    found = [fits.get((panel, name)) for name in names]
    write = exponent_note if short else exponent_text
    table["exponent"] = [write(fit) for fit in found]
    if len(speed):
        longest = max(lengths_of(frame))
        table[f"vs {baseline}"] = [
            _speed_text(speed, name, longest, short=short) for name in names
        ]
    return table


def memory_pivot(
    panel: Panel,
    frame: pd.DataFrame,
    *,
    fits: FitIndex,
    count: int = 7,
    short: bool = False,
) -> pd.DataFrame:
    """Return peak bytes by backend and T, the score matrices at the peak, and the law in bytes."""
    table = pivot(frame, "peak_bytes", units.size, count=count, short=short)
    found = [fits.get((panel, name)) for name in table["backend"]]
    table["score matrices"] = [matrices_text(fit, panel) for fit in found]
    table["law (bytes)"] = [law_text(fit) for fit in found]
    return table


def rate_pivot(frame: pd.DataFrame, *, count: int = 7) -> pd.DataFrame:
    """Return FLOP/s by backend and T, and the best share of the measured ceiling."""
    rates = frame.assign(rate=frame["flops"] / frame["time_median_s"])
    table = pivot(rates, "rate", units.rate, count=count)
    best = frame.groupby("backend")["rate_share"].max()
    table["best share of the ceiling"] = [
        units.percent(best.get(name)) for name in table["backend"]
    ]
    return table


def pivot(
    frame: pd.DataFrame, column: str, write: Write, *, count: int, short: bool = False
) -> pd.DataFrame:
    """Return one row per backend and one column per chosen length."""
    import pandas as pd

    rows = {(row.backend, row.length_query): row for row in frame.itertuples()}
    names = shown(frame)
    columns: dict[str, list[Any]] = {"backend": list(names)}
    for length in choose_lengths(lengths_of(frame), count):
        columns[f"T={length}"] = [
            figure(rows.get((name, length)), column, write, short=short) for name in names
        ]
    return pd.DataFrame(columns)


def _speed_text(speed: pd.DataFrame, name: str, longest: int, *, short: bool) -> str:
    """Write the ratio at the longest length that both reached, and which if not the last."""
    own = speed[speed["backend"] == name].sort_values("length")
    if not len(own):
        return units.ABSENT
    last = own.iloc[-1]
    values = (last["ratio"], last["low"], last["high"])
    text = units.ratio(last["ratio"]) if short else units.ratio_interval(*values)
    return text if last["length"] == longest else f"{text} at {last['length']}"


def values_of(frame: pd.DataFrame, axis: str) -> list[Any]:
    """Return the values of an axis: numbers by size, names in the order of the schema."""
    values = {value.item() if hasattr(value, "item") else value for value in frame[axis]}
    order = ORDERS.get(axis)
    return sorted(values) if order is None else [name for name in order if name in values]


def axis_pivot(
    frame: pd.DataFrame,
    axis: str,
    *,
    column: str = "time_median_s",
    write: Write = units.seconds,
    reference: str | None = None,
) -> pd.DataFrame:
    """Return one row per backend and a column per value, each with its ratio to the reference."""
    import pandas as pd

    rows = {(row.backend, getattr(row, axis)): row for row in frame.itertuples()}
    names = shown(frame)
    columns: dict[str, list[str]] = {"backend": list(names)}
    for value in values_of(frame, axis):
        title = f"{NAMES[axis]}={value}" if axis in NAMES else str(value)
        columns[title] = [
            _text(rows.get((name, value)), rows.get((name, reference)), column, write)
            for name in names
        ]
    return pd.DataFrame(columns)


def _text(row: Any, reference: Any, column: str, write: Write) -> str:
    text = figure(row, column, write)
    if row is None or reference is None or row is reference:
        return text
    if row.status != Status.OK or reference.status != Status.OK:
        return text
    own, other = units.number(getattr(row, column)), units.number(getattr(reference, column))
    return f"{text} ({units.ratio(own / other)})" if own and other else text
