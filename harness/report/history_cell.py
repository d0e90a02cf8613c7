"""One cell over its runs: times against its level, and where the level moved."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.text import Text

from harness.analysis.changepoints import all_steps
from harness.report import units
from harness.report.change_words import change, counted, frame_of, text_table
from harness.tracking import series_of

if TYPE_CHECKING:
    from harness.tracking import Tracked

SHOWN = 30
BARS = "▁▂▃▄▅▆▇█"


def rows_of(tracked: Tracked, cell: str) -> list[dict[str, Any]]:
    """Return a row per run that has the cell, oldest first: time (s), peak (B), level moved."""
    seconds, peaks = series_of(tracked, cell)
    known = np.flatnonzero(np.isfinite(seconds))
    steps = [0, *all_steps(np.log(seconds[known])), len(known)]
    parts = [known[first:last] for first, last in pairwise(steps)]
    levels = [float(np.median(seconds[part])) for part in parts if part.size]
    rows = []
    for order, place in enumerate(known):
        part = sum(step <= order for step in steps[1:-1])
        run = tracked.archive.runs[place]
        rows.append({
            "run": run.name, "started": run.started, "seconds": float(seconds[place]),
            "peak_bytes": units.number(peaks[place]), "level_s": levels[part],
            "moved": levels[part] / levels[part - 1] - 1 if order in steps[1:-1] else None,
        })  # fmt: skip
    return rows


def listing(tracked: Tracked, cell: str) -> Group:
    """Show one cell: its noise floor, its times as bars, and the last 30 runs."""
    rows = rows_of(tracked, cell)
    head = [Text(cell, style="bold"), *map(Text, facts_of(tracked, cell))]
    if not rows:
        return Group(*head, Text("no run measured it"))
    bars = sparkline([row["seconds"] for row in rows][-3 * SHOWN :])
    return Group(*head, Text(bars), Text(""), text_table(cell_frame(rows[-SHOWN:])))


def facts_of(tracked: Tracked, cell: str) -> list[str]:
    """Return what is known of a cell: how it is followed, its floor, and tonight's findings."""
    table = tracked.judgement.cells
    known = next(row for row in table.to_dict("records") if row["cell"] == cell)
    floor, level = units.percent(known["floor"]), units.seconds(known["level_s"])
    found = [one for one in tracked.judgement.findings if one.cell == cell]
    return [
        f"{known['status']}, held against {counted(known['runs'], 'run')}",
        f"follows the {known['followed']}: level {level}, smallest change to be found {floor}",
        *(f"{one.word} {change(one.change)} {one.state} {one.reason or ''}" for one in found),
    ]


def cell_frame(rows: list[dict[str, Any]]) -> Any:
    """Make the table of runs of one cell."""
    return frame_of(
        rows,
        {
            "run": lambda row: row["run"],
            "time": lambda row: units.seconds(row["seconds"]),
            "against its level": lambda row: change(row["seconds"] / row["level_s"] - 1),
            "peak": lambda row: units.size(row["peak_bytes"]),
            "level": lambda row: (
                f"level moved by {change(row['moved'])}" if row["moved"] else units.ABSENT
            ),
        },
    )


def sparkline(values: list[float]) -> str:
    """Draw values as bars from the least to the largest; all alike are low."""
    low, span = min(values), max(values) - min(values)
    return "".join(BARS[int((value - low) / span * 7.999) if span else 0] for value in values)
