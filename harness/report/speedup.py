"""How many times as fast as the baseline: one row per backend and length, with an interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.record import Record, Status

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.ratio import Rounds

COLUMNS = ["backend", "length", "ratio", "low", "high"]


def speedups(
    frame: pd.DataFrame, baseline: str, *, rounds: Mapping[str, Rounds] | None = None
) -> pd.DataFrame:
    """Return backend, length, ratio, low, high for one panel: baseline time over own time.

    The intervals are those of `analysis.ratio`: paired by process, and by round where `rounds`
    (`rounds_by_cell` of the run's samples) has both cells. The baseline itself is left out. Empty
    if it was not timed.
    """
    import pandas as pd

    cells = timed(frame)
    base = {cell.length_query: cell for cell in cells if cell.backend == baseline}
    rows = [
        (cell.backend, cell.length_query, *ratio_of(base[cell.length_query], cell, rounds=rounds))
        for cell in cells
        if cell.backend != baseline and cell.length_query in base
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def mask_ratios(frame: pd.DataFrame, full: pd.DataFrame) -> pd.DataFrame:
    """Return backend, length, ratio, low, high: masked time over unmasked time."""
    import pandas as pd

    bare = {(cell.backend, cell.length_query): cell for cell in timed(full)}
    rows = [
        (cell.backend, cell.length_query, *ratio_of(cell, bare[cell.backend, cell.length_query]))
        for cell in timed(frame)
        if (cell.backend, cell.length_query) in bare
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def timed(frame: pd.DataFrame) -> list[Record]:
    """Return the cells that are ok and have a time."""
    from harness.analysis.cells import read_records

    rows = frame[(frame["status"] == Status.OK) & frame["time_median_s"].notna()]
    return read_records(rows)


def ratio_of(
    top: Record, bottom: Record, *, rounds: Mapping[str, Rounds] | None = None
) -> tuple[float, float, float]:
    """Return the ratio of two times and its 95 % interval."""
    from harness.analysis.ratio import time_ratio

    ratio = time_ratio(top, bottom, rounds=rounds)
    return ratio.value, ratio.low, ratio.high
