"""Figures over the other axes: lines over a number, dots over names, noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.figures.canvas import (
    BOTTOM,
    GREY,
    INK,
    LEFT,
    NARROW,
    PALE,
    TOP,
    WIDTH,
    add_axes,
    add_title,
    in_house_look,
    new_figure,
    points,
)
from harness.report.figures.lines import (
    add_legend,
    draw_intervals,
    draw_lines,
    set_log_figures,
    set_ticks,
)
from harness.report.palette import Style, ordered, ordered_by, style
from harness.report.words import units
from harness.report.words.markup import shorten

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
ROW, MARGIN = 0.1, 0.16  # inches of a dot and around the dots of a row
NOISE_ROW = 0.4
# Less is drawn here: it is quiet enough, and zero has no place on a log axis.
LEAST = 1e-3
STEPS = (LEAST, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)


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


@in_house_look
def noise_figure(noise: pd.DataFrame, *, device: str, target: float | None) -> Figure | None:
    """Draw the spread of every timed cell; None where no cell was timed by two processes.

    `noise` is `noise_frame`'s; `target` the relative half-width at which timing stopped.
    """
    data = noise[noise["spread"].notna()]
    if not len(data):
        return None
    names = ordered(data["backend"])
    figure = new_figure(height=BOTTOM + TOP + NOISE_ROW * max(2, len(names)))
    axes = add_axes(figure, left=1.5, right=0.35)
    for row, name in enumerate(names):
        _row(axes, row, data[data["backend"] == name], style(name).colour)
    _finish_noise(axes, names, data)
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


def _finish_noise(axes: Axes, names: list[str], data: pd.DataFrame) -> None:
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
