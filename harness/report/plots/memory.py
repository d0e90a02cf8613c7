"""Peak memory against T: log-log, with the bytes of one and two score matrices to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.case import ITEM_SIZES
from harness.report import units
from harness.report.fits import FitIndex, matrices_text
from harness.report.panels import Panel
from harness.report.plots.canvas import (
    GUTTER,
    LEGEND,
    PALE,
    add_axes,
    add_title,
    in_house_look,
    new_figure,
)  # fmt: skip
from harness.report.plots.guides import label_right
from harness.report.plots.lines import add_legend, draw_lines, set_log_figures, set_ticks
from harness.report.plots.points import points

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GUIDES = {1: "1 matrix", 2: "2 matrices"}


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
