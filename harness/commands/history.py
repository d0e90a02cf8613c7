"""The command that holds the newest run against its own past."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.compare import Every, Markdown, words_of
from harness.commands.options import Json, Results, show
from harness.remote.mirror import folder_of

FAIL_ON = "slower,creeping,bigger,gone,broken"
Named = Annotated[str | None, typer.Option("--run", help="Judge this run (default: the newest)")]


def history(
    results: Results = None,
    run: Named = None,
    cell: Annotated[
        str | None, typer.Option("--cell", metavar="ID", help="Show one cell over its runs")
    ] = None,
    fail_on: Annotated[
        str, typer.Option(metavar="A,B", help="Words that exit with 1; also: unconfirmed")
    ] = FAIL_ON,
    *,
    every: Every = False,
    markdown: Markdown = False,
    as_json: Json = False,
) -> None:
    """Hold the newest run against the last 30 of its machine and grid.

    Exit 1 for what is slower and was confirmed by measuring again, for memory, and for what is
    gone or broken. Example: attnbench history --cell naive.fwd-t1024-h4-d64-f32-full
    """
    from harness.report import history_cell, history_page
    from harness.tracking import track

    wanted = words_of(fail_on, (*FAIL_ON.split(","), "unconfirmed"))
    tracked = track(folder_of(results), run)
    if cell is not None:
        rows, page = history_cell.rows_of(tracked, cell), history_cell.listing(tracked, cell)
        show({"cell": cell, "runs": rows}, page, as_json=as_json)
        return
    if markdown:
        typer.echo(history_page.markdown(tracked), nl=False)
    else:
        listed = history_page.listing(tracked, every=every)
        show(history_page.as_json(tracked), listed, as_json=as_json)
    if wanted & {finding.key for finding in tracked.judgement.findings}:
        raise typer.Exit(1)
