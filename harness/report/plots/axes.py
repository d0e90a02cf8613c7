"""Time and peak memory against another axis than T: heads, batch, dims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report import units
from harness.report.plots.canvas import (
    LEFT,
    NARROW,
    PALE,
    WIDTH,
    add_axes,
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
from harness.report.plots.points import points

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 4.4
GAP = 0.95
LABELS = {
    "heads": "heads H", "batch": "batch entries B", "heads_kv": "key and value heads H_kv",
    "dim_key": "features of a key D", "dim_value": "features of a value D_v",
}  # fmt: skip


@in_house_look
def sweep_figure(frame: pd.DataFrame, axis: str, *, subtitle: str) -> Figure | None:
    """Draw time, and peak memory beside it, against one axis; None with fewer than two values."""
    times, peaks = points(frame, axis, "median"), points(frame, axis, "peak")
    if times["value"].nunique() < 2:
        return None
    figure = new_figure(height=HEIGHT)
    both = peaks["value"].nunique() >= 2
    room = WIDTH - LEFT - NARROW - 0.2
    width = (room - GAP) / 2 if both else room
    left = add_axes(figure, right=WIDTH - LEFT - width)
    _draw(left, times, "median", axis)
    set_log_figures(left, units.seconds, "median time of a call (log scale)")
    if both:
        right = add_axes(figure, left=LEFT + width + GAP, right=NARROW + 0.2)
        _draw(right, peaks, "peak", axis)
        set_log_figures(right, units.size, "peak memory above the inputs (log scale)")
    add_legend(right if both else left, times, y="median", gutter=0.25)
    add_title(figure, f"Time and peak memory against {LABELS[axis]}", subtitle)
    return figure


def _draw(axes: Axes, data: pd.DataFrame, y: str, axis: str) -> None:
    """Draw one quantity, with the slope of proportional growth for the eye."""
    axes.set_yscale("log")
    draw_lines(axes, data, x="value", y=y)
    if y == "median":
        draw_intervals(axes, data, x="value", y=y)
    ends = [float(data["value"].min()), float(data["value"].max())]
    low, high = float(data[y].min()), float(data[y].max())
    heights = [low * 0.6 * end / ends[0] for end in ends]
    axes.plot(ends, heights, color=PALE, linewidth=1.2, linestyle=(0, (5, 3)), zorder=0.5)
    axes.set_ylim(low * 0.4, max(high, heights[-1]) * 1.5)
    set_ticks(axes, sorted(set(data["value"])), f"{LABELS[axis]} (dashes: proportional)")
