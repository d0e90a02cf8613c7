"""Listing: tables and heads of pages for the terminal and in Markdown, changes, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from harness.cases.case import Case
from harness.cases.grid import Grid
from harness.cases.text import printable
from harness.records.store import Run
from harness.report.words import units
from harness.report.words.markup import escape, markdown_table, plain

if TYPE_CHECKING:
    import pandas as pd


def plain_table(*columns: str) -> Table:
    """Make a table without box lines; text is never cut, it wraps."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def texts(*lines: str) -> list[Text]:
    """Return texts that hold no markup and no control characters, whoever wrote them."""
    return [Text(printable(line)) for line in lines]


def backend_table(rows: list[dict[str, Any]]) -> Table:
    """Show which backends work, and why the others do not."""
    table = plain_table("backend", "device", "status")
    for row in rows:
        table.add_row(*texts(row["backend"], row["device"], row["reason"] or "works"))
    return table


def case_table(grid: Grid, cases: Iterable[tuple[str, Case]]) -> Group:
    """Show the cases of a grid by suite."""
    table = plain_table("suite", "case", "FLOP", "inputs", "scores")
    pairs = list(cases)
    for suite, case in pairs:
        sizes = (units.size(case.input_bytes()), units.size(case.score_bytes()))
        table.add_row(*texts(suite, case.id, f"{case.flops():.3g}", *sizes))
    counts = ", ".join(f"{suite} {n}" for suite, n in Counter(s for s, _ in pairs).items())
    distinct = len({case for _, case in pairs})
    return Group(
        *texts(f"{grid.name}: {grid.description}", f"{distinct} different cases ({counts})"),
        table,
    )


def check_table(checks: Iterable[Any]) -> Table:
    """Show what the doctor found, with advice."""
    table = plain_table("", "check", "observed", "advice")
    for check in checks:
        table.add_row(*texts(check.level, check.name, check.observed, check.advice or ""))
    return table


def cell_table(run: Run) -> Group:
    """Show one line per cell: status, time with interval, peak memory, or the reason."""
    table = plain_table("cell", "status", "time", "95 % interval or reason", "peak")
    for row in run.table.to_dict("records"):
        table.add_row(*texts(row["cell"], row["status"], *_measured(row)))
    return Group(*texts(f"{run.name}, {len(run.table)} cells"), table)


def _measured(row: dict[Any, Any]) -> tuple[str, str, str]:
    interval = f"{units.seconds(row['time_low_s'])} .. {units.seconds(row['time_high_s'])}"
    if units.number(row["time_median_s"]) is None:
        interval = str(row["reason"] or "-")
    return units.seconds(row["time_median_s"]), interval, units.size(row["peak_bytes"])


def change(share: float | None) -> str:
    """Write a change as a share of 1: `+5.2 %`, from a doubling on as a factor: `2.3×`."""
    if share is None:
        return units.ABSENT
    if share >= 1:
        return units.ratio(1 + share, digits=2)
    return f"{100 * share:+.1f} %"


def counted(count: int, noun: str) -> str:
    """Write a number with its noun: `1 cell`, `2 cells`."""
    return f"{count} {noun}" + "s" * (count != 1)


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Write how many of each word there are: `3 slower, 1 new`."""
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def page_head(sentence: str, notes: Iterable[str]) -> list[Text]:
    """Begin a page of the terminal: the sentence in bold, then its notes, a line each."""
    return [Text(sentence, style="bold"), *map(Text, notes)]


def markdown_head(sentence: str, notes: Iterable[str]) -> str:
    """Begin a page of Markdown in the same way."""
    lines = "\n".join(f"- {escape(note)}" for note in notes)
    return f"**{escape(sentence)}**\n\n{lines}"


def text_table(frame: pd.DataFrame, *, below: str | None = None) -> Table:
    """Make a table for the terminal; what is too long wraps, nothing is cut.

    The column `below` holds sentences: they go under the cell's name, where there is room.
    """
    shown = frame if below is None else frame.drop(columns=below)
    table = plain_table(*map(str, shown.columns))
    for place, row in enumerate(shown.to_dict("records")):
        texts = {name: Text(plain(value)) for name, value in row.items()}
        said = plain(frame[below].iat[place]) if below else units.ABSENT
        if said != units.ABSENT:
            texts["cell"] = Text(f"{texts['cell']}\n  {said}")
        table.add_row(*texts.values())
    return table


def fitted_table(frame: pd.DataFrame, room: int, *, rest: str) -> str:
    """Write as many rows of a Markdown table as fit into so many bytes, and what is left out.

    `rest` says where the others are. Rows are taken from the top: the worst come first.
    """
    whole = markdown_table(frame)
    if not len(frame) or size(whole) <= room:
        return whole if len(frame) else ""
    lines, kept = whole.split("\n"), 0
    used = size("\n".join(lines[:2])) + size(f"\n\n{len(frame)} rows are not shown here; {rest}")
    for line in lines[2:]:
        used += size(line) + 1
        if used > room:
            break
        kept += 1
    note = f"\n\n{len(frame) - kept} more rows are not shown here; {rest}"
    return "\n".join(lines[: 2 + kept]) + note


def size(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text.encode())


def frame_of(items: Sequence[Any], columns: dict[str, Callable[[Any], str]]) -> pd.DataFrame:
    """Make a frame of texts: a row per item, a column per function."""
    import pandas as pd

    rows = [[write(item) for write in columns.values()] for item in items]
    return pd.DataFrame(rows, columns=list(columns), dtype="str")
