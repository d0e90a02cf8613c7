"""Cells: the rows of a table as records, and the key that all cells of one sweep share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

from harness.record import COLUMNS, Record, Status

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class SeriesKey:
    """Name all that stays fixed in a sweep over T."""

    backend: str
    device: str
    dtype: str
    mask: str
    phase: str
    batch: int
    heads: int
    heads_kv: int
    dim_key: int
    dim_value: int
    window: int | None
    work: str = "attention"

    @classmethod
    def of(cls, record: Record) -> Self:
        """Take the key of one cell."""
        return cls(**{item.name: getattr(record, item.name) for item in fields(cls)})

    def with_(self, **values: Any) -> Self:
        """Return a copy with some fields changed."""
        return replace(self, **values)

    def sort_key(self) -> tuple[str, ...]:
        """Order keys by their fields, numbers by size."""
        values = (getattr(self, item.name) for item in fields(self))
        return tuple(f"{value:09d}" if isinstance(value, int) else str(value) for value in values)


def read_records(table: pd.DataFrame) -> list[Record]:
    """Turn the rows of a table of cells back into records, absent values into the default."""
    import pandas as pd

    def plain(name: str, value: Any) -> Any:
        if name == "replica_medians_s":
            return tuple(value) if isinstance(value, Sequence) or hasattr(value, "shape") else None
        return COLUMNS[name].default if pd.isna(value) else value

    names = [name for name in table.columns if name in COLUMNS]
    rows = table[names].to_dict("records")
    return [
        Record.from_dict({str(name): plain(str(name), value) for name, value in row.items()})
        for row in rows
    ]


def is_ok(record: Record) -> bool:
    """Whether the cell agreed with the oracle, so that its figures count."""
    return record.status == Status.OK


def is_square(record: Record) -> bool:
    """Whether the cell is self-attention: as many queries as keys."""
    return record.length_query == record.length_key
