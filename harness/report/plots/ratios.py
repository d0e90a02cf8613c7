"""Ratios of times against T: speed-up over the baseline, masked over unmasked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.plots.canvas import add_axes, add_title, in_house_look, new_figure
from harness.report.plots.guides import level
from harness.report.plots.lines import add_legend, draw_intervals, draw_lines, set_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
FINE_STEPS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3)


@in_house_look
def ratio_figure(
    data: pd.DataFrame, *, title: str, subtitle: str, label: str, levels: dict[float, str]
) -> Figure | None:
    """Draw backend, length, ratio, low, high; None with fewer than two lengths.

    `levels` are drawn as named lines: what the ratio is compared with.
    """
    if data["length"].nunique() < 2:
        return None
    figure = new_figure()
    axes = add_axes(figure)
    axes.set_yscale("log")
    draw_lines(axes, data, x="length", y="ratio")
    draw_intervals(axes, data, x="length", y="ratio")
    _scale(axes, data, levels)
    for height, text in levels.items():
        level(axes, height, text)
    axes.set_ylabel(label)
    set_ticks(axes, sorted(set(data["length"])), "length T in positions (log scale)")
    add_legend(axes, data, y="ratio")
    add_title(figure, title, subtitle)
    return figure


def _scale(axes: Axes, data: pd.DataFrame, levels: dict[float, str]) -> None:
    """Fit the axis to points and levels; wide intervals may leave it, points may not."""
    from matplotlib.ticker import FixedLocator, NullLocator

    values = [*data["ratio"].astype(float), *levels]
    low, high = min(values), max(values)
    room = max((high / low) ** 0.08, 1.06)
    axes.set_ylim(low / room, high * room)
    axes.yaxis.set_major_locator(FixedLocator(FINE_STEPS if high / low < 6 else STEPS))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}×")
