"""The ledger: one row per claim, one row per verdict, and score bytes predicted beside measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.report import units

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.claims import Claim
    from harness.analysis.verdict import Verdict


def claims_table(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return one row per claim: sentence, prediction, overall verdict, what was observed."""
    import pandas as pd

    from harness.analysis.verdict import overall

    rows = []
    for claim in claims:
        own = [verdict for verdict in verdicts if verdict.claim == claim.id]
        word = overall(verdicts, claim.id).replace("_", " ")
        rows.append((claim.id, claim.sentence, claim.prediction, f"{word}{_tally(own)}", _range(own)))
    columns = ["claim", "what it says", "prediction", "verdict", "observed"]
    return pd.DataFrame(rows, columns=columns)


def series_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return one row per verdict that was reached: series, observed with interval, why."""
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
    """Return the predicted bytes of one score matrix beside the naive backend's measured peak."""
    import pandas as pd

    rows = [
        (
            units.count(row.length), units.count(row.heads), units.count(row.itemsize),
            units.size(row.predicted_bytes, digits=4), units.size(row.measured_bytes, digits=4),
            _matrices(row.matrices),
        )
        for row in scores.itertuples()
    ]  # fmt: skip
    columns = [
        "T", "heads", "bytes per element", "one score matrix, predicted", "peak, measured",
        "score matrices in the peak",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _matrices(value: Any) -> str:
    count = units.number(value)
    return units.ABSENT if count is None else f"{count:.2f}"


def _expected(value: float | None) -> str:
    return units.ABSENT if value is None else f"{value:g}"


def _tally(verdicts: Sequence[Verdict]) -> str:
    """Say how many series bear the verdict out: ` (5 of 6)`; nothing for a single one."""
    judged = [verdict for verdict in verdicts if verdict.verdict != "not_measured"]
    if len(judged) < 2:
        return ""
    held = sum(verdict.verdict == "supported" for verdict in judged)
    return f" ({held} of {len(judged)} series supported)"


def _range(verdicts: Sequence[Verdict]) -> str:
    """Write the one observed value with its interval, or the span of several."""
    seen = [verdict for verdict in verdicts if verdict.observed is not None]
    if len(seen) < 2:
        return units.interval(seen[0].observed, seen[0].low, seen[0].high) if seen else units.ABSENT
    values = sorted(float(verdict.observed or 0.0) for verdict in seen)
    return f"{units.significant(values[0])} to {units.significant(values[-1])}"
