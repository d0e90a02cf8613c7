"""Sections on the other axes: masks, heads and batch, precision."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.report import figures, palette
from harness.report.figures.canvas import Gallery
from harness.report.panels import Panel, axis_panel
from harness.report.sections.cost import FIGURES, join
from harness.report.tables.pivots import axis_pivot, values_of
from harness.report.view import View, mask_ratios
from harness.report.words import units
from harness.report.words.markup import escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd

SWEPT = {
    "heads": "heads", "batch": "batch", "heads_kv": "key and value heads",
    "dim_key": "features of a key", "dim_value": "features of a value",
}  # fmt: skip


def masks_section(view: View, gallery: Gallery) -> str:
    """Show what a mask costs: at one shape, and as a ratio to no mask against T."""
    found = axis_panel(view.table, "mask")
    if found is None:
        return "Not shown: no shape was timed with two masks."
    panel, frame = found
    where = panel.title(without="mask", length=_length(frame))
    figure = figures.dots_figure(
        frame, "mask", styles=palette.MASK_STYLES, title="Time by mask", subtitle=where
    )
    table = axis_pivot(frame, "mask", reference="full")
    return join(
        f"{escape(where)}. In brackets: the ratio to the same backend without a mask.",
        gallery.add("masks", figure, f"time by mask, {where}"), markdown_table(table),
        _mask_ratios(view, gallery),
    )  # fmt: skip


def _mask_ratios(view: View, gallery: Gallery) -> str:
    """Draw masked over unmasked time against T, where both were swept."""
    full = {_without_mask(panel): frame for panel, frame in view.panels if panel.mask == "full"}
    masked = [
        pair for pair in view.panels if pair[0].mask != "full" and _without_mask(pair[0]) in full
    ]
    images = []
    for panel, frame in masked[:FIGURES]:
        figure = figures.ratio_figure(
            mask_ratios(frame, full[_without_mask(panel)]),
            title=f"Time with {panel.mask} mask over time without, against length T",
            subtitle=panel.title(without="mask"), label="masked time / unmasked time (log scale)",
            levels={1: "no saving", 0.5: "half"},
        )  # fmt: skip
        images.append(
            gallery.add(f"masked-{panel.slug}", figure, f"masked ratio, {panel.title()}")
        )
    return join(*images)


def heads_section(view: View, gallery: Gallery) -> str:
    """Show time and peak memory against heads, batch and, where swept, dims."""
    parts = []
    for axis, name in SWEPT.items():
        found = axis_panel(view.table, axis)
        if found is not None:
            parts.append(_swept(*found, axis=axis, name=name, gallery=gallery))
    return join(*parts) or "Not shown: neither heads nor batch were varied with all else fixed."


def _swept(panel: Panel, frame: pd.DataFrame, *, axis: str, name: str, gallery: Gallery) -> str:
    where = panel.title(without=axis, length=_length(frame))
    figure = figures.sweep_figure(frame, axis, subtitle=where)
    times = axis_pivot(frame, axis)
    parts = [
        f"### {name.capitalize()}", f"{escape(where)}.",
        gallery.add(f"sweep-{axis}", figure, f"time and peak memory against {name}, {where}"),
        "Time:", markdown_table(times),
    ]  # fmt: skip
    if frame["peak_bytes"].notna().any():
        peaks = axis_pivot(frame, axis, column="peak_bytes", write=units.size)
        parts += ["Peak memory:", markdown_table(peaks)]
    return join(*parts)


def precision_section(view: View, gallery: Gallery) -> str:
    """Show what a dtype costs at one shape."""
    found = axis_panel(view.table, "dtype")
    if found is None:
        return "Not shown: no shape was timed in two dtypes."
    panel, frame = found
    where = panel.title(without="dtype", length=_length(frame))
    reference = next((name for name in values_of(frame, "dtype") if name == "float32"), None)
    figure = figures.dots_figure(
        frame, "dtype", styles=palette.DTYPE_STYLES, title="Time by dtype", subtitle=where
    )
    ratios = " In brackets: the ratio to float32." if reference else ""
    return join(
        f"{escape(where)}.{ratios}", gallery.add("dtypes", figure, f"time by dtype, {where}"),
        markdown_table(axis_pivot(frame, "dtype", reference=reference)),
    )  # fmt: skip


def _length(frame: pd.DataFrame) -> int:
    return int(frame["length_query"].iloc[0])


def _without_mask(panel: Panel) -> Panel:
    return replace(panel, mask="", window=None)
