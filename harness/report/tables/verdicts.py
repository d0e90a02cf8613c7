"""Tables of the ledger: claims, verdicts, and score bytes predicted beside measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.report import units
from harness.report.anchors import links
from harness.report.ledger import entries

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.claims import Claim
    from harness.analysis.verdict import Verdict

SHOWN_IN = "shown in"


def claims_table(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return one row per claim: what it says and predicts, its verdict, what was observed.

    The last column, `shown in`, is Markdown: links to the claim's lines and to the sections that
    show it.
    """
    import pandas as pd

    rows = [
        (
            each.claim.id, each.claim.sentence, each.claim.prediction, each.tally(),
            each.observed(), links(each.claim.id),
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
