"""Verdicts: what holds: claims and their evidence, agreement, behaviour, bytes predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.report.claims_table import Entry, entries, links
from harness.report.figures.canvas import Gallery
from harness.report.sections.cost import join
from harness.report.tables import outcomes
from harness.report.tables.outcomes import agreement_table
from harness.report.view import View
from harness.report.words import units
from harness.report.words.markup import details, escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.claims.evidence import Claim, Verdict

SHOWN_IN = "shown in"
ROWS_OPEN = 12
NOTE = (
    "Each behaviour has a right answer: the oracle's, or a number known beforehand. `c` conforms, "
    "`D` deviates, `r` refuses, `X` crashes. A deviation of a library that is known does not fail "
    "a run; a new one does."
)


def claims_table(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return one row per claim: what it says and predicts, its verdict, what was observed.

    The last column, `shown in`, is Markdown: links to the claim's lines and to the sections that
    show it.
    """
    import pandas as pd

    rows = [
        (
            each.claim.id, each.claim.sentence, each.claim.prediction, each.tally(),
            each.observed(), links(each.claim),
        )
        for each in entries(claims, verdicts)
    ]  # fmt: skip
    columns = ["claim", "what it says", "prediction", "verdict", "observed", SHOWN_IN]
    return pd.DataFrame(rows, columns=columns)


def series_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return one row per verdict: series, observed with interval, expected, and why."""
    import pandas as pd

    rows = [
        (
            verdict.claim, verdict.series.get("backend"), place(verdict.series),
            units.interval(verdict.observed, verdict.low, verdict.high),
            _expected(verdict.expected), verdict.verdict.replace("_", " "), verdict.reason,
        )
        for verdict in verdicts
    ]  # fmt: skip
    columns = ["claim", "backend", "where", "observed", "expected", "verdict", "why"]
    return pd.DataFrame(rows, columns=columns)


def place(series: dict[str, Any]) -> str:
    """Say where a verdict holds: device, dtype, mask, and the phase if it is not forward."""
    words = [series.get(name) for name in ("device", "dtype", "mask")]
    phase = series.get("phase")
    words.append(None if phase == "forward" else phase)
    return ", ".join(str(word) for word in words if word) or units.ABSENT


def scores_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the predicted bytes of one score matrix beside the naive backend's measured peak.

    Masked and backward cells are left out (the matrix is the same): a shape is one row.
    """
    import pandas as pd

    rows = [_scores_row(row) for row in scores.itertuples() if _is_plain(row)]
    columns = [
        "T", "batch", "heads", "bytes per element", "one score matrix, predicted",
        "peak of naive, measured", "matrices in the peak",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns).drop_duplicates(ignore_index=True)


def _is_plain(row: Any) -> bool:
    if units.number(row.measured_bytes) is None:
        return True
    return getattr(row, "mask", "full") == "full" and getattr(row, "phase", "") != "backward"


def _scores_row(row: Any) -> tuple[str, ...]:
    shape = (row.length, getattr(row, "batch", 1), row.heads, row.itemsize)
    sizes = (row.predicted_bytes, row.measured_bytes)
    return (
        *map(units.count, shape), *(units.size(value, digits=4) for value in sizes),
        _matrices(row.matrices),
    )  # fmt: skip


def _matrices(value: Any) -> str:
    count = units.number(value)
    return units.ABSENT if count is None else f"{count:.2f}"


def _expected(value: float | None) -> str:
    return units.ABSENT if value is None else f"{value:g}"


def verdicts_section(view: View, gallery: Gallery) -> str:
    """Show the claims: one row for each, with links to what it rests on."""
    from harness.analysis.claims import CLAIMS

    note = (
        "Each claim is tested on every series that can tell. Figures hold over the lengths "
        "measured, not beyond. `inconclusive` says that the data leave it open. In brackets: the "
        "series that support a claim, of those judged."
    )
    table = claims_table(CLAIMS, view.verdicts)
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
    table = markdown_table(series_table(rows))
    rest = len(rows) - judged
    words = [f"{judged} series judged"] * (judged > 0) + [f"{rest} not measured"] * (rest > 0)
    return join(title, said, details(", ".join(words), table))


def agreement_section(view: View, gallery: Gallery) -> str:
    """Show the worst errors by backend and dtype."""
    table = agreement_table(view.table)
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
    from harness.analysis.claims.memory import predicted_scores

    table = scores_table(predicted_scores(view.table))
    if not len(table):
        return "Not shown: no length to predict."
    note = (
        "One score matrix takes B x H x T x T x bytes per element. Lengths too large to run are "
        "predicted all the same; `-` was not measured."
    )
    body = markdown_table(table)
    return join(note, body if len(table) <= 2 * ROWS_OPEN else details("All lengths", body))


def conformance_section(view: View, gallery: Gallery) -> str:
    """Show behaviours against backends, and below it every deviation with its reason."""
    table = view.run.conformance
    if not len(table):
        return "Not shown: no behaviour was asked for."
    matrix = outcomes.conformance_matrix(table)
    odd, wrong = outcomes.notable(matrix), outcomes.deviations_table(table)
    refused = outcomes.refusals_table(table)
    counts = ", ".join(
        f"{count} {word}" for word, count in table["verdict"].value_counts().items()
    )
    return join(
        NOTE,
        f"{len(matrix)} behaviours, {len(table)} answers: {counts}.",
        markdown_table(odd) if len(odd) else "Every backend conforms everywhere.",
        f"### Deviations\n\n{markdown_table(wrong)}" if len(wrong) else "No deviation.",
        details(f"What was refused, and why ({len(refused)} reasons)", markdown_table(refused))
        if len(refused)
        else "",
        details(f"All {len(matrix)} behaviours", markdown_table(matrix)),
    )
