"""Pivots by backend and length: time with exponents, peak memory with score matrices, rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.report import units
from harness.report.fits import FitIndex, exponent_note, exponent_text, law_text, matrices_text
from harness.report.palette import ordered
from harness.report.panels import Panel, choose_lengths
from harness.report.tables.cells import NOTHING, Write, figure

if TYPE_CHECKING:
    import pandas as pd


def shown(frame: pd.DataFrame) -> list[str]:
    """Return the backends that have something to show, in their fixed order."""
    return ordered(frame[~frame["status"].isin(NOTHING)]["backend"])


def lengths_of(frame: pd.DataFrame) -> list[int]:
    """Return the lengths that some backend tried."""
    tried = frame[~frame["status"].isin(NOTHING)]
    return sorted({int(length) for length in tried["length_query"]})


def time_pivot(
    panel: Panel,
    frame: pd.DataFrame,
    *,
    fits: FitIndex,
    speed: pd.DataFrame,
    baseline: str,
    count: int = 7,
    short: bool = False,
) -> pd.DataFrame:
    """Return median times by backend and T, the exponent, and the speed-up over the baseline."""
    table = pivot(frame, "time_median_s", units.seconds, count=count, short=short)
    names = table["backend"].tolist()
    found = [fits.get((panel, name)) for name in names]
    write = exponent_note if short else exponent_text
    table["exponent"] = [write(fit) for fit in found]
    if len(speed):
        longest = max(lengths_of(frame))
        table[f"vs {baseline}"] = [
            _speed_text(speed, name, longest, short=short) for name in names
        ]
    return table


def memory_pivot(
    panel: Panel,
    frame: pd.DataFrame,
    *,
    fits: FitIndex,
    count: int = 7,
    short: bool = False,
) -> pd.DataFrame:
    """Return peak bytes by backend and T, the score matrices at the peak, and the law in bytes."""
    table = pivot(frame, "peak_bytes", units.size, count=count, short=short)
    found = [fits.get((panel, name)) for name in table["backend"]]
    table["score matrices"] = [matrices_text(fit, panel) for fit in found]
    table["law (bytes)"] = [law_text(fit) for fit in found]
    return table


def rate_pivot(frame: pd.DataFrame, *, count: int = 7) -> pd.DataFrame:
    """Return FLOP/s by backend and T, and the best share of the measured ceiling."""
    rates = frame.assign(rate=frame["flops"] / frame["time_median_s"])
    table = pivot(rates, "rate", units.rate, count=count)
    best = frame.groupby("backend")["rate_share"].max()
    table["best share of the ceiling"] = [
        units.percent(best.get(name)) for name in table["backend"]
    ]
    return table


def pivot(
    frame: pd.DataFrame, column: str, write: Write, *, count: int, short: bool = False
) -> pd.DataFrame:
    """Return one row per backend and one column per chosen length."""
    import pandas as pd

    rows = {(row.backend, row.length_query): row for row in frame.itertuples()}
    names = shown(frame)
    columns: dict[str, list[Any]] = {"backend": list(names)}
    for length in choose_lengths(lengths_of(frame), count):
        columns[f"T={length}"] = [
            figure(rows.get((name, length)), column, write, short=short) for name in names
        ]
    return pd.DataFrame(columns)


def _speed_text(speed: pd.DataFrame, name: str, longest: int, *, short: bool) -> str:
    """Write the ratio at the longest length that both reached, and which if not the last."""
    own = speed[speed["backend"] == name].sort_values("length")
    if not len(own):
        return units.ABSENT
    last = own.iloc[-1]
    values = (last["ratio"], last["low"], last["high"])
    text = units.ratio(last["ratio"]) if short else units.ratio_interval(*values)
    return text if last["length"] == longest else f"{text} at {last['length']}"
