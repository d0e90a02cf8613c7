"""Tables: records, samples and findings as tables of pandas, and findings out of one again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from harness.cases.text import printable
from harness.records.record import COLUMNS, FINDING_COLUMNS, Finding, Record

if TYPE_CHECKING:
    import pandas as pd

PANDAS_TYPES = {
    "str": "str", "str | None": "str", "int": "Int64", "int | None": "Int64",
    "float": "Float64", "float | None": "Float64", "bool | None": "boolean",
    "tuple[float, ...] | None": "object",
}  # fmt: skip


def make_table(records: Iterable[Record]) -> pd.DataFrame:
    """Make the table of cells: one row per record, a column per field, nullable types."""
    import pandas as pd

    rows = [record.as_dict() for record in records]
    columns = {
        name: pd.Series([_readable(row[name]) for row in rows], dtype=PANDAS_TYPES[str(item.type)])
        for name, item in COLUMNS.items()
    }
    return pd.DataFrame(columns)


def _readable(value: Any) -> Any:
    """Return a text as it will be read back: a reason may hold what no table can."""
    return printable(value) if isinstance(value, str) else value


def make_samples(cells: Iterable[tuple[Record, list[list[float]]]]) -> pd.DataFrame:
    """Make the long table of raw samples: cell, replica, index, seconds."""
    import pandas as pd

    rows = [
        (record.cell, replica, index, seconds)
        for record, replicas in cells
        for replica, samples in enumerate(replicas)
        for index, seconds in enumerate(samples)
    ]
    return pd.DataFrame(rows, columns=["cell", "replica", "index", "seconds"])


def make_conformance(findings: Iterable[Finding]) -> pd.DataFrame:
    """Make the table of behaviours: one row per finding, all of text."""
    import pandas as pd

    rows = [finding.as_dict() for finding in findings]
    return pd.DataFrame(rows, columns=list(FINDING_COLUMNS), dtype="str")


def findings_of(table: pd.DataFrame) -> list[Finding]:
    """Turn the rows of a table of behaviours back into findings; a missing text is None."""
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return [Finding.from_dict({str(name): value for name, value in row.items()}) for row in rows]


def records_of(table: pd.DataFrame) -> list[Record]:
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
