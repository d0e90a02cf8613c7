"""Sections on what holds: the ledger, its evidence, agreement, score bytes predicted."""

from __future__ import annotations

from harness.report import tables
from harness.report.gallery import Gallery
from harness.report.ledger import Entry, entries
from harness.report.markup import details, escape, markdown_table
from harness.report.sections.cost import join
from harness.report.tables.verdicts import SHOWN_IN
from harness.report.view import View

ROWS_OPEN = 12


def verdicts_section(view: View, gallery: Gallery) -> str:
    """Show the ledger: one row per claim, with links to what it rests on."""
    from harness.analysis.claims import CLAIMS

    note = (
        "Each claim is tested on every series that can tell. Figures hold over the lengths "
        "measured, not beyond. `inconclusive` says that the data leave it open. In brackets: the "
        "series that support a claim, of those judged."
    )
    table = tables.claims_table(CLAIMS, view.verdicts)
    judged = any(verdict.verdict != "not_measured" for verdict in view.verdicts)
    rest = "" if judged else "No series could be judged."
    return join(note, markdown_table(table, raw=[SHOWN_IN]), rest)


def evidence_section(view: View, gallery: Gallery) -> str:
    """Show every claim's series, each with what was observed and why that is the verdict."""
    from harness.analysis.claims import CLAIMS

    return join(*(_evidence(entry) for entry in entries(CLAIMS, view.verdicts)))


def _evidence(entry: Entry) -> str:
    claim, judged = entry.claim, len(entry.judged)
    title = f"### {claim.id}"
    sentence = claim.sentence[:1].upper() + claim.sentence[1:]
    said = f"{escape(sentence)}. Predicted: {escape(claim.prediction)}."
    if not entry.verdicts:
        return join(title, said, escape(entry.observed()))
    rows = sorted(entry.verdicts, key=lambda each: each.verdict == "not_measured")
    table = markdown_table(tables.series_table(rows))
    rest = len(rows) - judged
    words = [f"{judged} series judged"] * (judged > 0) + [f"{rest} not measured"] * (rest > 0)
    return join(title, said, details(", ".join(words), table))


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
