"""Commands that judge runs: two cell by cell, or the newest against its own past."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import Json, Results, show
from harness.records.remote.download import folder_of

if TYPE_CHECKING:
    from harness.analysis.tracking.compare import Comparison

FAIL_ON = "slower,bigger,gone,broken"
HISTORY_FAIL_ON = "slower,creeping,bigger,gone,broken"
Every = Annotated[bool, typer.Option("--all", help="Every cell, not only those that changed")]
JudgedRun = Annotated[
    str | None, typer.Option("--run", help="Judge this run (default: the newest)")
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown, as for a comment")]


def compare(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Name or folder of the older run")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Name or folder of the newer run")],
    results: Results = None,
    fail_on: Annotated[str, typer.Option(metavar="A,B", help="Words that exit with 1")] = FAIL_ON,
    *,
    any_device: Annotated[
        bool, typer.Option("--any-device", help="Also runs of two machines; never fails")
    ] = False,
    every: Every = False,
    markdown: Markdown = False,
    as_json: Json = False,
) -> None:
    """Compare two runs: per cell the ratio of times with its interval, memory and outcome.

    One word per cell: faster slower same unclear new gone fixed broken bigger smaller.
    Exit 1 if a cell is one of --fail-on. Example: attnbench compare main-run branch-run
    """
    from harness.analysis.tracking.compare import WORDS
    from harness.report import compare_page as page

    wanted = words_of(fail_on, WORDS)
    comparison = compared(folder_of(results, old, new), old, new, any_device=any_device)
    if markdown:
        typer.echo(page.markdown(comparison, every=every), nl=False)
    else:
        listed = page.listing(comparison, every=every)
        show(page.as_json(comparison), listed, as_json=as_json)
    if comparison.same_machine and wanted & set(comparison.counts()):
        raise typer.Exit(1)


def compared(results: Path, old: str, new: str, *, any_device: bool) -> Comparison:
    """Load and compare two runs; ValueError if they are of two machines, unless that is meant."""
    from harness.analysis.tracking.compare import compare as judge
    from harness.analysis.tracking.noise import noise_floors
    from harness.records.store import find_run, load_run

    runs = [load_run(find_run(results, name)) for name in (old, new)]
    prints = [str(run.facts.get("fingerprint") or "unknown") for run in runs]
    comparison = judge(*runs, floors=noise_floors(results, prints[0]))
    if not comparison.same_machine and not any_device:
        raise ValueError(
            f"{old} and {new} are of two machines ({prints[0]}, {prints[1]}): their times are "
            "not compared; --any-device lists what differs, but calls nothing a regression"
        )
    return comparison


def words_of(text: str, valid: tuple[str, ...]) -> set[str]:
    """Return the words of a list like `A,B`; ValueError for one that no cell can get."""
    words = {word.strip() for word in text.split(",") if word.strip()}
    for word in sorted(words - set(valid)):
        raise ValueError(f"unknown word {word!r} in --fail-on; valid: {', '.join(valid)}")
    return words


def history(
    results: Results = None,
    run: JudgedRun = None,
    cell: Annotated[
        str | None, typer.Option("--cell", metavar="ID", help="Show one cell over its runs")
    ] = None,
    fail_on: Annotated[
        str, typer.Option(metavar="A,B", help="Words that exit with 1; also: unconfirmed")
    ] = HISTORY_FAIL_ON,
    *,
    every: Every = False,
    markdown: Markdown = False,
    as_json: Json = False,
) -> None:
    """Hold the newest run against the last 30 of its machine and grid.

    Exit 1 for what is slower and was confirmed by measuring again, for memory, and for what is
    gone or broken. Example: attnbench history --cell naive.fwd-t1024-h4-d64-f32-full
    """
    from harness.analysis.tracking.track import track
    from harness.report import history_page, history_tables

    wanted = words_of(fail_on, (*HISTORY_FAIL_ON.split(","), "unconfirmed"))
    tracked = track(folder_of(results), run)
    if cell is not None:
        rows, page = history_tables.rows_of(tracked, cell), history_tables.listing(tracked, cell)
        show({"cell": cell, "runs": rows}, page, as_json=as_json)
        return
    if markdown:
        typer.echo(history_page.markdown(tracked), nl=False)
    else:
        listed = history_page.listing(tracked, every=every)
        show(history_page.as_json(tracked), listed, as_json=as_json)
    if wanted & {finding.key for finding in tracked.judgement.findings}:
        raise typer.Exit(1)
