"""Figures over T: time, throughput and peak memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.cases.shape import ITEM_SIZES
from harness.records.record import Status
from harness.report.figures.canvas import (
    GREY,
    GUTTER,
    HEIGHT,
    LEGEND,
    PALE,
    TOP,
    add_axes,
    add_note,
    add_title,
    in_house_look,
    label_right,
    new_figure,
    points,
    rate_bounds,
    slope_guides,
)
from harness.report.figures.lines import (
    add_legend,
    draw_intervals,
    draw_lines,
    set_log_figures,
    set_ticks,
)
from harness.report.palette import ordered, style
from harness.report.panels import FitIndex, Panel, exponent_note, matrices_text
from harness.report.words import units

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.2  # inches that one backend takes in the strip
FEW = 2
LEFT = 1.2  # inches: the unit FLOP/s is long
GUIDES = {1: "1 matrix", 2: "2 matrices"}


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


@in_house_look
def throughput_figure(
    panel: Panel, frame: pd.DataFrame, *, ceiling: float | None
) -> Figure | None:
    """Draw useful FLOP/s of every backend against T; None with fewer than two lengths.

    `ceiling` is the measured rate of a plain matrix product in the same dtype, in FLOP/s.
    """
    data = rate_bounds(points(frame, "length_query", "rate"))
    if data["length"].nunique() < 2:
        return None
    figure = new_figure()
    axes = add_axes(figure, left=LEFT)
    axes.set_yscale("log")
    draw_lines(axes, data, x="length", y="rate")
    draw_intervals(axes, data, x="length", y="rate")
    top = max(float(data["rate"].max()), ceiling or 0.0)
    axes.set_ylim(float(data["rate"].min()) * 0.7, top * 1.5)
    set_log_figures(axes, units.rate, "useful FLOP/s (log scale)")
    set_ticks(axes, sorted(set(data["length"])), "length T in positions (log scale)")
    if ceiling:
        _ceiling(axes, ceiling)
    else:
        add_note(figure, f"no ceiling was measured for {panel.dtype}")
    add_legend(axes, data, y="rate", gutter=0.95)
    add_title(figure, "Throughput against length T", panel.title(), left=LEFT)
    if ceiling:
        add_note(figure, f"dashes: a plain matrix product, measured at {units.rate(ceiling)}")
    return figure


def _ceiling(axes: Axes, ceiling: float) -> None:
    """Draw the ceiling, and an axis at the right that reads every rate as a share of it."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.axhline(ceiling, color=GREY, linewidth=1.2, linestyle=(0, (5, 3)), zorder=0.6)

    def share(rate: Any) -> Any:
        return rate / ceiling

    def back(part: Any) -> Any:
        return part * ceiling

    shares = axes.secondary_yaxis("right", functions=(share, back))
    shares.yaxis.set_major_locator(FixedLocator([1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]))
    shares.yaxis.set_minor_locator(NullLocator())
    shares.yaxis.set_major_formatter(lambda value, _: units.trimmed(units.percent(value)))
    shares.set_ylabel("share of the matrix product")
    shares.tick_params(length=0)
    shares.spines["right"].set_visible(False)


@in_house_look
def memory_figure(panel: Panel, frame: pd.DataFrame, *, fits: FitIndex) -> Figure | None:
    """Draw the peak above the inputs against T; None with fewer than two lengths."""
    data = points(frame, "length_query", "peak")
    if data["length"].nunique() < 2:
        return None
    figure = new_figure()
    axes = add_axes(figure, right=GUTTER + LEGEND)
    axes.set_yscale("log")
    draw_lines(axes, data, x="length", y="peak")
    _guides(axes, panel, data)
    set_log_figures(axes, units.size, "peak memory above the inputs (log scale)")
    set_ticks(axes, sorted(set(data["length"])), "length T in positions (log scale)")
    add_legend(
        axes, data, y="peak", notes=_notes(panel, data, fits),
        title="backend, score matrices at the peak",
    )  # fmt: skip
    add_title(figure, "Peak memory of one call against length T", panel.title())
    return figure


def _guides(axes: Axes, panel: Panel, data: pd.DataFrame) -> None:
    """Draw what one and two matrices [batch, heads, T, T] take."""
    ends = [float(data["length"].min()), float(data["length"].max())]
    pair = panel.batch * panel.heads * ITEM_SIZES.get(panel.dtype, 4)
    for number, name in GUIDES.items():
        heights = [number * pair * at**2 for at in ends]
        axes.plot(ends, heights, color=PALE, linewidth=1.2, linestyle=(0, (5, 3)), zorder=0.5)
        label_right(axes, heights[-1], name)
    top = max(float(data["peak"].max()), 2 * pair * ends[-1] ** 2)
    axes.set_ylim(float(data["peak"].min()) * 0.6, top * 1.8)


def _notes(panel: Panel, data: pd.DataFrame, fits: FitIndex) -> dict[str, str]:
    notes = {}
    for name in set(data["backend"]):
        text = matrices_text(fits.get((panel, name)), panel)
        if text != units.ABSENT:
            notes[name] = text
    return notes
