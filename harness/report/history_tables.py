"""History tables: what was found in a run, its cells, eras, and one cell over its runs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.text import Text

from harness.analysis.tracking.changes import all_steps
from harness.analysis.tracking.events import Finding
from harness.analysis.tracking.track import series_of
from harness.report.words import units
from harness.report.words.listing import change, counted, frame_of, text_table

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.tracking.changes import Era
    from harness.analysis.tracking.track import History

KNOWN = "what is known"
RUNS_SHOWN = 30
BARS = "▁▂▃▄▅▆▇█"


def finding_frame(history: History) -> pd.DataFrame:
    """Make the table of findings, worst first."""
    return frame_of(
        history.judgement.findings,
        {
            "finding": lambda one: one.word,
            "cell": lambda one: one.cell,
            "change": lambda one: change(one.change),
            "beyond": lambda one: units.percent(one.threshold),
            "before": lambda one: _amount(one, one.before),
            "now": lambda one: _amount(one, one.now),
            KNOWN: known,
        },
    )


def known(finding: Finding) -> str:
    """Say what else is known: a second look, since when, an interval, why."""
    parts = [finding.state] if finding.state else []
    if finding.again is not None:
        parts.append(f"again {units.seconds(finding.again)}")
    if finding.low is not None and finding.high is not None:
        parts.append(f"{change(finding.low)} to {change(finding.high)}")
    parts += [f"since {finding.since}"] if finding.since else []
    parts += [finding.reason] if finding.reason else []
    return ", ".join(parts) or units.ABSENT


def untracked_frame(history: History) -> pd.DataFrame:
    """Make the table of cells that are too noisy to follow."""
    rows = history.judgement.named("untracked").sort_values(["floor", "cell"], ascending=False)
    return cell_frame(rows.to_dict("records"))


def all_cells_frame(history: History) -> pd.DataFrame:
    """Make the table of every cell with its noise floor."""
    return cell_frame(history.judgement.cells.to_dict("records"))


def cell_frame(rows: list[dict[Any, Any]]) -> pd.DataFrame:
    """Make a table of cells: what is followed, its level, and the smallest change to be found."""
    return frame_of(
        rows,
        {
            "cell": lambda row: str(row["cell"]),
            "state": lambda row: str(row["status"]),
            "follows the": lambda row: str(row["followed"]),
            "runs": lambda row: str(row["runs"]),
            "level": lambda row: units.seconds(row["level_s"]),
            "now": lambda row: units.seconds(row["now_s"]),
            "floor": lambda row: units.percent(row["floor"]),
        },
    )


def era_frame(eras: tuple[Era, ...]) -> pd.DataFrame:
    """Make the table of eras, oldest first."""
    return frame_of(
        eras,
        {
            "machine": lambda era: era.fingerprint,
            "runs": lambda era: str(era.runs),
            "from": lambda era: era.started[:10] or era.first,
            "to": lambda era: era.ended[:10] or era.last,
            "began with": lambda era: era.reason if era is not eras[0] else units.ABSENT,
        },
    )


def _amount(finding: Finding, value: float | None) -> str:
    memory = finding.word in ("bigger", "smaller")
    return units.size(value) if memory else units.seconds(value)


def rows_of(history: History, cell: str) -> list[dict[str, Any]]:
    """Return a row per run that has the cell, oldest first: time (s), peak (B), level moved."""
    seconds, peaks = series_of(history, cell)
    known = np.flatnonzero(np.isfinite(seconds))
    steps = [0, *all_steps(np.log(seconds[known])), len(known)]
    parts = [known[first:last] for first, last in pairwise(steps)]
    levels = [float(np.median(seconds[part])) for part in parts if part.size]
    rows = []
    for order, place in enumerate(known):
        part = sum(step <= order for step in steps[1:-1])
        run = history.archive.runs[place]
        rows.append({
            "run": run.name, "started": run.started, "seconds": float(seconds[place]),
            "peak_bytes": units.number(peaks[place]), "level_s": levels[part],
            "moved": levels[part] / levels[part - 1] - 1 if order in steps[1:-1] else None,
        })  # fmt: skip
    return rows


def listing(history: History, cell: str) -> Group:
    """Show one cell: its noise floor, its times as bars, and the last 30 runs."""
    rows = rows_of(history, cell)
    head = [Text(cell, style="bold"), *map(Text, facts_of(history, cell))]
    if not rows:
        return Group(*head, Text("no run measured it"))
    bars = sparkline([row["seconds"] for row in rows][-3 * RUNS_SHOWN :])
    return Group(*head, Text(bars), Text(""), text_table(runs_frame(rows[-RUNS_SHOWN:])))


def facts_of(history: History, cell: str) -> list[str]:
    """Return what is known of a cell: how it is followed, its floor, and tonight's findings."""
    table = history.judgement.cells
    known = next(row for row in table.to_dict("records") if row["cell"] == cell)
    floor, level = units.percent(known["floor"]), units.seconds(known["level_s"])
    found = [one for one in history.judgement.findings if one.cell == cell]
    return [
        f"{known['status']}, held against {counted(known['runs'], 'run')}",
        f"follows the {known['followed']}: level {level}, smallest change to be found {floor}",
        *(f"{one.word} {change(one.change)} {one.state} {one.reason or ''}" for one in found),
    ]


def runs_frame(rows: list[dict[str, Any]]) -> Any:
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
