"""Lines: figures of lines over a logarithmic axis, ratios among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.report.figures.canvas import (
    GREY,
    GUTTER,
    WIDTH,
    add_axes,
    add_title,
    in_house_look,
    level,
    new_figure,
)
from harness.report.palette import SOLID, ordered, style
from harness.report.panels import choose_lengths
from harness.report.words import units
from harness.report.words.markup import shorten

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TICKS = 14
NAME_LENGTH = 14
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
FINE_STEPS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3)


def draw_lines(axes: Axes, data: pd.DataFrame, *, x: str, y: str) -> None:
    """Draw one line per backend through its points; `data` has one row per backend and x.

    Dashed lines come last: over the solid line of an equal backend both are seen.
    """
    import seaborn as sns

    assert not data.duplicated(["backend", x]).any(), "two series in one line: a key was forgotten"
    names = sorted(ordered(data["backend"]), key=lambda name: style(name).dashes != SOLID)
    axes.set(xlabel=x, ylabel=y)  # else seaborn makes every tick label to see if one is visible
    looks = {name: style(name) for name in names}
    sns.lineplot(
        data=data, x=x, y=y, ax=axes, hue="backend", style="backend", hue_order=names,
        style_order=names, palette={name: look.colour for name, look in looks.items()},
        markers={name: look.marker for name, look in looks.items()},
        dashes={name: look.dashes for name, look in looks.items()},
        estimator=None, errorbar=None, legend=False, markeredgewidth=0.6,
    )  # fmt: skip


def draw_intervals(axes: Axes, data: pd.DataFrame, *, x: str, y: str) -> None:
    """Draw 95 % intervals from columns `low` and `high` in each backend's colour."""
    known = data[data["low"].notna() & data["high"].notna()]
    for name in ordered(known["backend"]):
        own = known[known["backend"] == name]
        below, above = (own[y] - own["low"]).clip(lower=0), (own["high"] - own[y]).clip(lower=0)
        axes.errorbar(
            own[x], own[y], yerr=[below, above], fmt="none", ecolor=style(name).colour,
            elinewidth=1.1, capsize=2.5, zorder=3,
        )  # fmt: skip


def set_ticks(axes: Axes, values: Sequence[int], label: str) -> None:
    """Put a log axis with ticks at the values that were measured, and nowhere else."""
    from matplotlib.ticker import FixedLocator, NullLocator

    known = sorted(set(map(int, values)))
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(choose_lengths(known, TICKS)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    reach = (known[-1] / known[0]) ** 0.04 if len(known) > 1 else 2.0
    axes.set_xlim(known[0] / reach, known[-1] * reach)
    axes.set_xlabel(label)


def set_log_figures(axes: Axes, write: Callable[[float], str], label: str) -> None:
    """Put a log axis whose ticks are written with their unit."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    few = high / low < 300
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if few else (1,), numticks=12))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(lambda value, _: units.trimmed(write(value)))
    axes.set_ylabel(label)


def add_legend(
    axes: Axes, data: pd.DataFrame, *, y: str, notes: Mapping[str, str] | None = None,
    title: str = "backend", gutter: float = GUTTER,
) -> None:  # fmt: skip
    """List the backends right of the axes, in the order of their lines there, top first."""
    names = from_top(data, y)
    texts = [legend_text(name, (notes or {}).get(name)) for name in names]
    box = axes.get_position()
    left = box.x1 + gutter / WIDTH
    legend = axes.figure.legend(
        [handle(name) for name in names], texts, title=title, loc="upper left",
        bbox_to_anchor=(left, box.y1 + 0.02), borderaxespad=0, handlelength=2.3, alignment="left",
    )  # fmt: skip
    legend.get_title().set_color(GREY)


def from_top(data: pd.DataFrame, y: str) -> list[str]:
    """Order backends by height, at the largest x that all have, else each at its own last x."""
    names = ordered(data["backend"])
    x = next(name for name in ("length", "value") if name in data.columns)
    backends = data.groupby(x)["backend"].nunique()
    shared = backends[backends == len(names)].index
    last = data[data[x] <= shared.max()] if len(shared) else data
    heights = last.sort_values(x).groupby("backend")[y].last()
    return sorted(names, key=lambda name: -float(heights[name]))


def legend_text(name: str, note: str | None) -> str:
    """Return a legend line: the backend and, after two blanks, its figure."""
    short = shorten(name, NAME_LENGTH)
    return f"{short}   {note}" if note else short


def handle(name: str) -> Any:
    """Make the legend's picture of a backend: its line and marker."""
    from matplotlib.lines import Line2D

    look = style(name)
    line: Any = "-" if look.dashes == SOLID else (0, look.dashes)
    return Line2D(
        [], [], color=look.colour, marker=look.marker, linestyle=line,
        markeredgecolor="white", markeredgewidth=0.6,
    )  # fmt: skip


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
