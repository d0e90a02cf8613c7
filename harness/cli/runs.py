"""Commands that look at one run: its report, its verdicts, its cells."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import Json, Results, RunName, show
from harness.records.remote.download import run_folder


def report(
    run: RunName = None,
    results: Results = None,
    reports: Annotated[Path, typer.Option(help="Folder of reports")] = Path("reports"),
) -> None:
    """Build the report of a run again, also of one that was cut short.

    Example: attnbench report
    """
    from harness.report.markdown import report_and_summarise

    report_and_summarise(run_folder(results, run), reports, sys.stdout)


def claims(run: RunName = None, results: Results = None, *, as_json: Json = False) -> None:
    """Judge every claim on a run's tables; exit 1 if one is refuted.

    Example: attnbench claims --json
    """
    from harness.analysis.claims import judge
    from harness.records.store import load_run

    loaded = load_run(run_folder(results, run))
    verdicts = judge(loaded.table, loaded.facts, loaded.conformance, samples=loaded.samples)
    sentences = "\n".join(verdict.sentence for verdict in verdicts)
    show([verdict.as_dict() for verdict in verdicts], sentences, as_json=as_json)
    if any(verdict.verdict == "refuted" for verdict in verdicts):
        raise typer.Exit(1)


def show_run(run: RunName = None, results: Results = None, *, as_json: Json = False) -> None:
    """List the cells of a run with their status, time and memory.

    Example: attnbench show --json
    """
    from harness.records.store import load_run
    from harness.report.words.listing import cell_table

    loaded = load_run(run_folder(results, run))
    rows = json.loads(loaded.table.to_json(orient="records", double_precision=15))
    show(rows, cell_table(loaded), as_json=as_json)
