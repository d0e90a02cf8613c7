"""The run in a few sentences: what was measured, whether it agrees, who is fast, what it takes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from harness.record import Status
from harness.report import units
from harness.report.tables.outcomes import status_counts
from harness.report.view import View

if TYPE_CHECKING:
    import pandas as pd


def sentences(view: View) -> list[str]:
    """Return the summary as plain sentences; names from the run are not escaped yet."""
    parts = [measured(view), agreement(view.table)]
    if view.panels:
        parts += [fastest(view), thriftiest(view)]
    parts.append(claims(view))
    return [part for part in parts if part]


def measured(view: View) -> str:
    """Say how many cells were asked for and how they ended."""
    table = view.table
    if not len(table):
        return f"No cell came back on {view.device}."
    counts = status_counts(table)
    right = counts.pop(Status.OK, 0)
    rest = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    others = f"; the others: {rest}" if rest else ""
    backends = table["backend"].nunique()
    return (
        f"{len(table):,} cells on {backends} backends were tried on {view.device}: "
        f"{right:,} measured{others}."
    )


def agreement(table: pd.DataFrame) -> str:
    """Say how many of the checked cells agree with the oracle."""
    checked = table["agrees"].dropna()
    if not len(checked):
        return "No cell was checked against the oracle."
    agree = int(checked.sum())
    return (
        f"{len(checked):,} cells were checked against the float64 oracle: "
        f"{agree:,} agree, {len(checked) - agree:,} disagree."
    )


def fastest(view: View) -> str:
    """Name the fastest backend at the longest length of the main sweep, and its lead."""
    panel, frame = view.panels[0]
    rows = _longest(frame, "time_median_s")
    if rows is None:
        return ""
    best = min(rows, key=lambda row: (float(row.time_median_s), row.backend))
    text = (
        f"At T={best.length_query} ({panel.title()}) the fastest of the {len(rows)} backends "
        f"that got there is {best.backend} with {units.seconds(best.time_median_s)}"
    )
    return f"{text}{_lead(view, best)}."


def thriftiest(view: View) -> str:
    """Name the least peak memory at the longest length of the main sweep, and the baseline's."""
    frame = view.panels[0][1]
    rows = _longest(frame, "peak_bytes")
    if rows is None:
        return ""
    best = min(rows, key=lambda row: (int(row.peak_bytes), row.backend))
    names = ", ".join(row.backend for row in rows if row.peak_bytes == best.peak_bytes)
    text = f"The least peak memory there is {units.size(best.peak_bytes)} ({names})"
    base = frame[(frame["backend"] == view.baseline) & (best.backend != view.baseline)]
    same = base[base["length_query"] == best.length_query]
    if not len(same):
        return f"{text}."
    row = next(same.itertuples())
    if row.status == Status.OUT_OF_MEMORY:
        return f"{text}; {view.baseline} ran out of memory."
    return f"{text}; {view.baseline} takes {units.size(row.peak_bytes)}."


def claims(view: View) -> str:
    """Count the claims by their overall verdict."""
    from harness.analysis.claims import CLAIMS, overall

    counts = Counter(overall(view.verdicts, claim.id) for claim in CLAIMS)
    parts = [f"{count} {word.replace('_', ' ')}" for word, count in sorted(counts.items())]
    return f"Of {len(CLAIMS)} claims: {', '.join(parts)}."


def _longest(frame: pd.DataFrame, column: str) -> list[Any] | None:
    """Return the rows of the longest length at which anything was measured."""
    rows = frame[(frame["status"] == Status.OK) & frame[column].notna()]
    if not len(rows):
        return None
    return list(rows[rows["length_query"] == rows["length_query"].max()].itertuples())


def _lead(view: View, best: Any) -> str:
    """Say how many times as fast as the baseline, at the longest length that both reached."""
    speed = view.speeds[view.panels[0][0]]
    own = speed[speed["backend"] == best.backend].sort_values("length")
    if not len(own):
        return ""
    last = own.iloc[-1]
    times = units.ratio_interval(last["ratio"], last["low"], last["high"])
    where = "" if last["length"] == best.length_query else f" at T={last['length']}"
    return f", {times} as fast as {view.baseline}{where}"
