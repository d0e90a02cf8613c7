"""One row per backend, one dot per mask or dtype: how much a choice costs at one shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report import units
from harness.report.markup import shorten
from harness.report.palette import Style, ordered, ordered_by, style
from harness.report.plots.canvas import (
    BOTTOM,
    GREY,
    NARROW,
    TOP,
    add_axes,
    add_title,
    in_house_look,
    new_figure,
)  # fmt: skip
from harness.report.plots.points import points

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW, MARGIN = 0.1, 0.16  # inches of a dot and around the dots of a row


@in_house_look
def dots_figure(
    frame: pd.DataFrame, axis: str, *, styles: dict[str, Style], title: str, subtitle: str
) -> Figure | None:
    """Draw the time per backend (rows) and value of `axis` (dots); None without two values."""
    data = points(frame, axis, "median")
    values = ordered_by(styles, data["value"])
    if len(values) < 2:
        return None
    looks = {value: styles.get(value) or style(value) for value in values}
    names = ordered(data["backend"])
    tall = ROW * len(values) + MARGIN
    figure = new_figure(height=BOTTOM + TOP + tall * len(names))
    axes = add_axes(figure, left=1.5, right=NARROW + 0.3)
    for place, value in enumerate(values):
        shift = (place - (len(values) - 1) / 2) * ROW / tall
        _dots(axes, data[data["value"] == value], names, looks[value], shift)
    _finish(axes, names)
    _legend(axes, looks, axis)
    add_title(figure, title, subtitle, left=1.5)
    return figure


def _dots(axes: Axes, data: pd.DataFrame, names: list[str], look: Style, shift: float) -> None:
    """Draw one value's dots with their intervals."""
    rows = [names.index(name) + shift for name in data["backend"]]
    below, above = data["median"] - data["low"], data["high"] - data["median"]
    axes.errorbar(
        data["median"], rows, xerr=[below.clip(lower=0).fillna(0), above.clip(lower=0).fillna(0)],
        fmt=look.marker, color=look.colour, markeredgecolor="white", markeredgewidth=0.6,
        elinewidth=1.1, markersize=6.5, zorder=3,
    )  # fmt: skip


def _finish(axes: Axes, names: list[str]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    steps = (1, 2, 5) if high / low < 200 else (1,)
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=steps, numticks=14))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: units.trimmed(units.seconds(value)))
    axes.set_yticks(range(len(names)), [shorten(name, 20) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("median time of a call (log scale)")
    axes.grid(visible=False, axis="y")
    for edge in range(1, len(names)):
        axes.axhline(edge - 0.5, color="#eeeeee", linewidth=0.8, zorder=0.4)


def _legend(axes: Axes, looks: dict[str, Style], axis: str) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle="")
        for look in looks.values()
    ]
    box = axes.get_position()
    assert axes.figure is not None
    legend = axes.figure.legend(
        handles, list(looks), title=axis, loc="upper left", bbox_to_anchor=(box.x1 + 0.02, box.y1),
        borderaxespad=0, alignment="left",
    )  # fmt: skip
    legend.get_title().set_color(GREY)
