"""How cells ended: agreement with the oracle, counts, what was not measured and why."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from harness.case import DTYPE_CODES
from harness.record import Status
from harness.report import units
from harness.report.markup import plain
from harness.report.palette import ordered
from harness.report.tables.cells import ENDINGS, NOTHING, figure

if TYPE_CHECKING:
    import pandas as pd

REASONS_SHOWN = 40
_NUMBER = re.compile(r"\d[\d,.]*")


def status_counts(table: pd.DataFrame) -> dict[str, int]:
    """Return how many cells ended in each status, in the order of the schema, without zeros."""
    counts = Counter(str(status) for status in table["status"])
    known = {str(status): counts.pop(status, 0) for status in Status}
    return {name: count for name, count in (known | counts).items() if count}


def cells_table(table: pd.DataFrame, count: int = 20) -> pd.DataFrame:
    """Return single cells with time and peak, the first ones: for a run without any sweep."""
    import pandas as pd

    tried = table[~table["status"].isin(NOTHING)]
    rows = [
        (
            row.backend, plain(row.cell).removeprefix(f"{row.backend}."),
            figure(row, "time_median_s", units.seconds), figure(row, "peak_bytes", units.size),
        )
        for row in tried.head(count).itertuples()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["backend", "cell", "time", "peak memory"])


def agreement_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the worst errors per backend and dtype, over all cells that were checked."""
    import pandas as pd

    checked = table[table["agrees"].notna()]
    rows = []
    for name in ordered(checked["backend"]):
        for dtype in DTYPE_CODES:
            group = checked[(checked["backend"] == name) & (checked["dtype"] == dtype)]
            if len(group):
                rows.append(_agreement_row(name, dtype, group))
    columns = [
        "backend",
        "dtype",
        "cells",
        "agree",
        "worst error",
        "worst error ratio",
        "worst cell",
    ]
    return pd.DataFrame(rows, columns=columns)


def _agreement_row(name: str, dtype: str, group: pd.DataFrame) -> tuple[str, ...]:
    errors = group["error_rel"].astype("Float64")
    worst = group["cell"].iloc[int(errors.argmax())] if errors.notna().any() else None
    case = plain(worst).removeprefix(f"{name}.")
    agree = int(group["agrees"].sum())
    ratio = units.number(group["error_ratio"].max())
    error = units.number(errors.max())
    return (
        name, dtype, units.count(len(group)), units.count(agree),
        units.ABSENT if error is None else f"{error:.1e}",
        units.ABSENT if ratio is None else units.significant(ratio, digits=2), case,
    )  # fmt: skip


def missing_table(table: pd.DataFrame, unavailable: dict[str, Any] | None = None) -> pd.DataFrame:
    """Return what was not measured, one row per backend, outcome and reason, with cell counts.

    Reasons that differ in their numbers alone (`needs 12 GB`) are one row, the first as example.
    Backends that the run's facts call unavailable are listed even if they have no cell.
    """
    import pandas as pd

    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in table[table["status"] != Status.OK].itertuples():
        reason = plain(row.reason)
        key = (str(row.backend), str(row.status), _NUMBER.sub("#", reason))
        groups.setdefault(key, []).append(reason)
    seen = {name for name, _, _ in groups}
    for name, reason in (unavailable or {}).items():
        if name not in seen:
            groups[name, Status.UNAVAILABLE.value, ""] = [plain(reason)]
    keys = sorted(groups, key=_missing_rank(ordered(name for name, _, _ in groups)))
    rows = [_missing_row(key, groups[key], table) for key in keys]
    return pd.DataFrame(rows, columns=["backend", "outcome", "cells", "reason"])


def _missing_rank(names: list[str]) -> Any:
    """Put failures first, then outcomes that are no failures, then by backend."""
    outcomes = [Status.DISAGREES, Status.CRASHED, Status.ERROR, Status.TIMED_OUT]
    return lambda key: (key[1] not in outcomes, key[1], names.index(key[0]), key[2])


def _missing_row(
    key: tuple[str, str, str], reasons: list[str], table: pd.DataFrame
) -> tuple[str, ...]:
    name, status, _ = key
    example = "e.g. " if len(set(reasons)) > 1 else ""
    cells = len(reasons) if name in set(table["backend"]) else 0
    outcome = ENDINGS.get(Status(status), status) if status in list(Status) else status
    return name, outcome, units.count(cells or None), example + reasons[0]
