"""Section on training: forward, backward and both; the peak, and what is held between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report import plots, tables
from harness.report.gallery import Gallery
from harness.report.markup import details, escape, markdown_table
from harness.report.palette import SOLID, Style
from harness.report.panels import Panel, distinct, length_panels
from harness.report.sections.cost import FIGURES, join
from harness.report.view import View

if TYPE_CHECKING:
    import pandas as pd

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


def training_section(view: View, gallery: Gallery) -> str:
    """Show what training takes at one shape, and the bytes held against T."""
    rows = distinct(view.run.table)
    frames = tables.training_frames(rows)
    if not frames:
        return "Not shown: no backward was timed."
    frame, where = frames[0], title(frames[0])
    figure = plots.dots_figure(
        with_backward(frame), "phase", styles=PHASE_STYLES, title="Time by phase", subtitle=where
    )
    return join(
        NOTE, f"{escape(where)}.", gallery.add("training", figure, f"time by phase, {where}"),
        markdown_table(tables.training_table(frame)),
        *(details(escape(title(one)), markdown_table(tables.training_table(one)))
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
        join(f"### {escape(panel.title())}", markdown_table(tables.held_pivot(frame)))
        for panel, frame in panels[:FIGURES]
    ]
    return [HELD, *blocks] if blocks else []
