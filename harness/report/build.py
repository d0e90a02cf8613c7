"""Build: from a run's folder to its report, its verdicts and the summary on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from rich.console import Console

from harness.store import load_run

WIDTH = 100


def report_and_summarise(folder: Path, reports: Path, file: IO[str]) -> None:
    """Read the run, write reports/<run>/ and verdicts.json, and print the summary."""
    from harness.analysis.claims import judge
    from harness.analysis.series import fit_all
    from harness.report.markdown import build_report
    from harness.report.terminal import summary

    run = load_run(folder)
    path = build_report(run, reports)
    console = Console(file=file, width=WIDTH, highlight=False)
    summary(run, judge(run.table, run.facts), fit_all(run.table), path, console)
