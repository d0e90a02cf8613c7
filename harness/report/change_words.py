"""Words for changes: one frame of texts each for comparisons and histories, and their fitting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from harness.report import units
from harness.report.listing import plain_table
from harness.report.markup import markdown_table, plain

if TYPE_CHECKING:
    import pandas as pd


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
    note = f"\n\n{len(frame)} rows are not shown here; {rest}"
    used = size("\n".join(lines[:2])) + size(note)
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
