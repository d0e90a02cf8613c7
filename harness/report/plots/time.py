"""Time per call against T: slopes to compare, intervals, and a strip for out of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.record import Status
from harness.report import units
from harness.report.fits import FitIndex, exponent_note
from harness.report.palette import ordered, style
from harness.report.panels import Panel
from harness.report.plots.canvas import (
    GREY,
    GUTTER,
    HEIGHT,
    LEGEND,
    TOP,
    add_axes,
    add_title,
    in_house_look,
    new_figure,
)  # fmt: skip
from harness.report.plots.guides import slope_guides
from harness.report.plots.lines import (
    add_legend,
    draw_intervals,
    draw_lines,
    set_log_figures,
    set_ticks,
)  # fmt: skip
from harness.report.plots.points import points

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.2  # inches that one backend takes in the strip
FEW = 2


@in_house_look
def time_figure(panel: Panel, frame: pd.DataFrame, *, fits: FitIndex) -> Figure | None:
    """Draw the median time of every backend against T; None with fewer than two lengths."""
    data = points(frame, "length_query", "median")
    if data["length"].nunique() < FEW:
        return None
    lost = out_of_memory(frame)
    strip = ROW * lost["backend"].nunique() + 0.12 if len(lost) else 0.0
    figure = new_figure(height=HEIGHT + strip)
    axes = add_axes(figure, top=TOP + strip, right=GUTTER + LEGEND)
    lengths = sorted({*data["length"], *lost["length"]})
    _draw(axes, data, lengths)
    if len(lost):
        _strip(figure, axes, lost, strip)
    found = {name: exponent_note(fits.get((panel, name))) for name in set(data["backend"])}
    notes = {name: note for name, note in found.items() if note != units.ABSENT}
    title = "backend, exponent at the largest T [95 %]" if notes else "backend"
    add_legend(axes, data, y="median", notes=notes, title=title)
    add_title(figure, "Time of one call against length T", panel.title())
    return figure


def out_of_memory(frame: pd.DataFrame) -> pd.DataFrame:
    """Return backend and length of the cells that did not fit in memory."""
    rows = frame[frame["status"] == Status.OUT_OF_MEMORY]
    return rows[["backend", "length_query"]].rename(columns={"length_query": "length"})


def _draw(axes: Axes, data: pd.DataFrame, lengths: list[int]) -> None:
    axes.set_yscale("log")
    draw_lines(axes, data, x="length", y="median")
    draw_intervals(axes, data, x="length", y="median")
    slope_guides(axes, data, x="length", y="median")
    set_log_figures(axes, units.seconds, "median time of a call (log scale)")
    set_ticks(axes, lengths, "length T in positions (log scale)")


def _strip(figure: Figure, axes: Axes, lost: pd.DataFrame, height: float) -> None:
    """Draw the strip above the axes: a cross at each T where a backend ran out of memory."""
    box = axes.get_position()
    tall = figure.get_size_inches()[1]
    names = ordered(lost["backend"])
    strip = figure.add_axes((box.x0, box.y1 + 0.06 / tall, box.width, (height - 0.1) / tall))
    strip.set(xscale="log", xlim=axes.get_xlim(), ylim=(len(names) - 0.5, -0.5))
    strip.set_facecolor("#f6efe6")
    for row, name in enumerate(names):
        own = lost.loc[lost["backend"] == name, "length"].astype(float)
        strip.scatter(own, [row] * len(own), marker="x", color=style(name).colour, s=30, zorder=3)
    strip.set_yticks(range(len(names)), names)
    strip.tick_params(length=0, labelbottom=False)
    strip.xaxis.set_ticks([], minor=True)
    strip.xaxis.set_ticks([])
    strip.grid(visible=False)
    for side in strip.spines.values():
        side.set_visible(False)
    strip.annotate(
        "out of memory", xy=(1, 0.5), xycoords="axes fraction", xytext=(4, 0),
        textcoords="offset points", fontsize=8.5, color=GREY, va="center",
    )  # fmt: skip
