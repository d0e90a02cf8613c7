"""Spread between worker processes: one row per backend, one dot per cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report import units
from harness.report.markup import shorten
from harness.report.palette import ordered, style
from harness.report.plots.canvas import (
    BOTTOM,
    GREY,
    INK,
    TOP,
    add_axes,
    add_title,
    in_house_look,
    new_figure,
)  # fmt: skip

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.4
# Less is drawn here: it is quiet enough, and zero has no place on a log axis.
LEAST = 1e-3
STEPS = (LEAST, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)


@in_house_look
def noise_figure(noise: pd.DataFrame, *, device: str, target: float | None) -> Figure | None:
    """Draw the spread of every timed cell; None where no cell was timed by two processes.

    `noise` is `noise_frame`'s; `target` the relative half-width at which timing stopped.
    """
    data = noise[noise["spread"].notna()]
    if not len(data):
        return None
    names = ordered(data["backend"])
    figure = new_figure(height=BOTTOM + TOP + ROW * max(2, len(names)))
    axes = add_axes(figure, left=1.5, right=0.35)
    for row, name in enumerate(names):
        _row(axes, row, data[data["backend"] == name], style(name).colour)
    _finish(axes, names, data)
    if target:
        axes.axvline(target, color=GREY, linewidth=1.2, linestyle=(0, (5, 3)), zorder=0.6)
        axes.annotate(
            "wanted half-width inside a process", xy=(target, 1), xytext=(-3, 3),
            ha="right", fontsize=8,
            xycoords=("data", "axes fraction"), textcoords="offset points", color=GREY,
        )  # fmt: skip
    subtitle = f"{device}: (slowest - fastest) / middle of the process medians, one dot per cell"
    add_title(figure, "Spread between worker processes", subtitle, left=1.5)
    return figure


def _row(axes: Axes, row: int, own: pd.DataFrame, colour: str) -> None:
    """Draw one backend's cells, side by side by length, and a bar at their median."""
    ordered_cells = own.sort_values(["length", "cell"])["spread"].clip(lower=LEAST)
    count = len(ordered_cells)
    heights = [row + 0.5 * ((place + 0.5) / count - 0.5) for place in range(count)]
    axes.scatter(
        ordered_cells, heights, s=16, color=colour, alpha=0.65,
        linewidths=0, zorder=2,
    )  # fmt: skip
    middle = max(LEAST, float(own["spread"].median()))
    axes.plot([middle, middle], [row - 0.32, row + 0.32], color=INK, linewidth=1.8, zorder=3)


def _finish(axes: Axes, names: list[str], data: pd.DataFrame) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    values = data["spread"].clip(lower=LEAST)
    axes.set_xlim(float(values.min()) * 0.8, max(0.02, float(values.max())) * 1.25)
    axes.xaxis.set_major_locator(FixedLocator(STEPS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: _share(value))
    axes.set_yticks(range(len(names)), [shorten(name, 20) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("spread as a share of the median (log scale; bar: the backend's median)")
    axes.grid(visible=False, axis="y")


def _share(value: float) -> str:
    text = units.trimmed(units.percent(value))
    return f"≤ {text}" if value <= LEAST else text
