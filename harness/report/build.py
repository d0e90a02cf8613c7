"""Build: from a run's folder to its report, its verdicts and the summary on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from rich.console import Console

from harness.store import load_run

WIDTH = 100


def report_and_summarise(folder: Path, reports: Path, file: IO[str]) -> None:
    """Read the run, write reports/<run>/ and verdicts.json, and print the summary."""
    from harness.report.markdown import write_report
    from harness.report.terminal import print_view
    from harness.report.view import make_view

    view = make_view(load_run(folder))
    path = write_report(view, reports)
    print_view(view, path, Console(file=file, width=WIDTH, highlight=False))
