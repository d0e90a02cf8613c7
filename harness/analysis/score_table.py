"""Score table: bytes of the score matrix as predicted, beside the measured peak (C3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.analysis.cells import is_ok, is_square, read_records
from harness.case import ITEM_SIZES
from harness.record import Record

if TYPE_CHECKING:
    import pandas as pd

# The lengths that the article works out by hand, at 2 bytes, for one head and for eight.
ARTICLE_LENGTHS, ARTICLE_HEADS, ARTICLE_ITEMSIZE = (1000, 8000, 32000), (1, 8), 2
STORING = "naive"
COLUMN_TYPES = {
    "length": "Int64", "heads": "Int64", "itemsize": "Int64", "predicted_bytes": "Int64",
    "measured_bytes": "Int64", "matrices": "Float64", "batch": "Int64",
    "device": "str", "dtype": "str", "mask": "str", "phase": "str",
}  # fmt: skip


def predicted_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Return the bytes of one score matrix beside the measured peak of the naive backend.

    One row for each of the article's lengths, measured or not, and one for each measured cell;
    `matrices` is measured over predicted, absent where nothing was measured. Sorted by length.
    """
    import pandas as pd

    rows = [measured_row(record) for record in read_records(table) if stores(record)]
    seen = {(row["length"], row["heads"], row["itemsize"], row["batch"]) for row in rows}
    for length in ARTICLE_LENGTHS:
        for heads in ARTICLE_HEADS:
            if (length, heads, ARTICLE_ITEMSIZE, 1) not in seen:
                rows.append(score_row(length, heads, itemsize=ARTICLE_ITEMSIZE, batch=1))
    rows.sort(key=lambda row: (row["length"], row["heads"], row["itemsize"], row["batch"]))
    columns = {
        name: pd.Series([row.get(name) for row in rows], dtype=kind)
        for name, kind in COLUMN_TYPES.items()
    }
    return pd.DataFrame(columns)


def stores(record: Record) -> bool:
    """Whether a cell's peak shows the score matrix: a measured forward of the naive backend."""
    measured = is_ok(record) and record.peak_bytes is not None
    forward = record.phase == "forward"
    return measured and forward and record.backend == STORING and is_square(record)


def score_row(length: int, heads: int, *, itemsize: int, batch: int) -> dict[str, Any]:
    """Make the row of a prediction: batch x heads x length² x itemsize bytes."""
    predicted = batch * heads * length**2 * itemsize
    sizes = {"length": length, "heads": heads, "itemsize": itemsize, "batch": batch}
    return sizes | {"predicted_bytes": predicted}


def measured_row(record: Record) -> dict[str, Any]:
    """Make the row of a measured cell."""
    size = ITEM_SIZES[record.dtype]
    row = score_row(record.length_query, record.heads, itemsize=size, batch=record.batch)
    assert record.peak_bytes is not None
    names = ("device", "dtype", "mask", "phase")
    found = {
        "measured_bytes": record.peak_bytes,
        "matrices": record.peak_bytes / row["predicted_bytes"],
    }
    return row | found | {name: getattr(record, name) for name in names}
