"""Canvas: the house look of every figure, its guides, and how it is written."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from harness.records.record import Status
from harness.report.words.markup import escape, plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
Drawn = TypeVar("Drawn")
DPI = 115
WIDTH, HEIGHT = 10.0, 5.3  # inches
LEFT, BOTTOM, TOP = 0.95, 0.72, 0.92  # margins, inches
GUTTER = 0.85  # right of the axes: guide labels or a second axis, inches
LEGEND = 2.85  # right of the gutter: backends with a figure each, inches
NARROW = 1.7  # right of the gutter: backends alone, inches
INK, GREY, PALE = "#222222", "#6b6b6b", "#b5b5b5"
# All that a user's own matplotlibrc could change starts from matplotlib's defaults.
LOOK = {
    "font.family": "DejaVu Sans", "font.size": 9.5, "axes.labelsize": 9.5, "axes.labelcolor": INK,
    "axes.edgecolor": PALE, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.8,
    "xtick.color": GREY, "ytick.color": GREY, "xtick.labelsize": 8, "ytick.labelsize": 8.5,
    "legend.frameon": False, "legend.fontsize": 9, "legend.title_fontsize": 9,
    "lines.linewidth": 1.6, "lines.markersize": 5.5, "path.simplify": False,
    "text.parse_math": False,  # a `$` in a name is a dollar
}  # fmt: skip
SOURCES = {
    "median": "time_median_s", "low": "time_low_s", "high": "time_high_s", "peak": "peak_bytes",
}  # fmt: skip
NAMED = ("mask", "dtype", "phase")
FOLDER = "figures"


@contextmanager
def look() -> Iterator[None]:
    """Draw with the house's settings alone, and leave the caller's as they were."""
    from matplotlib import style

    with style.context(["default", LOOK]):
        yield


def in_house_look(draw: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """Make a drawing function draw with the house's settings."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Drawn:
        with look():
            return draw(*args, **kwargs)

    return drawn


def new_figure(*, height: float = HEIGHT) -> Figure:
    """Make a figure that pyplot knows nothing of, with a canvas that needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def add_axes(
    figure: Figure, *, left: float = LEFT, right: float = GUTTER + NARROW,
    bottom: float = BOTTOM, top: float = TOP,
) -> Axes:  # fmt: skip
    """Add axes by their margins in inches: a legend's room is the same in every figure."""
    width, height = figure.get_size_inches()
    box = (left / width, bottom / height, (width - left - right) / width,
           (height - bottom - top) / height)  # fmt: skip
    axes = figure.add_axes(box)
    axes.tick_params(length=0)
    return axes


def add_title(figure: Figure, title: str, subtitle: str, *, left: float = LEFT) -> None:
    """Write what is shown, and below it where: device, dtype, mask, shape."""
    width, height = figure.get_size_inches()
    x = left / width
    figure.text(x, 1 - 0.33 / height, title, fontsize=12, color=INK, weight="bold", va="center")
    figure.text(x, 1 - 0.6 / height, plain(subtitle), fontsize=9.5, color=GREY, va="center")


def add_note(figure: Figure, note: str) -> None:
    """Write a small line at the foot, at the right."""
    figure.text(0.99, 0.015, plain(note), fontsize=7.5, color=GREY, ha="right", va="bottom")


def write_png(figure: Figure, path: Path) -> None:
    """Write a figure without date or program version, so that a rebuild gives the same bytes.

    A sign that the font lacks is drawn as a box: that is no reason to warn, or to fail.
    """
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(path, format="png", dpi=DPI, metadata={"Software": None})


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


def points(frame: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Return backend, x and the figures of the rows that are ok and have a `y`.

    x is called `length` or `value`; absent bounds are NaN, which no line or bar is drawn from.
    """
    import pandas as pd

    rows = frame[frame["status"] == Status.OK]
    name = "length" if x == "length_query" else "value"
    data = {"backend": rows["backend"].astype(str), name: rows[x]}
    data |= {label: _floats(rows[column]) for label, column in SOURCES.items()}
    data["rate"] = _floats(rows["flops"]) / data["median"]
    made = pd.DataFrame(data)
    made = made[made[y].notna() & (made[y] > 0)].reset_index(drop=True)
    return made if x in NAMED else made.astype({name: "int64"})


def rate_bounds(data: pd.DataFrame) -> pd.DataFrame:
    """Turn the bounds of times into those of rates: the longest time is the lowest rate."""
    work = data["rate"] * data["median"]
    return data.assign(low=work / data["high"], high=work / data["low"])


def _floats(column: pd.Series[float]) -> pd.Series[float]:
    return column.astype("Float64").astype("float64")


@dataclass
class Gallery:
    """Write figures into a report's folder and hand back the Markdown that shows them."""

    report: Path
    names: list[str] = field(default_factory=list)

    def add(self, name: str, figure: Figure | None, alt: str) -> str:
        """Write one figure and return its line; nothing for a figure that has nothing to show."""

        if figure is None:
            return ""
        folder = self.report / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        self.names.append(name)
        write_png(figure, folder / f"{name}.png")
        # A figure is a knot of references that waits for the collector, 4 MB each: the last one
        # goes now, this one with the next.
        gc.collect()
        return f"![{escape(alt)}]({FOLDER}/{name}.png)"

    def sweep(self) -> None:
        """Remove figures of an earlier build that this one did not draw."""
        for path in (self.report / FOLDER).glob("*.png"):
            if path.stem not in self.names:
                path.unlink()
