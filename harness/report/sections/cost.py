"""Sections on sweeps over T: time, peak memory, throughput, speed-up over the baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.report import figures
from harness.report.figures.canvas import Gallery
from harness.report.panels import Panel
from harness.report.tables.outcomes import cells_table
from harness.report.tables.pivots import memory_pivot, rate_pivot, time_pivot
from harness.report.view import View
from harness.report.words.markup import details, escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd

# A figure takes about 0.3 s; a grid of many masks and dtypes take minutes.
FIGURES = 3
NO_SWEEP = "Not shown: no backend was measured at two lengths or more with all else fixed."
Block = Callable[[Panel, "pd.DataFrame"], str]


def time_section(view: View, gallery: Gallery) -> str:
    """Show median times by backend and T, exponents, ratios to the baseline."""

    def image(panel: Panel, frame: pd.DataFrame) -> str:
        figure = figures.time_figure(panel, frame, fits=view.index)
        alt = f"time against length, {panel.title()}"
        return gallery.add(f"time-{panel.slug}", figure, alt)

    def table(panel: Panel, frame: pd.DataFrame) -> str:
        speed = view.speeds[panel]
        return markdown_table(
            time_pivot(panel, frame, fits=view.index, speed=speed, baseline=view.baseline)
        )

    note = (
        f"Median time of one call. The exponent is the slope at the largest T with its 95 % "
        f"interval; `vs` is the time of {escape(view.baseline)} over the row's: more is faster. "
        f"A length after `at` is the longest that both reached."
    )
    if view.panels:
        return _blocks(view, image, table, note)
    cells = cells_table(view.table)
    return join(NO_SWEEP, markdown_table(cells) if len(cells) else "")


def memory_section(view: View, gallery: Gallery) -> str:
    """Show peak bytes by backend and T, the score matrices at the peak, the law in bytes."""

    def image(panel: Panel, frame: pd.DataFrame) -> str:
        figure = figures.memory_figure(panel, frame, fits=view.index)
        alt = f"peak memory against length, {panel.title()}"
        return gallery.add(f"memory-{panel.slug}", figure, alt)

    def table(panel: Panel, frame: pd.DataFrame) -> str:
        if not frame["peak_bytes"].notna().any():
            return "No peak was measured here."
        return markdown_table(memory_pivot(panel, frame, fits=view.index))

    note = (
        "Peak memory during one call, above the resident inputs. A score matrix has "
        "B x H x T x T elements; its count is the fitted T² term over the bytes of one."
    )
    return _blocks(view, image, table, note)


def throughput_section(view: View, gallery: Gallery) -> str:
    """Show FLOP/s by backend and T beside the measured ceiling."""

    def image(panel: Panel, frame: pd.DataFrame) -> str:
        figure = figures.throughput_figure(panel, frame, ceiling=view.ceiling(panel.dtype))
        alt = f"FLOP/s against length, {panel.title()}"
        return gallery.add(f"throughput-{panel.slug}", figure, alt)

    def table(panel: Panel, frame: pd.DataFrame) -> str:
        if not (frame["flops"].notna() & frame["time_median_s"].notna()).any():
            return "No rate can be given here: times or FLOP counts are missing."
        return markdown_table(rate_pivot(frame))

    note = (
        "Useful operations (two per multiply-add over the attended pairs) per second. "
        "The ceiling is a plain matrix product measured on the same device in the same dtype."
    )
    return _blocks(view, image, table, note)


def speedup_section(view: View, gallery: Gallery) -> str:
    """Show how many times as fast as the baseline each backend is against T."""
    drawn = []
    for panel, _ in view.panels[:FIGURES]:
        figure = figures.ratio_figure(
            view.speeds[panel], title=f"Speed-up over {view.baseline} against length T",
            subtitle=panel.title(), label=f"time of {view.baseline} / own time (log scale)",
            levels={1: view.baseline},
        )  # fmt: skip
        alt = f"speed-up over {view.baseline}, {panel.title()}"
        drawn.append(gallery.add(f"speedup-{panel.slug}", figure, alt))
    images = join(*drawn)
    if not images:
        return f"Not shown: {escape(view.baseline)} and another backend share no two lengths."
    note = "Above the line is faster. Bars are 95 % intervals, paired by process and round."
    return join(note, images)


def join(*parts: str) -> str:
    """Join the parts that say something by blank lines."""
    return "\n\n".join(part for part in parts if part)


def _blocks(view: View, image: Block, table: Block, note: str) -> str:
    """Show the first sweeps with figures, the others folded away as tables."""
    if not view.panels:
        return NO_SWEEP
    parts = [note]
    for panel, frame in view.panels[:FIGURES]:
        title = f"### {escape(panel.title())}"
        parts.append(join(title, image(panel, frame), table(panel, frame)))
    for panel, frame in view.panels[FIGURES:]:
        parts.append(details(escape(panel.title()), table(panel, frame)))
    return join(*parts)
