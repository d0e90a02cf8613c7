"""The summary at the end of a run: the only place of the report that prints."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.cases.text import printable
from harness.report.claims_table import entries
from harness.report.summary import claim_lines, closing, contrary
from harness.report.tables.outcomes import cells_table
from harness.report.tables.pivots import memory_pivot, time_pivot
from harness.report.view import View
from harness.report.words.markup import plain

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.claims.evidence import Verdict

WIDTH = 100
# What one length takes, and what the name and the closing columns take of a line.
LENGTH_WIDTH, REST_WIDTH, LENGTHS_MOST = 11, 56, 5
COLOURS = {"supported": "green", "refuted": "red", "inconclusive": "yellow", "not_measured": "dim"}


def print_view(view: View, report_path: Path | None, console: Console) -> None:
    """Print times, memory, verdicts, counts and where the report is, on at most 100 columns."""
    with _width(console):
        if view.panels:
            _print_main_sweep(view, console)
        else:
            _print_table(console, "Cells", cells_table(view.table))
        _print_claims(console, view.verdicts)
        for line in closing(view, report_path):
            _print_line(console, Text(printable(line)))


def _print_main_sweep(view: View, console: Console) -> None:
    """Print time and peak memory of the richest sweep over T."""
    panel, frame = view.panels[0]
    count = max(1, min(LENGTHS_MOST, (console.width - REST_WIDTH) // LENGTH_WIDTH))
    times = time_pivot(
        panel, frame, fits=view.index, speed=view.speeds[panel], baseline=view.baseline,
        count=count, short=True,
    )  # fmt: skip
    _print_table(console, f"Time of one call: {panel.title()}", times)
    if frame["peak_bytes"].notna().any():
        peaks = memory_pivot(panel, frame, fits=view.index, count=count, short=True)
        _print_table(console, "Peak memory above the inputs", peaks)


@contextmanager
def _width(console: Console) -> Iterator[None]:
    """Print on 100 columns where there is no terminal, on no more where there is one."""
    before = console.width
    console.width = min(WIDTH, before) if console.is_terminal else WIDTH
    try:
        yield
    finally:
        console.width = before


def _print_table(console: Console, title: str, frame: pd.DataFrame) -> None:
    """Print a frame of texts: names to the left, numbers to the right, no markup in them."""
    if not len(frame):
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for place, name in enumerate(frame.columns):
        first = place == 0
        table.add_column(
            Text(plain(name)), justify="left" if first else "right",
            overflow="ellipsis" if first else "fold", no_wrap=first,
        )  # fmt: skip
    for row in frame.itertuples(index=False, name=None):
        table.add_row(*(Text(plain(value)) for value in row))
    _print_line(console, Text(plain(title), style="bold"))
    console.print(table)
    console.print()


def _print_claims(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Print one line per claim, then the series that speak against one or leave it open."""
    from harness.analysis.claims import CLAIMS

    rows = entries(CLAIMS, verdicts) if verdicts else []
    if rows:
        title = "Claims: verdict, series in support, and what was observed"
        _print_line(console, Text(title, style="bold"))
    for word, sentence in claim_lines(rows, width=console.width):
        _print_verdict(console, word, sentence)
    against = list(contrary(rows))
    if against:
        _print_line(console, Text("\nSeries that refute a claim or leave it open", style="bold"))
    for verdict, sentence in against:
        _print_verdict(console, verdict, sentence)
    if rows:
        console.print()


def _print_verdict(console: Console, verdict: str | None, sentence: str) -> None:
    """Print a line with its verdict in colour, wrapped at words if it is too long."""
    line = Text(printable(sentence))
    if len(sentence) > console.width:
        lines = textwrap.wrap(plain(sentence), console.width, subsequent_indent="    ")
        line = Text("\n".join(lines))
    if verdict is not None:
        line.highlight_words([verdict.replace("_", " ")], COLOURS.get(verdict, ""))
    _print_line(console, line)


def _print_line(console: Console, text: Text) -> None:
    """Print a line, wrapped at words if it is too long."""
    console.print(text, overflow="fold", highlight=False)
