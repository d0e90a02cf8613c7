"""Noise tables: the spread inside a run, and the floors of an A/A run."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from harness.analysis.tracking.noise import NOISY
from harness.records.noise import is_twin
from harness.records.record import Status
from harness.report.palette import ordered
from harness.report.tables.pivots import ending
from harness.report.words import units

if TYPE_CHECKING:
    import pandas as pd

    from harness.records.store import Run

COLUMNS = ("within", "between", "change")
# Ten times is no figure to plan with: what is above is as good as anything.
MOST = 10.0
NOTHING = "No cell was timed in three processes: nothing can be said of noise here."
LEGEND = (
    "A/A ratio: the same backend under two labels, one over the other, with its 95 % interval.",
    "within, between: how far unchanged code may seem to differ (95 %): two backends of one run,",
    "one cell in two runs. change: the smallest that 8 of 10 comparisons of two runs would find.",
)


def noise_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Return backend, cell, length, width, spread per timed cell, as shares of the median.

    `width` is half of the 95 % interval; `spread` is between the slowest and the fastest process.
    """
    import pandas as pd

    timed = table[(table["status"] == Status.OK) & table["time_median_s"].notna()]
    rows = [
        (row.backend, row.cell, row.length_query, _width(row), _spread(row.replica_medians_s))
        for row in timed.itertuples()
    ]
    frame = pd.DataFrame(rows, columns=["backend", "cell", "length", "width", "spread"])
    return frame.astype({"width": "float64", "spread": "float64"})


def noise_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return per backend: timed cells, typical and worst width and spread, flags."""
    import pandas as pd

    frame = noise_frame(table)
    flags = _flags_per_backend(table)
    rows = []
    for name in ordered(frame["backend"]):
        own = frame[frame["backend"] == name]
        figures = [
            own["width"].median(),
            own["width"].max(),
            own["spread"].median(),
            own["spread"].max(),
        ]
        rows.append(
            (name, units.count(len(own)), *map(units.percent, figures), units.count(flags[name]))
        )
    columns = [
        "backend", "timed cells", "half-width, median", "half-width, worst",
        "spread of processes, median", "spread of processes, worst", "flagged cells",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def flag_counts(table: pd.DataFrame) -> Counter[str]:
    """Return how many cells carry each flag."""
    return Counter(flag for flags in table["flags"].dropna() for flag in set(str(flags).split()))


def flag_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return each flag, the number of cells that carry it, and the advice that goes with it."""
    import pandas as pd

    from harness.records.record import FLAGS

    counts = flag_counts(table)
    rows = [(flag, units.count(counts[flag]), FLAGS.get(flag, "")) for flag in sorted(counts)]
    return pd.DataFrame(rows, columns=["flag", "cells", "advice"])


def _flags_per_backend(table: pd.DataFrame) -> Counter[str]:
    flagged = table[table["flags"].notna() & (table["flags"] != "")]
    return Counter(str(name) for name in flagged["backend"])


def _width(row: Any) -> float | None:
    low, high = units.number(row.time_low_s), units.number(row.time_high_s)
    middle = units.number(row.time_median_s)
    return None if low is None or high is None or not middle else (high - low) / 2 / middle


def _spread(medians: Any) -> float | None:
    """Return (slowest - fastest) / middle over processes; None with fewer than two."""
    if medians is None or not hasattr(medians, "__len__") or len(medians) < 2:
        return None
    ordered_medians = sorted(map(float, medians))
    middle = ordered_medians[len(medians) // 2]
    return (ordered_medians[-1] - ordered_medians[0]) / middle


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
