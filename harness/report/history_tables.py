"""Tables of a history: findings, cells with their noise floors, and eras; frames of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.analysis.finding import Finding
from harness.report import units
from harness.report.change_words import change, frame_of

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.eras import Era
    from harness.tracking import Tracked
KNOWN = "what is known"


def finding_frame(tracked: Tracked) -> pd.DataFrame:
    """Make the table of findings, worst first."""
    return frame_of(
        tracked.judgement.findings,
        {
            "finding": lambda one: one.word,
            "cell": lambda one: one.cell,
            "change": lambda one: change(one.change),
            "beyond": lambda one: units.percent(one.threshold),
            "before": lambda one: _figure(one, one.before),
            "now": lambda one: _figure(one, one.now),
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


def untracked_frame(tracked: Tracked) -> pd.DataFrame:
    """Make the table of cells that are too noisy to follow."""
    rows = tracked.judgement.named("untracked").sort_values(["floor", "cell"], ascending=False)
    return cell_frame(rows.to_dict("records"))


def all_cells_frame(tracked: Tracked) -> pd.DataFrame:
    """Make the table of every cell with its noise floor."""
    return cell_frame(tracked.judgement.cells.to_dict("records"))


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


def _figure(finding: Finding, value: float | None) -> str:
    memory = finding.word in ("bigger", "smaller")
    return units.size(value) if memory else units.seconds(value)
