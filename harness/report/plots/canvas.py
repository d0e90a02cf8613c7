"""The paper that figures are drawn on: size, margins, fonts, titles, and bytes that never vary."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from harness.report.markup import plain

if TYPE_CHECKING:
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
