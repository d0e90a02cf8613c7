"""Grey lines to read a figure by: slopes, thresholds, and the labels that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.plots.canvas import GREY, PALE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def slope_guides(axes: Axes, data: pd.DataFrame, *, x: str, y: str) -> None:
    """Draw the slopes of T and T² below the data, so that no line is crossed and all compare."""
    first, last = float(data[x].min()), float(data[x].max())
    lowest = float(data[y].min())
    end = float(data.loc[data[x] == last, y].min())
    _slope(axes, (first, lowest * 0.55), (first, last), power=1, name="∝ T")
    _slope(axes, (last, end * 0.45), (first, last), power=2, name="∝ T²")
    axes.set_ylim(lowest * 0.3, float(data[y].max()) * 1.8)


def _slope(
    axes: Axes, anchor: tuple[float, float], span: tuple[float, float], *, power: int, name: str
) -> None:
    heights = [anchor[1] * (at / anchor[0]) ** power for at in span]
    axes.plot(span, heights, color=PALE, linewidth=1.2, linestyle=(0, (5, 3)), zorder=0.5)
    label_right(axes, heights[-1], name)


def label_right(axes: Axes, height: float, text: str) -> None:
    """Name a line just right of the axes, at its height there."""
    axes.annotate(
        text, xy=(1, height), xycoords=("axes fraction", "data"), xytext=(4, 0),
        textcoords="offset points", fontsize=8.5, color=GREY, va="center", annotation_clip=False,
    )  # fmt: skip


def level(axes: Axes, height: float, text: str) -> None:
    """Draw a level line across the axes and name it at the right."""
    axes.axhline(height, color=GREY, linewidth=1.2, linestyle=(0, (5, 3)), zorder=0.6)
    label_right(axes, height, text)
