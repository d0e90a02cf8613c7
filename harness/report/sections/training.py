"""Training: what backward takes beside forward, and what it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.cases.shape import PHASE_CODES
from harness.report import figures
from harness.report.figures.canvas import Gallery
from harness.report.palette import SOLID, Style
from harness.report.panels import LENGTHS, SHARED, Panel, distinct, length_panels
from harness.report.sections.cost import FIGURES, join
from harness.report.tables.pivots import figure, pivot, shown
from harness.report.view import View
from harness.report.words import units
from harness.report.words.markup import details, escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd

if TYPE_CHECKING:
    import pandas as pd

    from harness.records.record import Record

    Cells = dict[tuple[str, str], Record]

TIMES = {phase: phase.replace("_", " + ") for phase in PHASE_CODES}
PHASE_STYLES = {
    "forward": Style("#0072b2", "o", SOLID),
    "backward": Style("#d55e00", "s", SOLID),
    "forward_backward": Style("#000000", "D", SOLID),
}
NOTE = (
    "Backward goes from a seeded gradient of the output to those of query, key and value "
    "(`torch.autograd.grad`), which agree with the float64 formula before anything is timed. "
    "FLOP counts are of useful work: backward counts twice forward, for four products against "
    "two. A kernel that computes the scores anew instead of keeping the weights does 2.5 times "
    "forward's work: its rate in FLOP/s is of the useful part. The peak is that of forward and "
    "backward together; held between the two are the output and the saved tensors."
)
HELD = (
    "Bytes held between forward and backward. A score matrix has B x H x T x T elements; its "
    "count is the fitted T² term over the bytes of one."
)


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

    from harness.records.tables import records_of

    cells = {(cell.backend, cell.phase): cell for cell in records_of(frame)}
    names = shown(frame[frame["phase"] != "forward"])
    columns = ["backend", *TIMES.values(), "backward / forward", "by products"]
    rows = [_row(name, cells) for name in names]
    return pd.DataFrame(rows, columns=[*columns, "peak memory", "held between"])


def _row(name: str, cells: Cells) -> tuple[str, ...]:
    from harness.analysis.claims.training import recomputes

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
    from harness.report.view import ratio_of

    if backward is None or forward is None:
        return units.ABSENT
    if backward.time_median_s is None or forward.time_median_s is None:
        return units.ABSENT
    return units.ratio_interval(*ratio_of(backward, forward))


def held_pivot(frame: pd.DataFrame, *, count: int = 7) -> pd.DataFrame:
    """Return the bytes held by backend and T, the score matrices in them, the law in bytes."""
    from harness.analysis.claims.training import kept_bytes_sweeps
    from harness.analysis.fits.series import SeriesFit, memory_fit
    from harness.records.tables import records_of
    from harness.report.panels import Panel, index_fits, law_text, matrices_text

    table = pivot(frame, "held_bytes", units.size, count=count)
    sweeps = kept_bytes_sweeps(records_of(frame))
    fits = index_fits(SeriesFit(each, None, memory_fit(each)) for each in sweeps)
    panel = Panel.of(next(frame.itertuples()))
    found = [fits.get((panel, name)) for name in table["backend"]]
    table["score matrices held"] = [matrices_text(fit, panel) for fit in found]
    table["law (bytes)"] = [law_text(fit) for fit in found]
    return table


def training_section(view: View, gallery: Gallery) -> str:
    """Show what training takes at one shape, and the bytes held against T."""
    rows = distinct(view.run.table)
    frames = training_frames(rows)
    if not frames:
        return "Not shown: no backward was timed."
    frame, where = frames[0], title(frames[0])
    figure = figures.dots_figure(
        with_backward(frame), "phase", styles=PHASE_STYLES, title="Time by phase", subtitle=where
    )
    return join(
        NOTE, f"{escape(where)}.", gallery.add("training", figure, f"time by phase, {where}"),
        markdown_table(training_table(frame)),
        *(details(escape(title(one)), markdown_table(training_table(one)))
          for one in frames[1:]),
        *held_parts(rows[rows["held_bytes"].notna()]),
    )  # fmt: skip


def with_backward(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the backends that were timed in a phase with a backward."""
    trained = frame["time_median_s"].notna() & (frame["phase"] != "forward")
    rows: pd.DataFrame = frame[frame["backend"].isin(frame.loc[trained, "backend"])]
    return rows


def title(frame: pd.DataFrame) -> str:
    """Say the shape of a frame: all that its rows share."""
    panel = Panel.of(next(frame.itertuples()))
    return panel.title(without="phase", length=int(frame["length_query"].iloc[0]))


def held_parts(rows: pd.DataFrame) -> list[str]:
    """Show the bytes held for the first sweeps of forward + backward over T."""
    panels = [pair for pair in length_panels(rows) if pair[0].phase == "forward_backward"]
    blocks = [
        join(f"### {escape(panel.title())}", markdown_table(held_pivot(frame)))
        for panel, frame in panels[:FIGURES]
    ]
    return [HELD, *blocks] if blocks else []
