"""Noise of an A/A run as people read it: a row per cell, the worst first, and what it means."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from harness.analysis.noise import NOISY
from harness.noise import is_twin
from harness.record import Status
from harness.report import units
from harness.report.tables.cells import ending

if TYPE_CHECKING:
    import pandas as pd

    from harness.store import Run

COLUMNS = ("within", "between", "change")
# Ten times is no figure to plan with: what is above is as good as anything.
MOST = 10.0
NOTHING = "No cell was timed in three processes: nothing can be said of noise here."
LEGEND = (
    "A/A ratio: the same backend under two labels, one over the other, with its 95 % interval.",
    "within, between: how far unchanged code may seem to differ (95 %): two backends of one run,",
    "one cell in two runs. change: the smallest that 8 of 10 comparisons of two runs would find.",
)


def noise_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows for a machine to read, the worst first."""
    rows: list[dict[str, Any]] = json.loads(
        worst_first(table).to_json(orient="records", double_precision=15)
    )
    return rows


def worst_first(table: pd.DataFrame) -> pd.DataFrame:
    """Order cells by their floor between runs, the noisiest first."""
    return table.sort_values("floor_between", ascending=False, kind="stable")


def noise_listing(run: Run, table: pd.DataFrame) -> Group:
    """Show the noise of every cell, then how many cannot be tracked and which had no figure."""
    ends = [*left_out(run, table), f"Written to {run.folder}"]
    if table.empty:
        return Group(*map(Text, (NOTHING, *ends)))
    lines = ["", *LEGEND, "", verdict(table), *ends]
    return Group(cells_table(table), *map(Text, lines))


def cells_table(table: pd.DataFrame) -> Table:
    """Make a row for each cell, the noisy ones in colour."""
    listing = Table(box=None, pad_edge=False, header_style="bold")
    listing.add_column("cell", overflow="fold")
    for name in ("A/A ratio", *COLUMNS):
        listing.add_column(name, justify="right")
    for row in worst_first(table).itertuples():
        listing.add_row(str(row.cell), *figures(row), style="yellow" if row.noisy else "")
    return listing


def figures(row: Any) -> tuple[str, str, str, str]:
    """Write the figures of one cell."""
    floors = (row.floor_within, row.floor_between, row.smallest_change)
    within, between, change = map(percent, floors)
    return units.ratio_interval(row.ratio, row.low, row.high), within, between, change


def percent(value: float) -> str:
    """Write a share in percent, `> 1,000 %` where it only says that nothing can be told."""
    return units.percent(value) if value <= MOST else f"> {units.percent(MOST)}"


def verdict(table: pd.DataFrame) -> str:
    """Say how many cells are too noisy to be tracked from run to run."""
    noisy, count, limit = int(table["noisy"].sum()), len(table), units.percent(NOISY)
    if not noisy:
        return f"No cell of {count} is noisier than {limit} between runs: all can be tracked."
    return (
        f"{noisy} of {count} cells noisier than {limit} between runs: they cannot be tracked.\n"
        "Close what else runs, ask for more --replicas, or raise cap_s in the grid."
    )


def left_out(run: Run, table: pd.DataFrame) -> list[str]:
    """Say which cells have no figure, by how they ended."""
    singles = run.table[~run.table["backend"].map(is_twin)]
    missing = singles[~singles["cell"].isin(table["cell"])]
    if missing.empty:
        return []
    ends = Counter(
        "timed by too few processes" if status == Status.OK else ending(status)
        for status in missing["status"]
    )
    counts = ", ".join(f"{count} {word}" for word, count in ends.most_common())
    what = "cell has" if len(missing) == 1 else "cells have"
    return [f"{len(missing)} {what} no figure: {counts}."]
