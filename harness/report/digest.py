"""Digest: the lines of text that close a run on the terminal; pure, nothing is printed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report.headline import agreement
from harness.report.markup import plain
from harness.report.tables.noise import flag_counts
from harness.report.tables.outcomes import status_counts
from harness.report.view import View

if TYPE_CHECKING:
    from harness.analysis.verdict import Verdict

ORDER = {"refuted": 0, "inconclusive": 1, "supported": 2, "not_measured": 3}
LINES = 6


def chosen_verdicts(verdicts: Sequence[Verdict]) -> Iterator[tuple[str | None, str]]:
    """Yield (verdict, line) of each claim: at most 6, what speaks against it first.

    How many more there are is a line of its own, with None for a verdict. What could not be
    measured is one line, and only where nothing of the claim could.
    """
    for claim in dict.fromkeys(verdict.claim for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.claim == claim]
        judged = [verdict for verdict in own if verdict.verdict != "not_measured"] or own[-1:]
        judged.sort(key=lambda verdict: (ORDER.get(verdict.verdict, 0), _masked(verdict)))
        for verdict in judged[:LINES]:
            yield verdict.verdict, verdict.sentence
        words = Counter(verdict.verdict.replace("_", " ") for verdict in judged[LINES:])
        if words:
            more = ", ".join(f"{count} {word}" for word, count in words.items())
            yield None, f"{claim}: {words.total()} more in the report ({more})"


def closing(view: View, report_path: Path | None) -> Iterator[str]:
    """Yield the last lines: outcomes, agreement, flags, a cut run, and where the report is."""
    counts = status_counts(view.table)
    outcomes = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items())
    yield f"Cells: {len(view.table)} ({outcomes})" if counts else "Cells: none"
    yield agreement(view.table)
    flags = flag_counts(view.table)
    if flags:
        words = ", ".join(f"{plain(name)} {count}" for name, count in sorted(flags.items()))
        yield f"Flags: {words}"
    if view.cut:
        yield "This run is not whole: it was cut short, or is still going on."
    if report_path is not None:
        yield f"Report: {report_path}"


def _masked(verdict: Verdict) -> bool:
    return verdict.series.get("mask") not in (None, "full")
