"""Conformance: behaviours against backends, and what deviates, as frames of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from harness.conformance import CONFORMS, CRASHES, DEVIATES, GONE, KNOWN, NO_BACKEND, REFUSES
from harness.report import units
from harness.report.markup import plain
from harness.report.palette import ordered

if TYPE_CHECKING:
    import pandas as pd

STATES = ("new", "gone", "known")
MARKS = {CONFORMS: "c", DEVIATES: "D", REFUSES: "r", CRASHES: "X"}


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
