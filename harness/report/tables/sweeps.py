"""Pivots by backend and one other axis: heads, batch, mask, dtype, dims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.case import DTYPE_CODES, MASK_CODES
from harness.record import Status
from harness.report import units
from harness.report.tables.cells import Write, figure
from harness.report.tables.pivots import shown

if TYPE_CHECKING:
    import pandas as pd

NAMES = {
    "heads": "H", "batch": "B", "heads_kv": "H_kv", "dim_key": "D", "dim_value": "D_v",
}  # fmt: skip
ORDERS = {"mask": list(MASK_CODES), "dtype": list(DTYPE_CODES)}


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
