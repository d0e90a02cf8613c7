"""FLOP/s against T, with the measured rate of a matrix product and the share of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.report import units
from harness.report.panels import Panel
from harness.report.plots.canvas import (
    GREY,
    add_axes,
    add_note,
    add_title,
    in_house_look,
    new_figure,
)  # fmt: skip
from harness.report.plots.lines import (
    add_legend,
    draw_intervals,
    draw_lines,
    set_log_figures,
    set_ticks,
)  # fmt: skip
from harness.report.plots.points import points, rate_bounds

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LEFT = 1.2  # inches: the unit FLOP/s is long


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
