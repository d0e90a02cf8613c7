"""Outcomes: how cells ended, how well they agree, and what backends do when asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from harness.cases.shape import DTYPE_CODES
from harness.records.record import (
    CONFORMS,
    CRASHES,
    DEVIATES,
    GONE,
    KNOWN,
    NO_BACKEND,
    REFUSES,
    Status,
)
from harness.report.palette import ordered
from harness.report.tables.pivots import ENDINGS, NOTHING, figure
from harness.report.words import units
from harness.report.words.markup import plain

if TYPE_CHECKING:
    import pandas as pd

REASONS_SHOWN = 40
_NUMBER = re.compile(r"\d[\d,.]*")
STATES = ("new", "gone", "known")
MARKS = {CONFORMS: "c", DEVIATES: "D", REFUSES: "r", CRASHES: "X"}


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


def conformance_matrix(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per behaviour in the order asked, one column per backend, marks inside."""
    import pandas as pd

    marks = {
        (row.behaviour, row.backend): MARKS.get(str(row.verdict), units.ABSENT)
        for row in table.itertuples()
    }
    backends = [name for name in ordered(table["backend"]) if name != NO_BACKEND]
    backends += [NO_BACKEND] * (NO_BACKEND in set(table["backend"]))
    rows = [
        (name, *(marks.get((name, backend), units.ABSENT) for backend in backends))
        for name in dict.fromkeys(table["behaviour"])
    ]
    return pd.DataFrame(rows, columns=["behaviour", *backends])


def notable(matrix: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a matrix in which a backend does something else than conform."""
    quiet = (MARKS[CONFORMS], units.ABSENT)
    marks = matrix.drop(columns="behaviour")
    return matrix[~marks.isin(quiet).all(axis=1)]


def deviations_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return what deviates, crashes, or has been cured: new faults first.

    Backends that do the same for the same reason share a row.
    """
    import pandas as pd

    names: dict[tuple[str, ...], list[str]] = {}
    for row in table.itertuples():
        state = _state(row)
        if state is not None:
            reason = plain(row.reason).removeprefix(KNOWN).removeprefix(GONE)
            what = (str(row.behaviour), plain(row.expected), plain(row.observed))
            names.setdefault((state, *what, reason), []).append(str(row.backend))
    rows = [
        (state, behaviour, ", ".join(who), expected, observed, reason)
        for (state, behaviour, expected, observed, reason), who in names.items()
    ]
    rows.sort(key=lambda row: STATES.index(row[0]))
    columns = ["state", "behaviour", "backends", "expected", "observed", "reason"]
    return pd.DataFrame(rows, columns=columns)


def _state(row: Any) -> str | None:
    """Say whether an answer is a new fault, a known one, one that is gone, or none."""
    reason = plain(row.reason)
    if row.verdict in (DEVIATES, CRASHES):
        return "known" if reason.startswith(KNOWN) else "new"
    return "gone" if reason.startswith(GONE) else None


def conformance_lines(table: pd.DataFrame) -> Iterator[str]:
    """Yield what a terminal says: counts in one line, then a line per new fault or cured one."""
    if not len(table):
        return
    counts = Counter(str(word) for word in table["verdict"])
    counts["known faults"] = sum(_state(row) == "known" for row in table.itertuples())
    words = {"conform": CONFORMS, "refused": REFUSES, "with a known fault": "known faults"}
    told = ", ".join(f"{counts[key]} {word}" for word, key in words.items())
    yield f"Behaviours: {len(table)} asked ({told})"
    for row in deviations_table(table).itertuples():
        if row.state == "new":
            yield f"New fault: {row.behaviour}: {row.backends}: {plain(row.observed)}"
        if row.state == "gone":
            yield f"A known fault is gone: {row.behaviour}: {row.backends}"


def refusals_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return what was refused: one row per backend and reason."""
    import pandas as pd

    groups: dict[tuple[str, str], list[str]] = {}
    for row in table[table["verdict"] == REFUSES].itertuples():
        groups.setdefault((str(row.backend), plain(row.reason)), []).append(str(row.behaviour))
    rows = [(name, ", ".join(which), reason) for (name, reason), which in groups.items()]
    return pd.DataFrame(rows, columns=["backend", "behaviours", "reason"])
