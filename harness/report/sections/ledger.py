"""Sections on what holds: verdicts, agreement, and score bytes predicted beside measured."""

from __future__ import annotations

from harness.report import tables
from harness.report.gallery import Gallery
from harness.report.markup import details, markdown_table
from harness.report.sections.cost import join
from harness.report.view import View

ROWS_OPEN = 12


def verdicts_section(view: View, gallery: Gallery) -> str:
    """Show one row per claim, and folded below it every series that was judged."""
    from harness.analysis.claims import CLAIMS

    note = (
        "Each claim is tested on every series that can tell. Figures hold over the lengths "
        "measured, not beyond. `inconclusive` says that the data leave it open."
    )
    judged = [verdict for verdict in view.verdicts if verdict.verdict != "not_measured"]
    claims = markdown_table(tables.claims_table(CLAIMS, view.verdicts))
    if not judged:
        return join(note, claims, "No series could be judged.")
    series = markdown_table(tables.series_table(judged))
    return join(note, claims, details(f"All {len(judged)} verdicts, with reasons", series))


def agreement_section(view: View, gallery: Gallery) -> str:
    """Show the worst errors by backend and dtype."""
    table = tables.agreement_table(view.table)
    if not len(table):
        return "Not shown: no cell was checked against the oracle."
    note = (
        "Every cell is checked before it is timed. Error: largest error over the oracle's largest "
        "magnitude. Error ratio: error over that of the formula with float32 scores; about 1 is "
        "as accurate as the dtype allows."
    )
    return join(note, markdown_table(table))


def scores_section(view: View, gallery: Gallery) -> str:
    """Show the bytes of one score matrix as predicted, beside the measured peak."""
    from harness.analysis.claims import predicted_scores

    table = tables.scores_table(predicted_scores(view.table))
    if not len(table):
        return "Not shown: no length to predict."
    note = (
        "One score matrix takes B x H x T x T x bytes per element. Lengths too large to run are "
        "predicted all the same; `-` was not measured."
    )
    body = markdown_table(table)
    return join(note, body if len(table) <= 2 * ROWS_OPEN else details("All lengths", body))
