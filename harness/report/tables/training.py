"""Training: what forward, backward and both take at one shape, and the bytes held between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.case import PHASE_CODES
from harness.report import units
from harness.report.panels import LENGTHS, SHARED
from harness.report.tables.cells import figure
from harness.report.tables.pivots import pivot, shown

if TYPE_CHECKING:
    import pandas as pd

    from harness.record import Record

    Cells = dict[tuple[str, str], Record]

TIMES = {phase: phase.replace("_", " + ") for phase in PHASE_CODES}


def training_frames(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of each shape with a backward timed: most phases first, then largest.

    Rows of a frame differ in backend and phase alone.
    """
    fixed = [name for name in (*SHARED, *LENGTHS) if name != "phase"]
    trained = table["time_median_s"].notna() & (table["phase"] != "forward")
    label = table.groupby(fixed, dropna=False, sort=True).ngroup()
    frames = [table[label == one] for one in sorted(set(label[trained]))]
    return sorted(frames, key=_rank)


def _rank(frame: pd.DataFrame) -> tuple[int, bool, int]:
    """Sort key: phases timed, no mask before a mask, long before short."""
    phases = frame.loc[frame["time_median_s"].notna(), "phase"].nunique()
    return -phases, bool((frame["mask"] != "full").any()), -int(frame["length_query"].max())


def training_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per backend: three times, backward over forward, the peak, bytes held."""
    import pandas as pd

    from harness.analysis.cells import read_records

    cells = {(cell.backend, cell.phase): cell for cell in read_records(frame)}
    names = shown(frame[frame["phase"] != "forward"])
    columns = ["backend", *TIMES.values(), "backward / forward", "by products"]
    rows = [_row(name, cells) for name in names]
    return pd.DataFrame(rows, columns=[*columns, "peak memory", "held between"])


def _row(name: str, cells: Cells) -> tuple[str, ...]:
    from harness.analysis.backward import recomputes

    times = [figure(cells.get((name, phase)), "time_median_s", units.seconds) for phase in TIMES]
    trained = [
        cells[name, phase] for phase in TIMES if phase != "forward" and (name, phase) in cells
    ]
    sizes = [figure(trained[-1], column, units.size) for column in ("peak_bytes", "held_bytes")]
    work = "2.5×, 2× of it useful" if recomputes(trained[-1]) else "2×"
    return (
        name,
        *times,
        _ratio(cells.get((name, "backward")), cells.get((name, "forward"))),
        work,
        *sizes,
    )


def _ratio(backward: Record | None, forward: Record | None) -> str:
    """Write backward's time over forward's with its interval, as the verdicts have it."""
    from harness.report.speedup import ratio_of

    if backward is None or forward is None:
        return units.ABSENT
    if backward.time_median_s is None or forward.time_median_s is None:
        return units.ABSENT
    return units.ratio_interval(*ratio_of(backward, forward))


def held_pivot(frame: pd.DataFrame, *, count: int = 7) -> pd.DataFrame:
    """Return the bytes held by backend and T, the score matrices in them, the law in bytes."""
    from harness.analysis.cells import read_records
    from harness.analysis.held import held_sweeps
    from harness.analysis.series import SeriesFit, memory_fit
    from harness.report.fits import index_fits, law_text, matrices_text
    from harness.report.panels import Panel

    table = pivot(frame, "held_bytes", units.size, count=count)
    sweeps = held_sweeps(read_records(frame))
    fits = index_fits(SeriesFit(each, None, memory_fit(each)) for each in sweeps)
    panel = Panel.of(next(frame.itertuples()))
    found = [fits.get((panel, name)) for name in table["backend"]]
    table["score matrices held"] = [matrices_text(fit, panel) for fit in found]
    table["law (bytes)"] = [law_text(fit) for fit in found]
    return table
