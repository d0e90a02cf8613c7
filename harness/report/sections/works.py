"""The section on layers, recurrences and generation: what a position costs, and what saves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report import tables
from harness.report.gallery import Gallery
from harness.report.markup import details, escape, markdown_table
from harness.report.sections.cost import join
from harness.report.view import View

if TYPE_CHECKING:
    import pandas as pd

WORKS = ("layer", "projections", "rnn", "gru", "lstm", "sequence")
NOTHING = "Not shown: no layer, recurrence or generation was timed."
RATIOS = (
    "How many times longer: a pass per prefix, and a step per token with a cache, than one pass "
    "over the whole text; a step that recomputes everything than one with a cache; a recurrence "
    "than an attention layer of the same width."
)
SHARES = "The share of the four matrix products in the time of the whole layer."
POSITIONS = (
    "Time of a call over its positions. Flat is linear in T: a recurrence takes its steps one "
    "after another. What falls is overhead shared by more positions; what rises, attention."
)


def works_section(view: View, gallery: Gallery) -> str:
    """Show ratios between ways, the share of projections, and the time per position."""
    from harness.analysis.cells import read_records
    from harness.analysis.evidence import Evidence

    others = view.table[view.table["work"] != "attention"]
    evidence = Evidence(tuple(read_records(others)), (), {})
    parts = [
        _block("One way over another", RATIOS, tables.ratio_table(evidence)),
        _block("Projections in a layer", SHARES, tables.share_table(evidence)),
        _positions(view),
    ]
    return join(*parts) or NOTHING


def _block(title: str, note: str, table: pd.DataFrame) -> str:
    return join(f"### {title}", note, markdown_table(table)) if len(table) else ""


def _positions(view: View) -> str:
    """Show one table per sweep, folded away."""
    panels = [(panel, frame) for panel, frame in view.panels if panel.work in WORKS]
    folded = [
        details(escape(panel.title()), markdown_table(tables.position_pivot(frame)))
        for panel, frame in panels
    ]
    return join("### Time per position", POSITIONS, *folded) if folded else ""
